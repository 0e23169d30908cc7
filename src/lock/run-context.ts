import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attempt } from './attempt.ts';
import type { LockCore } from './core.ts';
import type { Deadlock } from './errors.ts';
import type { Lease } from './lease.ts';
import type { LockRequest, LockTarget } from './store.ts';
import { runInHoldSpan } from './telemetry.ts';

const current = new AsyncLocalStorage<RunContext | undefined>();

/** The run context of the innermost run() callback that the caller is part of. */
export function currentRunContext(): RunContext | undefined {
  return current.getStore();
}

/** Calls back as a part of this run context, or of none, whatever the caller is part of. */
export function withRunContext<Result>(
  context: RunContext | undefined,
  callback: () => Result,
): Result {
  return current.run(context, callback);
}

/**
 * One callback of run(): the lease it holds, and all work that it starts, which is found by its async context. It counts
 * as waiting while any of that work waits for a lock.
 */
export class RunContext {
  readonly core: LockCore;
  /** What it holds in the store of the core. */
  readonly request: LockRequest;
  /** The lock that a reentrant request inside the callback shares. For a shared lease, the lock of the outer lease. */
  readonly shared: SharedLock;
  readonly lease: Lease;
  readonly parent: RunContext | undefined;
  /** Attempts that wait inside the callback, at any depth. */
  readonly #waiting = new Set<Attempt>();
  #turns: LockCore | undefined;

  constructor(
    core: LockCore,
    request: LockRequest,
    shared: SharedLock,
    lease: Lease,
    parent = currentRunContext(),
  ) {
    this.core = core;
    this.request = request;
    this.shared = shared;
    this.lease = lease;
    this.parent = parent;
  }

  async run<Result>(callback: () => Promise<Result> | Result): Promise<Result> {
    this.core.runContexts.add(this);
    try {
      return await current.run(this, runInHoldSpan, this.request, callback);
    } finally {
      this.core.runContexts.delete(this);
      await this.#turns?.close(new Error('the callback that shared its lease has ended'));
    }
  }

  /** The requests that share the lease take turns: each holds a mutex in this memory store. */
  get turns(): LockCore {
    this.#turns ??= this.core.inMemory();
    return this.#turns;
  }

