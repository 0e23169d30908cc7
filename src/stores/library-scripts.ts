import { KEY_PAGE_SCRIPT } from './lists/key-list-script.ts';
import { FORCE_SCRIPT, PAGE_SCRIPT, READ_SCRIPT } from './lists/lock-list-script.ts';
import { LOCK_SCRIPT } from './redis/lock-script.ts';

/** Every script that locks, `ls`, `show` and `release` run on a server that is not in a cluster. */
export const LIBRARY_SCRIPTS: readonly string[] = [
  LOCK_SCRIPT,
  PAGE_SCRIPT,
  READ_SCRIPT,
  FORCE_SCRIPT,
  KEY_PAGE_SCRIPT,
];
