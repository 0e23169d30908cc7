import { lstatSync } from 'node:fs';
import { makeFolder } from '../make-folder.ts';
import { LocalError } from './errors.ts';

/** The variables that are looked at. */
export type LocalEnvironment = Readonly<Record<string, string | undefined>> & {
  readonly HOLDFAST_RUNTIME_DIR?: string;
  readonly HOLDFAST_LOCAL_IDLE_MS?: string;
  readonly LD_LIBRARY_PATH?: string;
};

/** Makes the folder, if need be, and makes sure that it is ours alone. Throws LocalError. */
export function prepareFolder(folder: string): void {
  if (Buffer.byteLength(folder) > LONGEST_FOLDER) throw tooLong(folder);
  try {
    makeFolder(folder);
    checkFolder(folder);
  } catch (error) {
    throw error instanceof LocalError ? error : cannotUse(folder, error);
  }
}

/** Whether the folder is there; makes sure, if so, that it is ours alone. Throws LocalError. */
export function findFolder(folder: string): boolean {
  if (Buffer.byteLength(folder) > LONGEST_FOLDER) throw tooLong(folder);
  try {
    checkFolder(folder);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error instanceof LocalError ? error : cannotUse(folder, error);
  }
}

/** Whoever could write into it could stand in for the server; whoever could read, break locks. */
function checkFolder(folder: string): void {
  const found = lstatSync(folder);
  if (!found.isDirectory()) throw foreign(folder, 'it is no folder');
  if (found.uid !== process.geteuid?.()) {
    throw foreign(folder, `it belongs to another user (uid ${found.uid})`);
  }
  if ((found.mode & 0o077) !== 0) throw foreign(folder, 'other users may enter it');
}

function foreign(folder: string, reason: string): LocalError {
  return new LocalError(
    'foreign',
    `refused to keep locks in ${folder}: ${reason}, so that others could take and break them. ` +
      'Remove it, or name a folder of mode 0700 with HOLDFAST_RUNTIME_DIR.',
  );
}

/** What an error of the file system means for the folder. */
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
  ENOSPC: 'its disk is full. Make room there.',
  EDQUOT: 'your quota of its disk is used up. Make room there.',
  EACCES: 'you may not write there. Change its permissions.',
  EPERM: 'you may not write there. Change its permissions.',
  EROFS: 'its disk can only be read.',
  ENOENT: 'it cannot be made there, or somebody has just removed it.',
  ENOTDIR: 'a part of its path is no folder.',
  EMFILE: 'too many files are open. Raise the limit (ulimit -n).',
  ENFILE: 'too many files are open on this machine.',
} as const;

/** A socket's path has 108 bytes on Linux and 104 elsewhere, with a zero at its end. */
const LONGEST_PATH = process.platform === 'linux' ? 107 : 103;
/** What stands behind the folder at most: the name of a server that has not taken its place. */
const LONGEST_NAME = '/.0123456789ab.sock'.length;
export const LONGEST_FOLDER = LONGEST_PATH - LONGEST_NAME;

function tooLong(folder: string): LocalError {
  return new LocalError(
    'path',
    `cannot keep locks in ${folder}: the path of a socket may have ${LONGEST_PATH} bytes, and so that of its ` +
      `folder ${LONGEST_FOLDER}; this one has ${Buffer.byteLength(folder)}. Name a shorter one with HOLDFAST_RUNTIME_DIR.`,
  );
}
