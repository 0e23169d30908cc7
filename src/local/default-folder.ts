import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { LocalError } from './errors.ts';
import { cannotUse, findFolder, LONGEST_FOLDER } from './folder.ts';

/** A user, as the user database of the system knows it. */
export interface User {
  readonly uid: number;
  /** Undefined: the user has no entry there, as in many containers. */
  readonly home: string | undefined;
}

/**
 * The folder of a user when none is named: in the home folder, where no other user can take its name, else in
 * /tmp. Every process of the user must come to the same answer, or two of them hold one lock. So it depends on
 * the user database and the file system alone, not on variables, and not on what is found in /tmp: other users
 * decide that. See docs/adr/0011-folder-in-the-home.md. Throws LocalError.
 */
export function defaultFolder(user: User): string {
  const problem = problemOfHome(user);
  if (problem === undefined) return folderIn(user.home!);
  const folder = temporaryFolder(user.uid);
  try {
    findFolder(folder);
  } catch (error) {
    if (!(error instanceof LocalError) || error.code !== 'foreign') throw error;
    throw new LocalError('foreign', `${error.message} The home folder is not used: ${problem}.`);
  }
  return folder;
}

/** The folder of a user without a usable home folder. Any other user can take the name. */
export function temporaryFolder(uid: number): string {
  return `/tmp/holdfast-${uid}`;
}

/** This process's user. Undefined on systems that have no user numbers. */
export function thisUser(): User | undefined {
  const uid = process.geteuid?.();
  return uid === undefined ? undefined : { uid, home: homeOfUser() };
}

/** Not HOME: the program may have been started with that of another user, or without it. */
function homeOfUser(): string | undefined {
  try {
    return userInfo().homedir;
  } catch (error) {
    // A database that fails is not one without this user.
    const { info } = error as { info?: { code?: string } };
    if (info?.code === 'ENOENT') return undefined;
    throw cannotUse('the home folder of this user', error);
  }
}

/**
 * Types of file systems that belong to one machine. The locks of two machines with one home folder must not meet
 * in it: a server would take that of the other machine for dead. A type that is missing here costs no more than
 * the protection of the home folder. Linux only: elsewhere a type has no fixed number.
 */
const LOCAL_TYPES: ReadonlyMap<number, string> = new Map([
  [0xef53, 'ext2, ext3, ext4'],
  [0x58465342, 'xfs'],
  [0x9123683e, 'btrfs'],
  [0x2fc12fc1, 'zfs'],
  [0xf2f52010, 'f2fs'],
  [0xca451a4e, 'bcachefs'],
  [0x01021994, 'tmpfs'],
  [0x794c7630, 'overlayfs'],
  [0xf15f, 'ecryptfs'],
]);

/** Why the home folder cannot hold the folder; undefined if it can. Throws LocalError if that is not known. */
function problemOfHome({ uid, home }: User): string | undefined {
  if (home === undefined) return 'the user database names none';
  const facts = factsOf(home);
  if (facts === undefined) return `${home} does not exist`;
  if (process.platform !== 'linux' || !LOCAL_TYPES.has(facts.type)) {
    return `${home} may be shared with other machines`;
  }
  if (facts.owner !== uid) return `${home} belongs to another user (uid ${facts.owner})`;
  const folder = folderIn(home);
  if (Buffer.byteLength(folder) > LONGEST_FOLDER) return `${folder} is too long for a socket`;
  // One that is there was made by another process of this user, to which the home folder is not read-only.
  return existsSync(folder) || isWritable(home) ? undefined : `${home} cannot be written to`;
}

function folderIn(home: string): string {
  return join(home, '.holdfast-run');
}

function factsOf(home: string): { readonly type: number; readonly owner: number } | undefined {
  try {
    // In this order: the first call mounts a home folder that is mounted when it is needed.
    const type = statfsSync(home).type >>> 0;
    return { type, owner: statSync(home).uid };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    // Another process of this user may be able to use it, such as one outside of this sandbox.
    throw cannotUse(home, error);
  }
}

function isWritable(home: string): boolean {
  try {
    accessSync(home, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
