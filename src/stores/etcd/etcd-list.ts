import type { Clock } from '../../clock/index.ts';
import type {
  HoldfastHolder,
  Inspection,
  ListFilter,
  LockKind,
  LockListing,
  LockState,
  WaiterInfo,
} from '../../lock/index.ts';
import { admitted, byPlace, decoded, type Entry, entryOf, LockKeys } from './entry.ts';
import type { EtcdClient } from './etcd-client.ts';
import { LEASE_TIME_TO_LIVE, RANGE, type RangeReply, TXN } from './etcd-messages.ts';

const KINDS: readonly LockKind[] = ['mutex', 'rw', 'semaphore'];
/** How many entries one request reads. */
const PAGE = 1000;
/** Entries after these are not listed. */
const MAX_ENTRIES = 100_000;
/** For how many leases the time that is left is requested. */
const MAX_LEASES = 20;

/** Lists the locks with a holder or a waiter, in the order of their names. */
export async function listLocks(
  client: EtcdClient,
  clock: Clock,
  prefix: string,
  { name, maxLocks, maxParties }: ListFilter,
): Promise<LockListing> {
  const found = name === undefined ? await scan(client, prefix) : await read(client, prefix, name);
  const ordered = found.locks.sort((one, other) => order(one.name, other.name));
  const locks = await Promise.all(
    ordered.slice(0, maxLocks).map(async ({ entries, ...target }): Promise<LockState> => {
      const held = admitted(entries.sort(byPlace)).length;
      const parties = [...entries.slice(0, Math.min(held, maxParties))];
      parties.push(...entries.slice(held, held + maxParties));
      const { slots } = entries[0]!;
      const counts = { holderCount: held, waiterCount: entries.length - held };
      return { ...target, slots, ...counts, ...(await shown(client, clock, parties)) };
    }),
  );
  return { locks, isCut: found.isCut || ordered.length > maxLocks };
}

interface FoundLock {
  readonly kind: LockKind;
  readonly name: string;
  readonly entries: Entry[];
}

interface Found {
  readonly locks: FoundLock[];
  readonly isCut: boolean;
}

function order(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

async function read(client: EtcdClient, prefix: string, name: string): Promise<Found> {
  const keys = KINDS.map((kind) => new LockKeys(prefix, { kind, name, slots: 1 }));
  const success = keys.map(({ first, end }) => ({ range: { key: first, rangeEnd: end } }));
  const { responses } = await client.call(TXN, { success });
  const locks = KINDS.map((kind, index) => {
    return { kind, name, entries: (responses[index]?.range?.kvs ?? []).map(entryOf) };
  });
  return { locks: locks.filter(({ entries }) => entries.length > 0), isCut: false };
}

/** Reads all entries, in pages of one revision. */
async function scan(client: EtcdClient, prefix: string): Promise<Found> {
  const locks = new Map<string, FoundLock>();
  let count = 0;
  let revision = 0;
  for (const kind of KINDS) {
    const start = `${prefix}${kind}/`;
    const rangeEnd = `${prefix}${kind}0`;
    for (let key: string | undefined = start; key !== undefined; ) {
      if (count >= MAX_ENTRIES) return { locks: [...locks.values()], isCut: true };
      const page: RangeReply = await client.call(RANGE, { key, rangeEnd, limit: PAGE, revision });
      revision ||= page.header.revision;
      count += page.kvs.length;
      for (const kv of page.kvs) {
        const [, lock, encoded] = /^((.*)\/[01]\/)[^/]*$/s.exec(kv.key.slice(start.length)) ?? [];
        if (lock === undefined) continue;
        const id = `${kind}/${encoded}`;
        const found = locks.get(id) ?? { kind, name: decoded(encoded!), entries: [] };
        found.entries.push(entryOf(kv));
        locks.set(id, found);
      }
      // The next key: all of them have no NUL.
      key = page.more ? `${page.kvs.at(-1)!.key}\0` : undefined;
    }
  }
  return { locks: [...locks.values()], isCut: false };
}

/** Holders and waiters, of entries in the order of their places. */
export async function shown(
  client: EtcdClient,
  clock: Clock,
  entries: readonly Entry[],
): Promise<Inspection> {
  const held = admitted(entries);
  const leftMs = await leasesLeftMs(client, held);
  const wallMs = clock.wallMs();
  const holders = held.map((entry) => holderOf(entry, leftMs.get(entry.lease), wallMs));
  return { holders, waiters: entries.slice(held.length).map(waiterOf) };
}

/** The time that is left is that of the lease in etcd, or that of the request if it is shorter or not known. */
export function holderOf(
  { owner, info, permits, fence, grantedWallMs, leaseMs }: Entry,
  leftMs = leaseMs,
  wallMs: number,
): HoldfastHolder {
  return {
    foreign: false,
    owner,
    ...info,
    permits,
    fence,
    ageMs: Math.max(0, wallMs - grantedWallMs),
    leftMs: Math.max(1, Math.min(leftMs, leaseMs)),
  };
}

function waiterOf({ owner, info, permits }: Entry): WaiterInfo {
  return { owner, ...info, permits };
}

async function leasesLeftMs(
  client: EtcdClient,
  held: readonly Entry[],
): Promise<Map<number, number>> {
  const ids = [...new Set(held.map(({ lease }) => lease))].slice(0, MAX_LEASES);
  const leftMs = new Map<number, number>();
  await Promise.allSettled(
    ids.map(async (id) => {
      const { ttl } = await client.call(LEASE_TIME_TO_LIVE, { id });
      leftMs.set(id, Number.isSafeInteger(ttl) ? ttl * 1000 : 0);
    }),
  );
  return leftMs;
}
