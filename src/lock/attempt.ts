import type { Timer } from '../clock/index.ts';
import type { LockCore } from './core.ts';
import { Due } from './due-list.ts';
import {
  DeadlockError,
  isFinal,
  LockAbortedError,
  LockError,
  type LockErrorCode,
  LockUnavailableError,
  SlowStoreError,
} from './errors.ts';
import {
  announceAcquire,
  announceFail,
  announceGrant,
  announceWait,
  isObserved,
} from './events.ts';
import type { ResolvedOptions } from './options.ts';
import { MAX_PAUSE_MS, MIN_PAUSE_MS } from './retry.ts';
import { findDeadlock, type Scope } from './scope.ts';
import type { AcquireResult, LockRequest, Waiter, WaiterEvent } from './store.ts';
import { StoreLease, safeMs } from './store-lease.ts';

/**
 * Acquires a lock: asks the store; if the lock is busy, waits to be notified, up to the caller's wait timeout or its
 * signal; asks again if need be. The store keeps the place in its queue, and every request is safe to repeat.
 *
 * A store that grants at once costs no more than the lease. Null: the lock is busy, and the caller does not wait.
 */
export function acquire(
  core: LockCore,
  request: LockRequest,
  options: ResolvedOptions,
  scope: Scope | undefined,
): StoreLease | Promise<StoreLease | null> {
  throwIfOver(core, request.name, options);
  if (isObserved('acquire')) announceAndCheck(core, request, options);
  return new Attempt(core, request, options, scope).start();
}

/** A subscriber of the event may abort the signal, or close the library. */
function announceAndCheck(core: LockCore, request: LockRequest, options: ResolvedOptions): void {
  announceAcquire(request);
  try {
    throwIfOver(core, request.name, options);
  } catch (error) {
    announceFail(request, 'aborted', 0);
    throw error;
  }
}

/**
 * One acquisition, until it is granted or given up.
 *
 * States: requesting ⇄ waiting, then granted or over. Several things can end it, and a reply that arrives after that
 * must not be lost: a grant that the caller does not want any more is released.
 */
export class Attempt extends Due<Attempt> implements Waiter {
  readonly core: LockCore;
  readonly request: LockRequest;
  /** The wait timeout counts from here: from the call, or from when the store was first reached. */
  waitFromMs: number;
  readonly #options: ResolvedOptions;
  readonly #scope: Scope | undefined;
  #state: 'requesting' | 'waiting' | 'granted' | 'over' = 'requesting';
  /** A rejected promise rejects: so each of many waiters keeps one function less. */
  #resolve!: (lease: StoreLease | null | Promise<never>) => void;
  #lease: StoreLease | undefined = undefined;
  #hasQueued = false;
  /** A request is under way. */
  #isPending = false;
  #sentMs = 0;
  #sentWallMs = 0;
  #requestCount = 0;
  /** It was notified while a request was under way. */
  #mustRetry = false;
  /** Why the store has not answered; undefined if it has. */
  #failure: unknown = NOT_YET;
  #pauseMs = MIN_PAUSE_MS;
  #retryTimer: Timer | undefined = undefined;
  #onReply: (() => void) | undefined = undefined;
  /** The fence of a grant whose reply was too late. A message of that grant may come later still. */
  #lateFence = 0;

  constructor(
    core: LockCore,
    request: LockRequest,
    options: ResolvedOptions,
    scope: Scope | undefined,
  ) {
    super();
    this.core = core;
    this.request = request;
    this.#options = options;
    this.#scope = scope;
    this.waitFromMs = core.clock.monotonicMs();
  }

  get waitMs(): number {
    return this.#options.waitMs;
  }

