import { isAbsolute, resolve } from 'node:path';
import { defaultFolder, temporaryFolder, thisUser } from './default-folder.ts';
import { LocalError } from './errors.ts';
import { findFolder, type LocalEnvironment } from './folder.ts';

/**
 * The folder of the local server of this user. It does not depend on XDG_RUNTIME_DIR or TMPDIR, which a shell may set
 * and cron does not: two runs of one user would then not exclude each other. Throws LocalError.
 */
export function localFolder(
  { HOLDFAST_RUNTIME_DIR: named = '' }: LocalEnvironment,
  user = thisUser(),
): string {
  if (user === undefined) throw new LocalError('system', NO_USERS);
  if (named === '') return defaultFolder(user);
  if (!isAbsolute(named)) throw new LocalError('folder', `HOLDFAST_RUNTIME_DIR ${NOT_ABSOLUTE}`);
  return resolve(named);
}

/**
 * The folder in /tmp, in which a server may still run that was started before the home folder could be used. Undefined:
 * there is none.
 */
export function earlierFolder(
  { HOLDFAST_RUNTIME_DIR: named = '' }: LocalEnvironment,
  folder: string,
): string | undefined {
  const earlier = temporaryFolder(process.geteuid!());
  if (named !== '' || folder === earlier) return undefined;
  try {
    return findFolder(earlier) ? earlier : undefined;
  } catch {
    // Another user has taken the name.
    return undefined;
  }
}

const NO_USERS =
  'there is no local server on this system. Name a server with --store, or start one: holdfast serve.';
const NOT_ABSOLUTE = 'must be an absolute path.';
