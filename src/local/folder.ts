import { lstatSync } from 'node:fs';
import { makeFolder } from '../make-folder.ts';
import { LocalError } from './errors.ts';

/** The environment variables that this module reads. */
export type LocalEnvironment = Readonly<Record<string, string | undefined>> & {
  readonly HOLDFAST_RUNTIME_DIR?: string;
  readonly HOLDFAST_LOCAL_IDLE_MS?: string;
  readonly LD_LIBRARY_PATH?: string;
};

/** Creates the folder if it is missing, and checks that only this user can enter it. Throws LocalError. */
export function prepareFolder(folder: string): void {
  if (Buffer.byteLength(folder) > MAX_FOLDER) throw tooLong(folder);
  try {
    makeFolder(folder);
    checkFolder(folder);
  } catch (error) {
    throw error instanceof LocalError ? error : cannotUse(folder, error);
  }
}

/** Whether the folder exists. Checks that only this user can enter it. Throws LocalError. */
export function findFolder(folder: string): boolean {
  if (Buffer.byteLength(folder) > MAX_FOLDER) throw tooLong(folder);
  try {
    checkFolder(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error instanceof LocalError ? error : cannotUse(folder, error);
  }
}

/** With write access to the folder, another user could replace the server; with read access, break locks. */
function checkFolder(folder: string): void {
  const found = lstatSync(folder);
  if (!found.isDirectory()) throw unsafe(folder, 'it is no folder');
  if (found.uid !== process.geteuid?.()) {
    throw unsafe(folder, `it belongs to another user (uid ${found.uid})`);
  }
  if ((found.mode & 0o077) !== 0) throw unsafe(folder, 'other users may enter it');
}

function unsafe(folder: string, reason: string): LocalError {
  return new LocalError(
    'foreign',
    `refused to keep locks in ${folder}: ${reason}, so that others could take and break them. ` +
      'Remove it, or name a folder of mode 0700 with HOLDFAST_RUNTIME_DIR.',
  );
}

/** A LocalError for an error of the file system. */
export function cannotUse(folder: string, error: unknown): LocalError {
  const { code = String(error) } = error as NodeJS.ErrnoException;
  const reason = REASONS[code as keyof typeof REASONS] ?? 'it cannot be used.';
  return new LocalError(
    'folder',
    `cannot keep locks in ${folder} (${code}): ${reason} Or name another folder with HOLDFAST_RUNTIME_DIR, or ` +
      'a server with --store.',
    error,
  );
}

const REASONS = {
  ENOSPC: 'its disk is full. Free some space.',
  EDQUOT: 'your disk quota is used up. Free some space.',
  EACCES: 'you may not write there. Change its permissions.',
  EPERM: 'you may not write there. Change its permissions.',
  EROFS: 'its disk is read-only.',
  ENOENT: 'it cannot be created there, or it was just removed.',
  ENOTDIR: 'a part of its path is no folder.',
  EMFILE: 'too many files are open. Raise the limit (ulimit -n).',
  ENFILE: 'too many files are open on this machine.',
} as const;

/** The path of a socket has at most 108 bytes on Linux and 104 elsewhere, including a zero at its end. */
const MAX_PATH = process.platform === 'linux' ? 107 : 103;
/** The longest name in the folder: a temporary socket. */
const MAX_NAME = '/.0123456789ab.sock'.length;
export const MAX_FOLDER = MAX_PATH - MAX_NAME;

function tooLong(folder: string): LocalError {
  return new LocalError(
    'path',
    `cannot keep locks in ${folder}: the path of a socket may have ${MAX_PATH} bytes, and so that of its ` +
      `folder ${MAX_FOLDER}; this one has ${Buffer.byteLength(folder)}. Name a shorter one with HOLDFAST_RUNTIME_DIR.`,
  );
}
