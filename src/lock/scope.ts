import { AsyncLocalStorage } from 'node:async_hooks';
import type { Attempt } from './attempt.ts';
import type { LockCore } from './core.ts';
import type { Deadlock } from './errors.ts';
import type { Lease } from './lease.ts';
import type { LockRequest, LockTarget } from './store.ts';
import { runInHoldSpan } from './telemetry.ts';

const current = new AsyncLocalStorage<Scope | undefined>();

/** The innermost body of a run() that the caller is part of. */
export function currentScope(): Scope | undefined {
  return current.getStore();
}

/** Runs what belongs to this body, or to none, wherever it is started. */
export function inScope<Result>(scope: Scope | undefined, act: () => Result): Result {
  return current.run(scope, act);
}

/**
 * The body of a run(): a lease, and everything that was started inside of it, found again by the
 * asynchronous context. A body is taken to wait while something inside of it waits.
 */
export class Scope {
  readonly core: LockCore;
  /** What it holds in the core's store. */
  readonly request: LockRequest;
  /** The lock that asking again, reentrantly, shares; for a shared lease that of the lease it shares. */
  readonly shared: SharedLock;
  readonly lease: Lease;
  readonly parent: Scope | undefined;
  /** Who waits inside of it, at any depth. */
  readonly #waiting = new Set<Attempt>();
  #turns: LockCore | undefined;

  constructor(
    core: LockCore,
    request: LockRequest,
    shared: SharedLock,
    lease: Lease,
    parent = currentScope(),
  ) {
    this.core = core;
    this.request = request;
    this.shared = shared;
    this.lease = lease;
    this.parent = parent;
  }

  async run<Result>(body: () => Promise<Result> | Result): Promise<Result> {
    this.core.scopes.add(this);
    try {
      return await current.run(this, runInHoldSpan, this.request, body);
    } finally {
      this.core.scopes.delete(this);
      await this.#turns?.close(new Error('the body that shared its lease has ended'));
    }
  }

  /** Where those who share the lease take turns: in a store of their own. */
  get turns(): LockCore {
    this.#turns ??= this.core.inMemory();
    return this.#turns;
  }

  /** Who holds, in a body, what something inside of it waits for. */
  *waitedFor(): Iterable<Scope> {
    for (const { core, request } of this.#waiting) yield* core.scopes.holding(request);
  }

  /** Whether something inside of it waits for a lock that those holders keep from it. */
  waitsFor(isStuck: (holder: Scope) => boolean): boolean {
    for (const { core, request } of this.#waiting) if (isShort(core, request, isStuck)) return true;
    return false;
  }

  startWaiting(attempt: Attempt): void {
    for (const scope of this.chain()) scope.#waiting.add(attempt);
  }

  stopWaiting(attempt: Attempt): void {
    for (const scope of this.chain()) scope.#waiting.delete(attempt);
  }

  /** This body and those around it, from the inside out. */
  *chain(): Iterable<Scope> {
    for (let scope: Scope | undefined = this; scope; scope = scope.parent) yield scope;
  }

  /** The innermost body around the caller, or here, that holds the lock. */
  findShared(core: LockCore, target: LockTarget): Scope | undefined {
    for (const scope of this.chain()) {
      const { shared } = scope;
      if (shared.core === core && shared.kind === target.kind && shared.name === target.name) {
        return scope;
      }
    }
    return undefined;
  }
}

export interface SharedLock extends LockTarget {
  readonly core: LockCore;
  readonly permits: number;
}

/** The bodies that hold locks of one store, and who stands in line for those that many can hold. */
export class Scopes {
  readonly #bodies = new SetsByLock<Scope>();
  readonly #lines = new SetsByLock<LockRequest>();

  holding(target: LockTarget): Iterable<Scope> {
    return this.#bodies.of(target);
  }

  add(scope: Scope): void {
    this.#bodies.add(scope.request, scope);
  }

  delete(scope: Scope): void {
    this.#bodies.delete(scope.request, scope);
  }

  /** Requests in front of one for a mutex want as much. */
  enqueue(request: LockRequest): void {
    if (request.kind !== 'mutex') this.#lines.add(request, request);
  }

  leave(request: LockRequest): void {
    if (request.kind !== 'mutex') this.#lines.delete(request, request);
  }

  /** Those of this process who go before a request, which may not stand in line yet. */
  *before(request: LockRequest): Iterable<LockRequest> {
    for (const other of this.#lines.of(request)) {
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
 * Whether a request that is made inside of a scope can never be granted, because what is left of the lock
 * without those who wait for us is less than what is asked for. `own`: it is enough that we ourselves
 * hold it; `behind`: who goes before us waits for us, as a writer does if we read, or who takes more permits
 * than are left beside ours; `cycle`: others hold it, who wait for what we hold, at once or through others.
 *
 * Only bodies of run() count: that a lease which acquire() gave will be released by the one who waits
 * cannot be known. What other processes hold is not seen either; their waits end in time-outs.
 */
export function findDeadlock(
  core: LockCore,
  request: LockRequest,
  scope: Scope,
): Deadlock | undefined {
  const ours = new Set(scope.chain());
  const shared = scope.findShared(core, request);
  const leftCount = leftWithout(core, request, (holder) => ours.has(holder));
  if (leftCount < request.permits) {
    return request.kind === 'rw' && shared && shared.request.permits < request.permits
      ? 'upgrade'
      : 'own';
  }
  if (request.kind === 'rw' && shared?.lease.isHeld) return 'behind';
  if (isBehind(core, request, leftCount)) return 'behind';
  const stuck = findStuck(core.scopes.holding(request), ours);
  return isShort(core, request, (holder) => stuck.has(holder)) ? 'cycle' : undefined;
}

/**
 * Who can never go on while ours do not: of all that these holders wait for, at any depth, what is left when
 * those are taken out, again and again, whose waits would end if all but the others let go. A body that waits
 * for one of several holders is stuck only if they all are, which may be since it is.
 */
function findStuck(holders: Iterable<Scope>, ours: ReadonlySet<Scope>): ReadonlySet<Scope> {
  const stuck = new Set([...ours, ...holders]);
  for (const scope of stuck) {
    if (ours.has(scope)) continue;
    for (const other of scope.waitedFor()) stuck.add(other);
  }
  let sizeBefore: number;
  do {
    sizeBefore = stuck.size;
    for (const scope of stuck) {
      const isStuck = ours.has(scope) || scope.waitsFor((holder) => stuck.has(holder));
      if (!isStuck) stuck.delete(scope);
    }
  } while (stuck.size < sizeBefore);
  return stuck;
}

/** Whether too little is left for the request, or for who goes before it, if those holders never let go. */
function isShort(
  core: LockCore,
  request: LockRequest,
  isStuck: (holder: Scope) => boolean,
): boolean {
  const leftCount = leftWithout(core, request, isStuck);
  return leftCount < request.permits || isBehind(core, request, leftCount);
}

function leftWithout(
  core: LockCore,
  request: LockRequest,
  isStuck: (holder: Scope) => boolean,
): number {
  let leftCount = request.slots;
  for (const holder of core.scopes.holding(request)) {
    if (holder.lease.isHeld && isStuck(holder)) leftCount -= holder.request.permits;
    if (leftCount < request.permits) break;
  }
  return leftCount;
}

function isBehind(core: LockCore, request: LockRequest, leftCount: number): boolean {
  // The line may be long, and is looked through only by who would keep others waiting.
  if (leftCount === request.slots) return false;
  for (const { permits } of core.scopes.before(request)) if (permits > leftCount) return true;
  return false;
}