  /** The run contexts that hold a lock for which work in this one waits. */
  *blockers(): Iterable<RunContext> {
    for (const { core, request } of this.#waiting) yield* core.runContexts.holding(request);
  }

  /** Whether work in this context waits for a lock that cannot be granted while those holders keep it. */
  waitsFor(isStuck: (holder: RunContext) => boolean): boolean {
    for (const { core, request } of this.#waiting) if (isShort(core, request, isStuck)) return true;
    return false;
  }

  startWaiting(attempt: Attempt): void {
    for (const context of this.chain()) context.#waiting.add(attempt);
  }

  stopWaiting(attempt: Attempt): void {
    for (const context of this.chain()) context.#waiting.delete(attempt);
  }

  /** This context and its parents, innermost first. */
  *chain(): Iterable<RunContext> {
    for (let context: RunContext | undefined = this; context; context = context.parent) {
      yield context;
    }
  }

  /** The innermost context of the chain that holds the lock. */
  findShared(core: LockCore, target: LockTarget): RunContext | undefined {
    for (const context of this.chain()) {
      const { shared } = context;
      if (shared.core === core && shared.kind === target.kind && shared.name === target.name) {
        return context;
      }
    }
    return undefined;
  }
}

export interface SharedLock extends LockTarget {
  readonly core: LockCore;
  readonly permits: number;
}

/** The run contexts that hold locks of one store, and the requests of this process in the queues of its locks. */
export class RunContexts {
  readonly #holders = new SetsByLock<RunContext>();
  readonly #queues = new SetsByLock<LockRequest>();

  holding(target: LockTarget): Iterable<RunContext> {
    return this.#holders.of(target);
  }

  add(context: RunContext): void {
    this.#holders.add(context.request, context);
  }

  delete(context: RunContext): void {
    this.#holders.delete(context.request, context);
  }

  /** Ignores requests for a mutex: they all take the one permit, so their order cannot cause a deadlock. */
  enqueue(request: LockRequest): void {
    if (request.kind !== 'mutex') this.#queues.add(request, request);
  }

  leave(request: LockRequest): void {
    if (request.kind !== 'mutex') this.#queues.delete(request, request);
  }

  /** The requests of this process in front of this one. All of them, if it is not in the queue yet. */
  *before(request: LockRequest): Iterable<LockRequest> {
    for (const other of this.#queues.of(request)) {
      if (other === request) return;
      yield other;
    }
  }
}

class SetsByLock<Item> {
  readonly #sets = new Map<string, Set<Item>>();

  of(target: LockTarget): Iterable<Item> {
    return this.#sets.get(keyOf(target)) ?? [];
  }

  add(target: LockTarget, item: Item): void {
    const key = keyOf(target);
    const items = this.#sets.get(key);
    if (items) items.add(item);
    else this.#sets.set(key, new Set([item]));
  }

  delete(target: LockTarget, item: Item): void {
    const key = keyOf(target);
    const items = this.#sets.get(key);
    items?.delete(item);
    if (items?.size === 0) this.#sets.delete(key);
  }
}

function keyOf({ kind, name }: LockTarget): string {
  return `${kind}:${name}`;
}

/**
 * Returns why a request inside a run context can never be granted, or undefined if it can. It cannot if the permits that
 * stuck contexts do not hold are fewer than the request, or a request in front of it, takes.
 *
 * - `own`: the context itself, or one around it, holds the lock.
 * - `upgrade`: the same, with a read lease where the request is to write.
 * - `behind`: a request in front of it waits for what the context holds: a writer waits for our read lease, or a request for more
 *   permits than are left beside ours.
 * - `cycle`: the holders wait, directly or through others, for locks that the context holds.
 *
 * Only leases of run() count: a lease of acquire() may be released by any code. Leases of other processes are not
 * visible here: nested-wait.ts looks for deadlocks with them while the request waits.
 */
export function findDeadlock(
  core: LockCore,
  request: LockRequest,
  context: RunContext,
): Deadlock | undefined {
  const ours = new Set(context.chain());
  const shared = context.findShared(core, request);
  const leftCount = leftWithout(core, request, (holder) => ours.has(holder));
  if (leftCount < request.permits) {
    return request.kind === 'rw' && shared && shared.request.permits < request.permits
      ? 'upgrade'
      : 'own';
  }
  if (request.kind === 'rw' && shared?.lease.isHeld) return 'behind';
  if (isBehind(core, request, leftCount)) return 'behind';
  const stuck = findStuck(core.runContexts.holding(request), ours);
  return isShort(core, request, (holder) => stuck.has(holder)) ? 'cycle' : undefined;
}

/**
 * The contexts that cannot end before ours do. Starts with ours, the holders, and all contexts that these wait for, at
 * any depth. Then removes each context whose wait would end if all contexts outside of the set released their locks,
 * and repeats that until none is removed. A context that waits for one of several holders stays only if all of them
 * stay.
 */
function findStuck(
  holders: Iterable<RunContext>,
  ours: ReadonlySet<RunContext>,
): ReadonlySet<RunContext> {
  const stuck = new Set([...ours, ...holders]);
  // A Set yields what is added while it is iterated.
  for (const context of stuck) {
    if (ours.has(context)) continue;
    for (const blocker of context.blockers()) stuck.add(blocker);
  }
  let sizeBefore: number;
  do {
    sizeBefore = stuck.size;
    for (const context of stuck) {
      const isStuck = ours.has(context) || context.waitsFor((holder) => stuck.has(holder));
      if (!isStuck) stuck.delete(context);
    }
  } while (stuck.size < sizeBefore);
  return stuck;
}

/** Whether too few permits are left for the request, or for one in front of it, while the stuck holders keep theirs. */
function isShort(
  core: LockCore,
  request: LockRequest,
  isStuck: (holder: RunContext) => boolean,
): boolean {
  const leftCount = leftWithout(core, request, isStuck);
  return leftCount < request.permits || isBehind(core, request, leftCount);
}

/** The slots that stuck holders do not hold. Stops counting when too few are left for the request. */
function leftWithout(
  core: LockCore,
  request: LockRequest,
  isStuck: (holder: RunContext) => boolean,
): number {
  let leftCount = request.slots;
  for (const holder of core.runContexts.holding(request)) {
    if (holder.lease.isHeld && isStuck(holder)) leftCount -= holder.request.permits;
    if (leftCount < request.permits) break;
  }
  return leftCount;
}

function isBehind(core: LockCore, request: LockRequest, leftCount: number): boolean {
  // The queue may be long. If no stuck context holds a permit, every request in it fits.
  if (leftCount === request.slots) return false;
  for (const { permits } of core.runContexts.before(request)) if (permits > leftCount) return true;
  return false;
}
