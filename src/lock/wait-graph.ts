import type { HeldLock, LockStore, LockTarget, LockWaits, NestedWaiter } from './store.ts';

/** A deadlock with other processes: its members, and the one that fails, so that the others go on. */
export interface WaitCycle {
  /** The owner of the member that fails. All members choose the same one. */
  readonly victim: string;
  /** A shortest cycle through the member that looked for it: each waits for a lock that the next one holds. */
  readonly path: readonly CycleStep[];
}

/** A member of a cycle: it waits for one lock, and holds the one for which the member before it waits. */
export interface CycleStep {
  readonly waiter: NestedWaiter;
  readonly waitsFor: string;
  readonly holds: string;
}

export type WaitReader = Required<Pick<LockStore, 'readWaits'>>;

/** Limits of one search: how many reads follow each other, how many locks they read, and waiters they find. */
const MAX_DEPTH = 32;
const MAX_LOCKS = 256;
const MAX_WAITERS = 512;

/**
 * Finds a deadlock that the request of this owner is part of. Undefined: there is none, or it is too large.
 *
 * Reads the waiters of the locks that its callback holds, then the waiters of what those hold, and so on: all members of
 * a cycle wait, directly or through others, for what the callback holds. An owner waits or holds once only, so that what
 * is there in both of two reads was there all the time between them. So the members' locks are read twice, and only what
 * is in both reads counts: then the deadlock existed between the reads.
 */
export async function findCycle(
  store: WaitReader,
  owner: string,
  holds: readonly HeldLock[],
): Promise<WaitCycle | undefined> {
  const first = await readAll(store, holds);
  const members = first && cycleOf(first, owner);
  if (!first || !members) return undefined;
  const targets = [...new Set(members.map(({ lock }) => lock))].map(({ target }) => target);
  const again = await store.readWaits(targets);
  const second = new Map<string, ReadLock>();
  for (const [index, target] of targets.entries()) {
    const id = idOf(target);
    second.set(id, inBoth(first.get(id)!, again[index]!));
  }
  const confirmed = cycleOf(second, owner);
  return confirmed && describe(confirmed, owner);
}

interface ReadLock extends LockWaits {
  readonly target: LockTarget;
}

type Graph = ReadonlyMap<string, ReadLock>;

async function readAll(
  store: WaitReader,
  holds: readonly LockTarget[],
): Promise<Graph | undefined> {
  const graph = new Map<string, ReadLock>();
  let next = new Map(holds.map((target) => [idOf(target), target]));
  let waiterCount = 0;
  for (let depth = 0; next.size > 0; depth++) {
    if (depth === MAX_DEPTH || graph.size + next.size > MAX_LOCKS) return undefined;
    const targets = [...next.values()];
    const locks = await store.readWaits(targets);
    for (const [index, target] of targets.entries()) {
      graph.set(idOf(target), { target, ...locks[index]! });
    }
    const waiters = locks.flatMap((lock) => lock.waiters);
    waiterCount += waiters.length;
    if (waiterCount > MAX_WAITERS) return undefined;
    const held = waiters.flatMap((waiter) => waiter.holds);
    next = new Map(held.map((target) => [idOf(target), target]));
    for (const id of graph.keys()) next.delete(id);
  }
  return graph;
}

/** The holders and waiters that are in both reads. No request can get in front of another: the second read has fewer. */
function inBoth(first: ReadLock, second: LockWaits): ReadLock {
  const owners = new Set([...first.holders, ...first.waiters].map(({ owner }) => owner));
  return {
    target: first.target,
    slots: second.slots,
    holders: second.holders.filter(({ owner }) => owners.has(owner)),
    waiters: second.waiters.filter(({ owner }) => owners.has(owner)),
  };
}

/** A waiter in the graph. */
interface Member {
  readonly lock: ReadLock;
  readonly waiter: NestedWaiter;
}

/**
 * The members of the deadlock of this owner, if it is in one. A waiter is stuck if the permits that stuck waiters do not
 * hold are too few for it, or for one in front of it. Starts with all waiters, and removes those that are not stuck until
 * none is removed: as findStuck() of run-context.ts does within the process.
 */
