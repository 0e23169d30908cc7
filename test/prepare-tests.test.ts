import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { ROOT } from './cli-process.ts';

const PROGRAMS = [
  ...['redis-server', 'redis-cli', 'redis-benchmark', 'sqlite3', 'chromium'],
  ...['python3', 'zsh', 'fish', 'mandoc', 'strace', 'php', 'javac'],
  ...['pgbouncer', 'etcd', 'memcached'],
];

/** The first line of what the script prints where only these programs are, and no apt-get. */
function prepare(programs: readonly string[]): { code: number | null; line: string } {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-programs-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const program of programs) symlinkSync('/usr/bin/true', join(folder, program));
  const { status, stderr } = spawnSync(process.execPath, ['scripts/prepare-tests.js'], {
    cwd: ROOT,
    env: { PATH: folder },
    encoding: 'utf8',
  });
  return { code: status, line: stderr.split('\n')[0]! };
}

it.each([
  { missing: ['javac'], named: 'javac' },
  {
    missing: ['chromium'],
    named: 'chromium-headless-shell (or chromium, or google-chrome)',
  },
  { missing: ['redis-server', 'javac'], named: 'redis-server (7.0 or later), javac' },
])('names $named where $missing is missing', ({ missing, named }) => {
  const { code, line } = prepare(PROGRAMS.filter((program) => !missing.includes(program)));
  expect(line).toBe(`The tests need ${named}. Install them and run npm test again:`);
  expect(code).toBe(1);
});

it('prints nothing where all programs are there', () => {
  expect(prepare(PROGRAMS)).toEqual({ code: 0, line: '' });
  const browser = ['chromium-headless-shell'];
  const others = PROGRAMS.filter((program) => program !== 'chromium');
  expect(prepare([...others, ...browser])).toEqual({ code: 0, line: '' });
});
