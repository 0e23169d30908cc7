import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { lockFolder } from './folder-lock.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it('refuses the folder by another path while it is locked', async () => {
  const link = `${folder}.link`;
  symlinkSync(folder, link);
  const lock = await lockFolder(folder);
  await expect(lockFolder(link)).rejects.toThrow('another server uses the folder');
  await lock.release();
  await (await lockFolder(link)).release();
  rmSync(link);
});

it('refuses a folder whose server.lock is a file, and keeps the file', async () => {
  const path = join(folder, 'server.lock');
  writeFileSync(path, 'text');
  await expect(lockFolder(folder)).rejects.toThrow(`cannot lock ${path}: it is not the socket`);
  expect(readFileSync(path, 'latin1')).toBe('text');
});

it('refuses a folder whose server.lock is a folder', async () => {
  mkdirSync(join(folder, 'server.lock'));
  await expect(lockFolder(folder)).rejects.toThrow('it is not the socket of a server');
});
