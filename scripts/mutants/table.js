// Planted bugs. Each is some edits of the library's text, and each text to find must be there exactly once:
// a mutant that no longer applies is an error, not a mutant that is caught. `tests` are the files that catch
// what the lab does not see; without them the lab must catch it alone. `scenario` is where it looks first,
// and further than elsewhere.
import { ACL_MUTANTS } from './acl-mutants.js';
import { ELECTION_MUTANTS } from './election-mutants.js';
import { ETCD_MUTANTS } from './etcd-mutants.js';
import { LOCK_MUTANTS } from './lock-mutants.js';
import { LOG_MUTANTS } from './log-mutants.js';
import { MEMCACHED_MUTANTS } from './memcached-mutants.js';
import { PAGE_MUTANTS } from './page-mutants.js';
import { POSTGRES_MUTANTS } from './postgres-mutants.js';
import { QUORUM_MUTANTS } from './quorum-mutants.js';
import { SCRIPT_MUTANTS } from './script-mutants.js';
import { SERVER_MUTANTS } from './server-mutants.js';
import { SESSION_MUTANTS } from './session-mutants.js';
import { STORE_MUTANTS } from './store-mutants.js';

export const MUTANTS = [
  ...SCRIPT_MUTANTS,
  ...STORE_MUTANTS,
  ...SESSION_MUTANTS,
  ...LOCK_MUTANTS,
  ...ELECTION_MUTANTS,
  ...ACL_MUTANTS,
  ...LOG_MUTANTS,
  ...POSTGRES_MUTANTS,
  ...MEMCACHED_MUTANTS,
  ...QUORUM_MUTANTS,
  ...ETCD_MUTANTS,
  ...SERVER_MUTANTS,
  ...PAGE_MUTANTS,
];
