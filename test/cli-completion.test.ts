import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VERBS } from '../src/cli/dispatch.ts';
import { CliProcess, MAIN, runCli } from './cli-process.ts';
import { type RunningServer, startHoldfast } from './real-redis.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-completion-'));
const hasZsh = spawnSync('zsh', ['--version']).status === 0;
const hasFish = spawnSync('fish', ['--version']).status === 0;
const harm = join(folder, 'harm');
let server: RunningServer;
let environment: Record<string, string>;

beforeAll(async () => {
  server = await startHoldfast();
  const redis = new Redis(server.port, server.host);
  const names = ['order:42', 'order:43', 'with space', `$(touch ${harm})`, `\`touch ${harm}\``];
  for (const name of [...names, 'esc\x1b']) await redis.set(`lock:{${name}}`, 'token');
  redis.disconnect();
  writeFileSync(
    join(folder, 'holdfast'),
    `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`,
    {
      mode: 0o755,
    },
  );
  environment = {
    PATH: `${folder}${delimiter}${process.env['PATH']}`,
    HOLDFAST_STORE: `redis://127.0.0.1:${server.port}`,
  };
  for (const shell of ['bash', 'zsh', 'fish']) {
    writeFileSync(join(folder, shell), (await runCli(['completion', shell])).output, 'latin1');
  }
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true });
});

/** The completions of bash at the end of a line. */
async function offered(line: string): Promise<string[]> {
  const program = `
    source '${join(folder, 'bash')}'
    COMP_LINE=$1 COMP_POINT=\${#1}
    _holdfast
    printf '%s\\n' "\${COMPREPLY[@]}"`;
  // The server is in this process: it must be able to answer while the shell runs.
  await using bash = new CliProcess('bash', ['--norc', '-c', program, 'bash', line], environment);
  expect(await bash.ended()).toBe(0);
  return bash.text.trimEnd().split('\n');
}

describe('completion in bash', () => {
  it('offers every verb, and every option of each', async () => {
    expect(await offered('holdfast ')).toEqual([
      ...VERBS.keys(),
      'help',
      'version',
      '--help',
      '--version',
    ]);
    for (const [word, { load }] of VERBS) {
      const { options = {} } = await load();
      const flags = Object.keys(options).map((name) => `--${name}`);
      expect(flags.length, word).toBeGreaterThan(0);
      expect(await offered(`holdfast ${word} --`)).toEqual(flags);
    }
  });

  it.each([
    ['holdfast re', ['release']],
    ['holdfast help sh', ['show']],
    ['holdfast release x --kind ', ['mutex', 'semaphore', 'rw']],
    ['holdfast lab re', ['replay', 'report']],
    ['holdfast lab l', ['list']],
    ['holdfast run x --ca /et', ['/etc']],
    ['holdfast run x --busy-code ', ['']],
    ['holdfast completion ', ['bash', 'zsh', 'fish']],
    ['holdfast release --reason ', ['']],
    ['holdfast ls --w', ['--watch']],
    ['holdfast serve --unix /et', ['/etc']],
  ])('%s', async (line, words) => {
    expect(await offered(line)).toEqual(words);
  });

  it('offers names of locks after their last colon, and runs nothing in them', async () => {
    // The text before the colon is on the line already.
    expect(await offered('holdfast show order:4')).toEqual(['42', '43']);
    expect(await offered('holdfast show wi')).toEqual(['with\\ space']);
    expect(await offered('holdfast release --force or')).toEqual(['order:42', 'order:43']);
    expect((await offered('holdfast show ')).join()).not.toContain('esc');
    expect((await offered('holdfast show $')).join()).toContain('\\$\\(touch');
    expect(existsSync(harm)).toBe(false);
  });

  it('reads names from the store that is named on the line', async () => {
    const other = await startHoldfast();
    const line = `holdfast show --store redis://127.0.0.1:${other.port} or`;
    expect(await offered(line)).toEqual(['']);
    await other.stop();
  });
});

