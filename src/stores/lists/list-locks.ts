import { type ListedLock, type RunScript, scanLocks } from './lock-list.ts';
import { addUnreadable, NONE_UNREADABLE, type Unreadable } from './scan-pages.ts';

/** The servers of a store: one, or those of a cluster. */
export interface ScriptServers {
  /** The address for messages, without a password. */
  readonly label: string;
  /** Runs a script on the server that has the keys. */
  readonly run: RunScript;
  /** Every master of a cluster, or the one server. */
  masters(): Promise<readonly { readonly run: RunScript }[]>;
  close(): void;
}

/** Locks in the order of their names. */
export interface LockList extends Unreadable {
  readonly locks: readonly ListedLock[];
  /** There are more locks than the maximum. */
  readonly isCut: boolean;
}

export const NO_LOCKS: LockList = { locks: [], isCut: false, ...NONE_UNREADABLE };

/** Limits the memory of a list: each entry has some hundred bytes. */
export const MAX_LISTED = 100_000;

/** The locks of a store that have a holder or a waiter, each once. */
export async function listLocks(
  servers: ScriptServers,
  { pattern, prefix }: { readonly pattern?: string | undefined; readonly prefix: string },
  maxLocks = MAX_LISTED,
): Promise<LockList> {
  const found = new Map<string, ListedLock>();
  let unreadable = NONE_UNREADABLE;
  for (const { run } of await servers.masters()) {
    for await (const page of scanLocks(run, pattern, prefix)) {
      for (const lock of page.locks) add(found, lock);
      unreadable = addUnreadable(unreadable, page);
      if (found.size > maxLocks) break;
    }
  }
  const locks = sorted(found).slice(0, maxLocks);
  return { locks, isCut: found.size > maxLocks, ...unreadable };
}

/** SCAN may return a lock twice: on one server, or on two while its slot moves. */
function add(found: Map<string, ListedLock>, lock: ListedLock): void {
  const key = `${lock.kind} ${lock.nameBytes}`;
  const known = found.get(key);
  if (known === undefined || weight(lock) > weight(known)) found.set(key, lock);
}

function weight({ holderCount, waiterCount }: ListedLock): number {
  return holderCount + waiterCount;
}

function sorted(found: ReadonlyMap<string, ListedLock>): ListedLock[] {
  return [...found.values()].sort((one, other) => {
    if (one.nameBytes !== other.nameBytes) return one.nameBytes < other.nameBytes ? -1 : 1;
    return one.kind < other.kind ? -1 : 1;
  });
}
