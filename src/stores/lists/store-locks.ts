import { globFilter } from '../../engine/index.ts';
import {
  type Holder,
  LockArgumentError,
  type LockState,
  type LockStore,
  type LockTarget,
  type WaiterInfo,
} from '../../lock/index.ts';
import { type LockList, MAX_LISTED } from './list-locks.ts';
import {
  bytesOf,
  type ListedHolder,
  type ListedLock,
  type ListedWaiter,
  textOf,
} from './lock-list.ts';
import type { LockSource } from './lock-source.ts';
import { NONE_UNREADABLE } from './scan-pages.ts';
import { StoreError } from './store-error.ts';

/** The maximum number of holders, and of waiters, of each lock: in a list, and of one name. */
const MAX_IN_LIST = 10;
const MAX_IN_READ = 1000;

/** The locks of a store other than Redis, through the contract of stores. A store without `list` has mutexes only. */
export function storeLocks(store: LockStore, label: string): LockSource {
  const source: LockSource = {
    label,
    keepsReasons: false,
    hasWaitGraph: false,
    list: (pattern, maxLocks) => listAll(store, label, pattern, maxLocks),
    async read(nameBytes) {
      const states = await refusing(label, () => statesOf(store, nameOf(nameBytes)));
      return states.map((state) => ({ lock: listed(state), forced: [] }));
    },
    async force(before, _note, owners) {
      const { kind, nameBytes } = before;
      const states = await refusing(label, async () => {
        const states = await statesOf(store, nameOf(nameBytes));
        const found = states.find((state) => state.kind === kind);
        const holders = found ? listed(found).holders : [];
        const isSeen = holders.some(({ owner }) => owners?.includes(owner));
        if (owners && holders.length > 0 && !isSeen) return undefined;
        await store.forceRelease(found ?? mutexOf(nameOf(nameBytes)));
        return statesOf(store, nameOf(nameBytes));
      });
      if (states === undefined) return undefined;
      const after = states.find((state) => state.kind === kind);
      return { before, after: after ? listed(after) : free(before) };
    },
    close: () => void store.close().catch(() => {}),
  };
  return source;
}

async function listAll(
  store: LockStore,
  label: string,
  pattern: string | undefined,
  maxLocks = MAX_LISTED,
): Promise<LockList> {
  if (store.list === undefined) {
    throw new StoreError(
      `${label} cannot list its locks. Name one: holdfast show <name> or holdfast release <name>.`,
    );
  }
  const filter = { maxLocks, maxParties: MAX_IN_LIST };
  const { locks, isCut } = await refusing(label, () => store.list!(filter));
  // The same patterns as in Redis.
  const matches = globFilter(pattern ?? '*');
  const shown = locks.map(listed).filter(({ nameBytes }) => matches(nameBytes));
  return { locks: shown, isCut, ...NONE_UNREADABLE };
}

/** The locks of all kinds with this name that are in use. */
async function statesOf(store: LockStore, name: string): Promise<readonly LockState[]> {
  if (store.list !== undefined) {
    return (await store.list({ name, maxLocks: MAX_IN_READ, maxParties: MAX_IN_READ })).locks;
  }
  const target = mutexOf(name);
  const { holders, waiters } = await store.inspect(target);
  const [holderCount, waiterCount] = [holders.length, waiters.length];
  return holderCount + waiterCount === 0
    ? []
    : [{ ...target, holders, waiters, holderCount, waiterCount }];
}

function mutexOf(name: string): LockTarget {
  return { kind: 'mutex', name, slots: 1 };
}

/** Other stores have names in UTF-8 only. */
function nameOf(nameBytes: string): string {
  const name = textOf(nameBytes);
  if (bytesOf(name) === nameBytes) return name;
  throw new LockArgumentError('', 'The name is not UTF-8: this store has no lock with that name.');
}

async function refusing<Result>(label: string, ask: () => Promise<Result>): Promise<Result> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof LockArgumentError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreError(`${label} does not answer: ${reason.replace(/\.?$/, '.')}`);
  }
}

function listed({ kind, name, holderCount, holders, waiterCount, waiters }: LockState): ListedLock {
  return {
    kind,
    nameBytes: bytesOf(name),
    holderCount,
    holders: holders.map(listedHolder),
    waiterCount,
    waiters: waiters.map(listedWaiter),
  };
}

function listedHolder(holder: Holder): ListedHolder {
  const leftMs = Number.isFinite(holder.leftMs) ? holder.leftMs : undefined;
  if (holder.foreign) {
    const { type: foreignType, value, permits } = holder;
    const owner = bytesOf(value);
    return {
      owner,
      info: undefined,
      permits,
      fence: undefined,
      ageMs: undefined,
      leftMs,
      foreignType,
    };
  }
  const { host, pid, label, owner, permits, fence, ageMs } = holder;
  return {
    owner: bytesOf(owner),
    info: { host, pid, label },
    permits,
    // 0: the store has no fences.
    fence: fence === 0 ? undefined : fence,
    ageMs,
    leftMs,
    foreignType: undefined,
  };
}

function listedWaiter({ owner, permits, host, pid, label }: WaiterInfo): ListedWaiter {
  return { owner: bytesOf(owner), info: { host, pid, label }, permits, leaseMs: undefined };
}

function free({ kind, nameBytes }: ListedLock): ListedLock {
  return { kind, nameBytes, holderCount: 0, holders: [], waiterCount: 0, waiters: [] };
}
