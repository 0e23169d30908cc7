import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { AclFile } from '../../engine/index.ts';

/** The file of `--aclfile`, which ACL LOAD reads and ACL SAVE replaces. */
export function aclFile(path: string): AclFile {
  // SAVE must reach the same file as LOAD if the process changes its folder.
  const absolute = resolve(path);
  return {
    load: () => readFileSync(absolute, 'latin1'),
    save: (text) => replaceFile(absolute, text),
  };
}

/**
 * Writes a file beside the old one and renames it, so that after a crash the path has the old text or the new one. A
 * new file is for its owner alone, since it has the hashes of passwords; an old one keeps its mode.
 */
function replaceFile(path: string, text: string): void {
  const temporary = `${path}.tmp-${process.pid}`;
  try {
    writeSynced(temporary, text, modeOf(path));
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

function writeSynced(path: string, text: string, mode: number): void {
  const file = openSync(path, 'w', 0o600);
  try {
    writeFileSync(file, text, 'latin1');
    fchmodSync(file, mode);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function modeOf(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o600) & 0o777;
}

function syncFolder(path: string): void {
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