  start(): StoreLease | Promise<StoreLease | null> {
    const result = this.#ask();
    if (!(result instanceof Promise) && result.type === 'granted') {
      this.#state = 'granted';
      announceGrant(this.request, result.fence, 0);
      return this.#begin(result.fence, this.#sentMs, this.#sentWallMs);
    }
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.core.began(this);
      if (this.#options.signal) this.core.aborts.add(this.#options.signal, this);
      this.#receive(result);
    });
  }

  notify(event: WaiterEvent): void {
    if (this.#isOver) {
      if (event.type === 'granted') this.#handleLate({ type: 'granted', fence: event.fence });
      return;
    }
    if (event.type === 'failed') this.#failed(event.error);
    else if (event.type === 'retry' || event.fence <= this.#lateFence) this.#retry();
    else {
      // The event may come before the reply that the lock is busy.
      this.#queued();
      if (!this.#isOver) this.#accept(event);
    }
  }

  timedOut(): void {
    if (this.#failure === undefined) this.#stayedBusy();
    else this.#giveUp(new LockUnavailableError(this.request.name, this.#failure));
  }

  closed(reason: unknown): void {
    this.#giveUp(new LockAbortedError(this.request.name, reason));
  }

  /** The caller's signal aborts. */
  aborted(): void {
    this.#giveUp(new LockAbortedError(this.request.name, this.#options.signal?.reason));
  }

  get #isOver(): boolean {
    return this.#state === 'granted' || this.#state === 'over';
  }

  #ask(): AcquireResult | Promise<AcquireResult> {
    const { clock, store } = this.core;
    this.#state = 'requesting';
    this.#requestCount++;
    this.#mustRetry = false;
    this.#sentMs = clock.monotonicMs();
    this.#sentWallMs = clock.wallMs();
    return store.acquire(this.request, this.waitMs > 0 ? this : undefined);
  }

  #retry(): void {
    this.#retryTimer?.cancel();
    if (this.#isPending) this.#mustRetry = true;
    else this.#receive(this.#ask());
  }

  #receive(result: AcquireResult | Promise<AcquireResult>): void {
    if (!(result instanceof Promise)) {
      this.#handle(result);
      return;
    }
    this.#isPending = true;
    result.then(
      (later) => {
        this.#isPending = false;
        this.#handle(later);
        this.#onReply?.();
      },
      (error: unknown) => {
        this.#isPending = false;
        this.#failed(error);
        this.#onReply?.();
      },
    );
  }

  #handle(result: AcquireResult): void {
    this.#failure = undefined;
    this.#pauseMs = MIN_PAUSE_MS;
    if (this.#isOver) this.#handleLate(result);
    else if (result.type === 'busy') this.#busy(result.retryInMs);
    else {
      const { fence } = result;
      this.#accept({ fence, sentMs: this.#sentMs, sentWallMs: this.#sentWallMs });
    }
  }

  #failed(error: unknown): void {
    this.#failure = error;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
    if (this.#isOver) this.#handleLate();
    else if (error instanceof LockError) this.#giveUp(error);
    else if (isFinal(error) || this.#waitedMs() + pauseMs >= this.waitMs) {
      this.#giveUp(new LockUnavailableError(this.request.name, error));
    } else this.#wait(pauseMs);
  }

  #busy(retryInMs: number): void {
    if (this.waitMs === 0) {
      this.#end('over');
      this.#resolve(null);
      announceFail(this.request, 'busy', this.#waitedMs());
      return;
    }
    this.#queued();
    if (this.#isOver) return;
    const deadlock = this.#scope && findDeadlock(this.core, this.request, this.#scope);
    // The search can end leases, and so abort the signal.
    if (this.#isOver) return;
    // The waiter in front may have given up, and be about to leave: a second request comes after that.
    const isFirst = this.#requestCount === 1;
    if ((deadlock === 'behind' && isFirst) || (!deadlock && this.#mustRetry)) this.#retry();
    else if (deadlock) this.#giveUp(new DeadlockError(this.request.name, deadlock));
    else {
      this.core.scopes.enqueue(this.request);
      this.#wait(retryInMs);
    }
  }

  /** A subscriber of the event may abort the signal. */
  #queued(): void {
    if (this.#hasQueued) return;
    this.#hasQueued = true;
    // A young lease that an old promise is resolved with would survive many collections.
    this.#lease = new StoreLease(this.core, this.request, this.#options);
    announceWait(this.request);
  }

  /** After a failure it is not known whether the request is in the queue. */
  #wait(durationMs: number): void {
    this.#state = 'waiting';
    this.#scope?.startWaiting(this);
    this.#retryTimer?.cancel();
    if (!Number.isFinite(durationMs)) return;
    this.#retryTimer = this.core.clock.setTimer(durationMs, () => this.#retry());
    // A program that waits for a lock stays alive.
    this.#retryTimer.keepAlive(true);
  }

  #accept(grant: Grant): void {
    const waitedMs = this.#waitedMs();
    const isInTime = this.waitMs === 0 || waitedMs <= this.waitMs;
    const tookMs = this.#spentMs(grant);
    if (isInTime && tookMs < safeMs(this.request.leaseMs)) this.#granted(grant, waitedMs);
    else if (!isInTime) this.#stayedBusy();
    else if (grant.isReserved) this.#retry();
    else this.#tooSlow(tookMs, grant.fence);
  }

  #granted({ fence, sentMs, sentWallMs, isReserved = false }: Grant, waitedMs: number): void {
    const lease = this.#begin(fence, sentMs, sentWallMs, isReserved);
    // The confirmation is sent before the caller goes on, who may block the event loop.
    if (isReserved) lease.renew();
    this.#end('granted');
    // Before the caller goes on, and after the event of the release that made room, which is of the same turn.
    if (isObserved('grant')) READY.then(() => announceGrant(this.request, fence, waitedMs));
    this.#resolve(lease);
  }

  #begin(fence: number, sentMs: number, sentWallMs: number, isReserved = false): StoreLease {
    this.#lease ??= new StoreLease(this.core, this.request, this.#options);
    const grantedMs = isReserved ? this.core.clock.monotonicMs() : sentMs;
    this.#lease.begin(fence, sentMs, sentWallMs, grantedMs);
    return this.#lease;
  }

  /** The reply took so long that the lease may have ended. */
  #tooSlow(tookMs: number, fence: number): void {
    this.#lateFence = fence;
    this.#failure = new SlowStoreError(tookMs, this.request.leaseMs);
    if (this.waitMs > 0) this.#retry();
    else this.#giveUp(new LockUnavailableError(this.request.name, this.#failure));
  }

  #spentMs({ sentMs, sentWallMs }: Grant): number {
    const { clock } = this.core;
    return Math.max(clock.monotonicMs() - sentMs, clock.wallMs() - sentWallMs);
  }

  /** The place in the queue is read before the request leaves it. */
  #stayedBusy(): void {
    if (this.#isOver) return;
    const error = this.core.timeoutError(this.request, this.#waitedMs());
    this.#leave(
      'timeout',
      error.then((timeout) => Promise.reject(timeout)),
    );
  }

  #giveUp(error: LockError): void {
    if (!this.#isOver) this.#leave(error.code, Promise.reject(error));
  }

  #leave(code: LockErrorCode, rejected: Promise<never>): void {
    this.#end('over');
    this.#resolve(rejected);
    announceFail(this.request, code, this.#waitedMs());
    // A pending request can still be granted: it is released when the reply has come.
    if (this.#isPending) this.core.track(new Promise<void>((done) => (this.#onReply = done)));
    else this.core.giveBack(this.request);
  }

  /**
   * A reply that came after the end. While the lease is held, it says nothing new; a failure may mean that the lock was
   * released, so that the lease is checked. After that, the request may have been granted once more, or be in the
   * queue. A lease that was given away is another's: it is left alone, unless the reply is of a later grant.
   */
  #handleLate(result?: AcquireResult): void {
    const lease = this.#state === 'granted' ? this.#lease! : undefined;
    if (lease?.isHeld) {
      if (result === undefined) lease.renew();
      return;
    }
    const isLater = result?.type === 'granted' && result.fence !== lease?.fence;
    if (!lease?.isGivenAway || isLater) this.core.giveBack(this.request);
  }

  #end(state: 'granted' | 'over'): void {
    this.#state = state;
    this.#retryTimer?.cancel();
    this.#scope?.stopWaiting(this);
    this.core.scopes.leave(this.request);
    this.drop();
    if (this.#options.signal) this.core.aborts.remove(this.#options.signal, this);
  }

  #waitedMs(): number {
    return this.core.clock.monotonicMs() - this.waitFromMs;
  }
}

interface Grant {
  readonly fence: number;
  readonly sentMs: number;
  readonly sentWallMs: number;
  readonly isReserved?: boolean;
}

const READY = Promise.resolve();
const NOT_YET = new Error('no answer yet');

export function throwIfOver(
  { closed }: LockCore,
  name: string,
  { signal }: Pick<ResolvedOptions, 'signal'>,
): void {
  if (signal?.aborted) throw new LockAbortedError(name, signal.reason);
  if (closed !== undefined) throw new LockAbortedError(name, closed.reason);
}
