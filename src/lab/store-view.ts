import type { Entry } from './store.ts';

/** Who has a lock, and who waits for it, in the eyes of its store: read out of the keys. */
export interface StoreView {
  readonly grants: readonly Grant[];
  /** The owners that wait and live, in order. */
  readonly line: readonly string[];
  /** The fence of the last grant; 0 before the first. */
  readonly fence: number;
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

/** Who was granted the lock, and who stood before them in line and still waits. */
export function passedOver(
  before: StoreView,
  after: StoreView,
): { readonly served: string; readonly passed: string } | undefined {
  for (const { owner: served } of newGrants(before, after)) {
    const place = before.line.indexOf(served);
    const ahead = place < 0 ? before.line : before.line.slice(0, place);
    const passed = ahead.find((owner) => after.line.includes(owner));
    if (passed !== undefined) return { served, passed };
  }
  return undefined;
}

/** Two that wait, and have changed places. */
export function swapped(
  { line: before }: StoreView,
  { line: after }: StoreView,
): { readonly ahead: string; readonly behind: string } | undefined {
  const stayed = before.filter((owner) => after.includes(owner));
  const at = stayed.findIndex(
    (owner, index) => after.indexOf(owner) > after.indexOf(stayed[index + 1] ?? owner),
  );
  return at < 0 ? undefined : { ahead: stayed[at + 1]!, behind: stayed[at]! };
}

function newGrants(before: StoreView, after: StoreView): Grant[] {
  return after.grants.filter((grant) => sameGrant(before, grant) === undefined);
}

function sameGrant({ grants }: StoreView, { owner, fence }: Grant): Grant | undefined {
  return grants.find((each) => each.owner === owner && each.fence === fence);
}