function cycleOf(graph: Graph, owner: string): Member[] | undefined {
  const stuck = new Set<Member>();
  for (const lock of graph.values()) for (const waiter of lock.waiters) stuck.add({ lock, waiter });
  let sizeBefore: number;
  do {
    sizeBefore = stuck.size;
    const held = heldBy(stuck);
    for (const member of stuck) if (!isShort(member, held)) stuck.delete(member);
  } while (stuck.size < sizeBefore);
  const own = [...stuck].find(({ waiter }) => waiter.owner === owner);
  if (own === undefined) return undefined;
  const blockersOf = blockersIn(stuck);
  const blocked = reachable(own, inverse(stuck, blockersOf));
  const members = [...reachable(own, blockersOf)].filter((member) => blocked.has(member));
  return members.length > 0 ? members : undefined;
}

function isShort({ lock, waiter }: Member, held: ReadonlySet<string>): boolean {
  const id = idOf(lock.target);
  let left = lock.slots;
  for (const { owner, permits } of lock.holders) if (held.has(leaseId(id, owner))) left -= permits;
  return left < waiter.permits || left < waiter.aheadPermits;
}

/** The leases of these members. */
function heldBy(members: Iterable<Member>): Set<string> {
  const held = new Set<string>();
  for (const { waiter } of members) {
    for (const lease of waiter.holds) held.add(leaseId(idOf(lease), lease.owner));
  }
  return held;
}

type Edges = (member: Member) => readonly Member[];

/** From a waiter to the other members that hold the lock for which it waits. */
function blockersIn(members: Iterable<Member>): Edges {
  const byLease = new Map<string, Member[]>();
  for (const member of members) {
    for (const id of heldBy([member])) byLease.set(id, [...(byLease.get(id) ?? []), member]);
  }
  return (member) => {
    const id = idOf(member.lock.target);
    const holding = member.lock.holders.flatMap(
      ({ owner }) => byLease.get(leaseId(id, owner)) ?? [],
    );
    return holding.filter((each) => each !== member);
  };
}

function inverse(members: Iterable<Member>, edges: Edges): Edges {
  const sources = new Map<Member, Member[]>();
  for (const member of members) {
    for (const target of edges(member))
      sources.set(target, [...(sources.get(target) ?? []), member]);
  }
  return (member) => sources.get(member) ?? [];
}

/** The members to which a way leads from this one, which is among them only if a way leads back. */
function reachable(from: Member, edges: Edges): Set<Member> {
  const found = new Set(edges(from));
  // A Set yields what is added while it is iterated.
  for (const member of found) for (const target of edges(member)) found.add(target);
  return found;
}

function describe(members: readonly Member[], owner: string): WaitCycle {
  const victim = members
    .map(({ waiter }) => waiter.owner)
    .reduce((one, two) => (one > two ? one : two));
  const own = members.find(({ waiter }) => waiter.owner === owner)!;
  const path = shortestWay(own, blockersIn(members));
  return {
    victim,
    path: path.map(({ lock, waiter }, index) => ({
      waiter,
      waitsFor: lock.target.name,
      holds: path.at(index - 1)!.lock.target.name,
    })),
  };
}

/** A shortest way from a member back to it. It begins with the member. */
function shortestWay(own: Member, blockersOf: Edges): Member[] {
  const before = new Map<Member, Member>();
  const found = new Set([own]);
  for (const member of found) {
    for (const blocker of blockersOf(member)) {
      if (!before.has(blocker)) before.set(blocker, member);
      found.add(blocker);
    }
  }
  const way: Member[] = [];
  let member = own;
  do {
    member = before.get(member)!;
    way.unshift(member);
  } while (member !== own);
  return way;
}

function idOf({ kind, name }: LockTarget): string {
  return `${kind}:${name}`;
}

function leaseId(lock: string, owner: string): string {
  return `${owner} ${lock}`;
}
