import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readPasswordFile } from './password-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-password-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A file of this content and mode, whatever the umask. */
function file(content: string, mode = 0o600): string {
  const path = join(folder, 'password');
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

function read(path: string): { password: string; warnings: string[] } {
  const warnings: string[] = [];
  return { password: readPasswordFile(path, (message) => warnings.push(message)), warnings };
}

describe('readPasswordFile', () => {
  it.each([
    ['secret', 'secret'],
    ['secret\n', 'secret'],
    ['secret\r\nmore\n', 'secret'],
    [' géheim \n', ' géheim '],
    [`${'x'.repeat(4096)}\n`, 'x'.repeat(4096)],
    [`secret\n${'x'.repeat(100_000)}`, 'secret'],
  ])('reads the first line of %j', (content, password) => {
    expect(read(file(content))).toEqual({ password, warnings: [] });
  });

  it.each(['', '\n', '\nsecret'])('refuses %j, which begins with an empty line', (content) => {
    expect(() => read(file(content))).toThrow(/begins with an empty line/);
  });

  it('refuses a first line of more than 4096 bytes, and a file without an end', () => {
    expect(() => read(file('x'.repeat(4097)))).toThrow(/more than 4096 bytes/);
    expect(() => read('/dev/zero')).toThrow(/more than 4096 bytes/);
  });

  it('refuses what cannot be read', () => {
    expect(() => read(folder)).toThrow(/cannot read the password file .* \(EISDIR\)/);
    expect(() => read(join(folder, 'none'))).toThrow(/\(ENOENT\)/);
    expect(() => read('/dev/null')).toThrow(/empty line/);
  });

  it('reads a pipe until the line ends, which its writer may keep open', async () => {
    const path = join(folder, 'pipe');
    execFileSync('mkfifo', ['-m', '600', path]);
    const script = 'printf sec; printf "ret\\n"; exec cat';
    const writer = spawn('sh', ['-c', `{ ${script}; } > "$0"`, path], {
      stdio: ['pipe', 'ignore'],
    });
    expect(read(path)).toEqual({ password: 'secret', warnings: [] });
    writer.stdin!.end();
    await once(writer, 'close');
  });

  it.each([0o640, 0o604, 0o444, 0o620])('warns of mode %o', (mode) => {
    const path = file('secret', mode);
    const shown = mode.toString(8).padStart(4, '0');
    expect(read(path)).toEqual({
      password: 'secret',
      warnings: [
        `the password file ${path} is open to other users (mode ${shown}). Use chmod 600 ${path}.`,
      ],
    });
  });

  it('warns of a file that belongs to another user', ({ skip }) => {
    if (process.geteuid?.() !== 0) skip('may not give files away');
    const path = file('secret');
    chownSync(path, 65534, 65534);
    expect(read(path).warnings).toEqual([
      expect.stringContaining('belongs to another user (uid 65534). Use chmod 600'),
    ]);
  });
});
