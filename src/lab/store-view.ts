import type { Entry } from './store.ts';

/** Holders and waiters of a lock as its store records them, read from the keys. */
export interface StoreView {
  readonly grants: readonly Grant[];
  /** The waiters whose clients are alive, in order. */
  readonly queue: readonly Waiting[];
  /** The fence of the last grant; 0 before the first. */
  readonly fence: number;
}

export interface Waiting {
  readonly owner: string;
  /** The time from which its client counts as silent, so that the store may skip it. */
  readonly silentMs: number;
}

export interface Grant {
  /** Unique for each grant. */
  readonly owner: string;
  readonly permits: number;
  /** 0 for a foreign client, which has no fence. */
  readonly fence: number;
  readonly endMs: number;
}

export type ReadView = (entries: readonly Entry[]) => StoreView;

/** The sum of the permits of all leases that have not ended. */
export function livePermits({ grants }: StoreView, nowMs: number): number {
  let taken = 0;
  for (const { permits, endMs } of grants) if (endMs > nowMs) taken += permits;
  return taken;
}

/** A lease of another client that had not ended and is no longer there. */
export function cutShort(
  before: StoreView,
  after: StoreView,
  nowMs: number,
  isOwn: (owner: string) => boolean,
): Grant | undefined {
  return before.grants.find(
    (grant) => grant.endMs > nowMs && !isOwn(grant.owner) && sameGrant(after, grant) === undefined,
  );
}

/** A lease of another client that ends later than before, and by how much. */
export function extendedLease(
  before: StoreView,
  after: StoreView,
  isOwn: (owner: string) => boolean,
): { readonly grant: Grant; readonly byMs: number } | undefined {
  for (const grant of before.grants) {
    const byMs = (sameGrant(after, grant)?.endMs ?? 0) - grant.endMs;
    if (byMs > 0 && !isOwn(grant.owner)) return { grant, byMs };
  }
  return undefined;
}

/** A new grant whose fence is not larger than that of every grant before it. */
export function unraised(before: StoreView, after: StoreView): Grant | undefined {
  return newGrants(before, after).find(({ fence }) => fence !== 0 && fence <= before.fence);
}

/**
 * The owner that was granted the lock, and a waiter ahead of it in the queue that is not silent and still waits.
 * If all leases had ended before, the queue order does not apply: the first client that sends a request gets the lock.
 */
export function passedOver(
  before: StoreView,
  after: StoreView,
  nowMs: number,
): { readonly served: string; readonly passed: string } | undefined {
  if (before.grants.every(({ endMs }) => endMs <= nowMs)) return undefined;
  for (const { owner: served } of newGrants(before, after)) {
    const place = before.queue.findIndex(({ owner }) => owner === served);
    const ahead = place < 0 ? before.queue : before.queue.slice(0, place);
    const waiting = ownersIn(after);
    const passed = ahead.find(({ owner, silentMs }) => silentMs > nowMs && waiting.includes(owner));
    if (passed !== undefined) return { served, passed: passed.owner };
  }
  return undefined;
}

/** Two waiters that have changed places in the queue. */
export function swapped(
  beforeView: StoreView,
  afterView: StoreView,
): { readonly ahead: string; readonly behind: string } | undefined {
  const before = ownersIn(beforeView);
  const after = ownersIn(afterView);
  const stayed = before.filter((owner) => after.includes(owner));
  const at = stayed.findIndex(
    (owner, index) => after.indexOf(owner) > after.indexOf(stayed[index + 1] ?? owner),
  );
  return at < 0 ? undefined : { ahead: stayed[at + 1]!, behind: stayed[at]! };
}

function ownersIn({ queue }: StoreView): string[] {
  return queue.map(({ owner }) => owner);
}

function newGrants(before: StoreView, after: StoreView): Grant[] {
  return after.grants.filter((grant) => sameGrant(before, grant) === undefined);
}

function sameGrant({ grants }: StoreView, { owner, fence }: Grant): Grant | undefined {
  return grants.find((each) => each.owner === owner && each.fence === fence);
}
