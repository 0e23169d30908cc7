import { FORCE_SCRIPT, PAGE_SCRIPT, READ_SCRIPT } from './lists/lock-list-script.ts';
import { LOCK_SCRIPT } from './redis/lock-script.ts';
import { WAIT_SCRIPT } from './redis/wait-script.ts';

/**
 * Every script that locks, `ls`, `show` and `release` run on a server that is not in a cluster. `ls --foreign`, which
 * shows the keys of other programs, is not among them.
 */
export const LIBRARY_SCRIPTS: readonly string[] = [
  LOCK_SCRIPT,
  WAIT_SCRIPT.text,
  PAGE_SCRIPT,
  READ_SCRIPT,
  FORCE_SCRIPT,
];