// Only zsh can check the script.
describe.runIf(hasZsh)('completion in zsh', () => {
  it('is read without a message', () => {
    expect(execFileSync('zsh', ['-n', join(folder, 'zsh')], { encoding: 'utf8' })).toBe('');
  });

  it.each([
    ['holdfast rel', 'holdfast release '],
    ['holdfast ls --wa', 'holdfast ls --watch '],
    ['holdfast release x --kind se', 'holdfast release x --kind semaphore '],
    ['holdfast show wi', 'holdfast show with\\ space '],
  ])('%s', async (typed, line) => {
    await using zsh = new CliProcess(
      'script',
      ['-qec', 'stty cols 200 rows 50; zsh -f -i', '/dev/null'],
      {
        ...environment,
        TERM: 'dumb',
      },
    );
    const load = `autoload -Uz compinit; compinit -u -D; source '${join(folder, 'zsh')}'`;
    // The prompt is not on the line that sets it, but after it.
    zsh.type(`${load}; PS1='ready''> '\n`);
    await zsh.waitFor(/ready> /);
    zsh.type(`${typed}\t`);
    await zsh.waitFor(new RegExp(`ready> [\\s\\S]*${line.replaceAll('\\', '\\\\')}`));
    expect(existsSync(harm)).toBe(false);
  });
});

// A machine without fish has no use for its script.
describe.runIf(hasFish)('completion in fish', () => {
  /** The completions of fish at the end of a line, without their descriptions. */
  async function completions(line: string): Promise<string[]> {
    const program = `source '${join(folder, 'fish')}'; complete -C $argv[1]`;
    const args = ['--no-config', '-c', program, line];
    await using fish = new CliProcess('fish', args, environment);
    expect(await fish.ended()).toBe(0);
    return fish.text
      .trimEnd()
      .split('\n')
      .map((each) => each.split('\t')[0]!)
      .sort();
  }

  it('is read without a message', () => {
    const { stdout, stderr } = spawnSync('fish', ['--no-config', join(folder, 'fish')]);
    expect(`${stdout}${stderr}`).toBe('');
  });

  it('offers every verb, and every option of each', async () => {
    expect(await completions('holdfast ')).toEqual([...VERBS.keys(), 'help', 'version'].sort());
    for (const [word, { load }] of VERBS) {
      const flags = Object.keys((await load()).options ?? {}).map((name) => `--${name}`);
      const offers = await completions(`holdfast ${word} --`);
      expect(offers.map((each) => each.replace(/=$/, ''))).toEqual(flags.sort());
    }
  });

  it.each([
    ['holdfast rel', ['release']],
    ['holdfast help sh', ['show']],
    ['holdfast release x --kind ', ['mutex', 'rw', 'semaphore']],
    ['holdfast lab l', ['list']],
    ['holdfast completion ', ['bash', 'fish', 'zsh']],
    ['holdfast serve --unix /et', ['/etc/']],
    ['holdfast release --reason ', ['']],
    ['holdfast show order:4', ['order:42', 'order:43']],
    ['holdfast run x -- holdfast rel', ['release']],
  ] as const)('%s', async (line, expected) => {
    expect(await completions(line)).toEqual(expected);
  });

  it('offers names of locks without those that ls escapes, and runs nothing in them', async () => {
    expect(await completions('holdfast show ')).toEqual([
      `$(touch ${harm})`,
      `\`touch ${harm}\``,
      'order:42',
      'order:43',
      'with space',
    ]);
    expect(existsSync(harm)).toBe(false);
  });

  it('reads names from the store that is named on the line', async () => {
    const other = await startHoldfast();
    const line = `holdfast show --store redis://127.0.0.1:${other.port} or`;
    expect(await completions(line)).toEqual(['']);
    await other.stop();
  });
});

it('refuses an unknown shell', async () => {
  expect((await runCli(['completion', 'csh'])).errors).toContain(
    'Name the shell: bash, zsh or fish.',
  );
});
