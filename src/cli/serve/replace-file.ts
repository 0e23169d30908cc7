import {
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';

/**
 * Writes a file beside the old one and renames it, so that after a crash the path has the old text or the new one. An
 * old file keeps its mode; a new one is for its owner alone. The text has one char for each byte.
 */
export function replaceFile(path: string, text: string): void {
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
