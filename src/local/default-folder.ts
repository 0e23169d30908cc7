import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { LocalError } from './errors.ts';
import { cannotUse, findFolder, MAX_FOLDER } from './folder.ts';

/** A user, as the user database of the system knows it. */
export interface User {
  readonly uid: number;
  /** Undefined: the user has no entry there, as in many containers. */
  readonly home: string | undefined;
}

/**
 * The default folder of a user: in the home folder, where no other user can take its name, else in /tmp. Every process
 * of the user must get the same result, or two of them could hold one lock. So the result depends on the user database
 * and the file system alone, not on variables, and not on the content of /tmp, which other users control. See
 * docs/adr/0011-folder-in-the-home.md. Throws LocalError.
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

/** The user of this process. Undefined on systems without user ids. */
export function thisUser(): User | undefined {
  const uid = process.geteuid?.();
  return uid === undefined ? undefined : { uid, home: homeOfUser() };
}

/** Not HOME: the variable may be missing, or that of another user. */
function homeOfUser(): string | undefined {
  try {
    return userInfo().homedir;
  } catch (error) {
    // A failure of the database does not mean that the user has no entry.
    const { info } = error as { info?: { code?: string } };
    if (info?.code === 'ENOENT') return undefined;
    throw cannotUse('the home folder of this user', error);
  }
}

/**
 * Types of local file systems. Two machines that share a home folder must not share this folder: a server cannot
 * connect to the socket of another machine, and would take its server for dead. With a type that is missing here the
 * folder is in /tmp. Linux only: elsewhere the types have no fixed numbers.
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

/** Why the home folder cannot be used; undefined if it can. Throws LocalError if that is unknown. */
function problemOfHome({ uid, home }: User): string | undefined {
  if (home === undefined) return 'the user database names none';
  const facts = factsOf(home);
  if (facts === undefined) return `${home} does not exist`;
  if (process.platform !== 'linux' || !LOCAL_TYPES.has(facts.type)) {
    return `${home} may be shared with other machines`;
  }
  if (facts.owner !== uid) return `${home} belongs to another user (uid ${facts.owner})`;
  const folder = folderIn(home);
  if (Buffer.byteLength(folder) > MAX_FOLDER) return `${folder} is too long for a socket`;
  // An existing folder was created by another process of this user that can write to the home folder.
  return existsSync(folder) || isWritable(home) ? undefined : `${home} cannot be written to`;
}

function folderIn(home: string): string {
  return join(home, '.holdfast-run');
}

function factsOf(home: string): { readonly type: number; readonly owner: number } | undefined {
  try {
    // In this order: the first call mounts a home folder that is mounted on demand.
    const type = statfsSync(home).type >>> 0;
    return { type, owner: statSync(home).uid };
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    // Another process of this user, such as one outside of a sandbox, may be able to use it.
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
