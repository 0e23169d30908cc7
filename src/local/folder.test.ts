import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findFolder, prepareFolder } from './folder.ts';

function newFolder(): string {
  const folder = mkdtempSync('/tmp/holdfast-folder-');
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

describe('the folder of the local server', () => {
  it('is created with mode 0700', () => {
    const folder = join(newFolder(), 'a', 'b');
    prepareFolder(folder);
    prepareFolder(folder);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('is refused if other users can enter it', () => {
    const folder = newFolder();
    chmodSync(folder, 0o750);
    expect(() => prepareFolder(folder)).toThrow(
      /refused to keep locks in .*: other users may enter it.*0700/,
    );
  });

  it('is refused if it is a symbolic link or a file', () => {
    const parent = newFolder();
    mkdirSync(join(parent, 'target'), { mode: 0o700 });
    symlinkSync('target', join(parent, 'link'));
    expect(() => prepareFolder(join(parent, 'link'))).toThrow(/it is no folder/);
    writeFileSync(join(parent, 'file'), '');
    expect(() => prepareFolder(join(parent, 'file'))).toThrow(/it is no folder/);
    expect(() => prepareFolder(join(parent, 'file', 'a'))).toThrow(/ENOTDIR.*no folder/);
  });

  it('is refused if it cannot be created', () => {
    const parent = newFolder();
    symlinkSync('nowhere', join(parent, 'link'));
    expect(() => prepareFolder(join(parent, 'link', 'a'))).toThrow(/ENOENT/);
    expect(() => prepareFolder(join(parent, 'link'))).toThrow(/it is no folder/);
    expect(() => prepareFolder('/proc/holdfast/a')).toThrow(/cannot keep locks in .*ENOENT/);
    expect(() => prepareFolder('/proc/holdfast')).toThrow(/cannot keep locks in .*ENOENT/);
  });

  it('is refused if the path of a socket in it is too long', () => {
    const parent = newFolder();
    const fits = join(parent, 'x'.repeat(107 - 19 - parent.length - 1));
    prepareFolder(fits);
    expect(() => prepareFolder(`${fits}x`)).toThrow(/107 bytes.*this one has 89.*shorter/);
    expect(() => findFolder(`${fits}x`)).toThrow(/107 bytes/);
  });
});
