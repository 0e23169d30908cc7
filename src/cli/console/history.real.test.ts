import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { History, MAX_LINES } from './history.ts';

function newPath(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-history-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, 'history');
}

describe('History', () => {
  it('keeps lines for the owner alone, newest first', () => {
    const path = newPath();
    const history = new History(path);
    expect(history.load()).toEqual([]);
    history.add('GET a');
    chmodSync(path, 0o644);
    history.add('GET b');
    expect(history.load()).toEqual(['GET b', 'GET a']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it('cuts a file that has grown long', () => {
    const path = newPath();
    const lines = Array.from({ length: 2 * MAX_LINES + 1 }, (_, at) => `GET ${at}`);
    writeFileSync(path, `${lines.join('\n')}\n`);
    expect(new History(path).load()).toHaveLength(MAX_LINES);
    expect(readFileSync(path, 'utf8')).toBe(`${lines.slice(-MAX_LINES).join('\n')}\n`);
  });

  it('reads the last MiB of a file, from the first whole line on', () => {
    const path = newPath();
    writeFileSync(path, `${'x'.repeat(1024 * 1024)}\nGET a\n`);
    expect(new History(path).load()).toEqual(['GET a']);
  });

  it('does not follow a link, and changes nothing behind it', () => {
    const path = newPath();
    writeFileSync(`${path}-target`, 'target\n', { mode: 0o644 });
    chmodSync(`${path}-target`, 0o644);
    symlinkSync(`${path}-target`, path);
    const history = new History(path);
    history.add('GET a');
    expect(history.load()).toEqual([]);
    expect(readFileSync(`${path}-target`, 'utf8')).toBe('target\n');
    expect(statSync(`${path}-target`).mode & 0o777).toBe(0o644);
  });

  it('does not use a file of another user', ({ skip }) => {
    if (process.geteuid?.() !== 0) skip('may not give files away');
    const path = newPath();
    writeFileSync(path, 'GET a\n');
    chownSync(path, 65534, 65534);
    const history = new History(path);
    history.add('GET b');
    expect(history.load()).toEqual([]);
    expect(readFileSync(path, 'utf8')).toBe('GET a\n');
  });

  it('does not wait for a pipe', () => {
    const path = newPath();
    execFileSync('mkfifo', [path]);
    const history = new History(path);
    history.add('GET a');
    expect(history.load()).toEqual([]);
  });
});
