import { type LockList, listLocks, type ScriptServers } from './list-locks.ts';
import { type ForcedRelease, forceLock, type ListedLock, readLocks } from './lock-list.ts';

/** The locks of a store, for operators. Names and patterns are bytes, one char each. */
export interface LockSource {
  /** The address for messages, without a password. */
  readonly label: string;
  /** Whether the store keeps the reason of a forced release. */
  readonly keepsReasons: boolean;
  /** Whether waiters report the leases that they hold. */
  readonly hasWaitGraph: boolean;
  /** Without a maximum: MAX_LISTED. */
  list(pattern: string | undefined, maxLocks?: number): Promise<LockList>;
  /** The locks of all kinds with one name. */
  read(nameBytes: string): Promise<readonly FoundLock[]>;
  /** With owners: changes nothing if others hold the lock, and returns undefined. */
  force(
    lock: ListedLock,
    note: OperatorNote,
    owners?: readonly string[],
  ): Promise<DoneRelease | undefined>;
  close(): void;
}

export interface FoundLock {
  readonly lock: ListedLock;
  readonly forced: readonly ForcedRelease[];
}

/** A lock before and after a forced release. */
export interface DoneRelease {
  readonly before: ListedLock;
  readonly after: ListedLock;
}

export type OperatorNote = Omit<ForcedRelease, 'atMs' | 'holders'>;

/** The locks of Redis, or of the servers of a cluster. */
export function redisLocks(servers: ScriptServers, prefix: string): LockSource {
  const { label, run } = servers;
  return {
    label,
    keepsReasons: true,
    hasWaitGraph: true,
    list: (pattern, maxLocks) => listLocks(servers, { pattern, prefix }, maxLocks),
    read: (name) => readLocks(run, name, prefix),
    force: (lock, note, owners) => forceLock(run, lock, note, prefix, owners),
    close: () => servers.close(),
  };
}
