import type { Entry } from './store.ts';

/** Who has a lock, and who waits for it, in the eyes of its store: read out of the keys. */
export interface StoreView {
  readonly grants: readonly Grant[];
  /** The waiters whose clients are alive, in order. */
  readonly queue: readonly Waiting[];
  /** The fence of the last grant; 0 before the first. */
  readonly fence: number;
}

export interface Waiting {
  readonly owner: string;
  /** From then on its client counts as silent, and may be passed over. */
  readonly silentMs: number;
}

export interface Grant {
  /** Unlike that of every other grant. */
  readonly owner: string;
  readonly take: number;
  /** 0 for a program that knows of no fences. */
  readonly fence: number;
  readonly endMs: number;
}

export type ReadView = (entries: readonly Entry[]) => StoreView;

/** How much of the lock is taken by leases that have not ended. */
export function liveTake({ grants }: StoreView, nowMs: number): number {
  let taken = 0;
  for (const { take, endMs } of grants) if (endMs > nowMs) taken += take;
  return taken;
}

/** A lease of somebody else that had not ended and is no longer there. */
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

/** A lease of somebody else that ends later than before, and by how much. */
export function prolonged(
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
 * The owner that was granted the lock, and one in front of it in the queue that is not silent and still waits. A
 * lock that was free before came free by itself: then the first client that is heard of gets it.
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

/** Two that wait, and have changed places. */
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
