import { CACHE_SCRIPT } from '../../cache/index.ts';
import type { LockRoleOptions } from '../../engine/index.ts';
import { channelOf, LIBRARY_SCRIPTS, SESSION_KEY_PREFIX } from '../../stores/index.ts';

/** What the ACL category `lock` of `holdfast serve` allows beside its commands: see docs/users.md. */
export const LOCK_ROLE: LockRoleOptions = {
  scripts: [...LIBRARY_SCRIPTS, CACHE_SCRIPT],
  keyPrefixes: [SESSION_KEY_PREFIX],
  channelPrefixes: [channelOf('')],
};
