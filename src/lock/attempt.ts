import type { Timer } from '../clock/index.ts';
import type { LockCore } from './core.ts';
import {
  DeadlockError,
  isFinal,
  LockAbortedError,
  LockError,
  type LockErrorCode,
  LockUnavailableError,
  rejectWithFrames,
  SlowStoreError,
} from './errors.ts';
import {
  announceAcquire,
  announceFail,
  announceGrant,
  announceWait,
  isObserved,
} from './events.ts';
import { type NestedWait, nestedWait } from './nested-wait.ts';
import type { ResolvedOptions } from './options.ts';
import { MAX_PAUSE_MS, MIN_PAUSE_MS } from './retry.ts';
import { findDeadlock, type RunContext } from './run-context.ts';
import type { AcquireResult, LockRequest, Waiter, WaiterEvent } from './store.ts';
import { StoreLease, safeMs } from './store-lease.ts';
import { Scheduled } from './timer-queue.ts';

/**
 * Acquires a lock: sends a request to the store; if the lock is busy, waits to be notified, up to the caller's wait
 * timeout or signal, and repeats the request when the store says so. The store keeps the place in its queue, and every
 * request is idempotent.
 *
 * Returns the lease without a promise if the store grants it synchronously. Null: the lock is busy, and the caller does
 * not wait.
 */
export function acquire(
  core: LockCore,
  request: LockRequest,
  options: ResolvedOptions,
  context: RunContext | undefined,
): StoreLease | Promise<StoreLease | null> {
  throwIfAborted(core, request.name, options);
  if (isObserved('acquire')) announceAndCheck(core, request, options);
  return new Attempt(core, request, options, context).start();
}

/** Checks again after the event: a subscriber may abort the signal or close the library. */
function announceAndCheck(core: LockCore, request: LockRequest, options: ResolvedOptions): void {
  announceAcquire(request);
  try {
    throwIfAborted(core, request.name, options);
  } catch (error) {
    announceFail(request, 'aborted', 0);
    throw error;
  }
}

/**
 * One acquisition, until it is granted or has failed.
 *
 * States: requesting ⇄ waiting, then granted or over. A timeout, a signal, close() or an error can end it while a request
 * is under way. If that request is then granted, the lock is released.
 */
export class Attempt extends Scheduled<Attempt> implements Waiter {
  readonly core: LockCore;
  readonly request: LockRequest;
  /** Start of the wait timeout: the call, or the first connection to the store if that is later. */
  waitFromMs: number;
  readonly #options: ResolvedOptions;
  readonly #context: RunContext | undefined;
  #state: 'requesting' | 'waiting' | 'granted' | 'over' = 'requesting';
  /** Also rejects, if it is passed a rejected promise: one function less for each of many waiters. */
  #resolve!: (lease: StoreLease | null | Promise<never>) => void;
  #lease: StoreLease | undefined = undefined;
  #hasQueued = false;
  /** A request is under way. */
  #isPending = false;
  #sentMs = 0;
  #sentWallMs = 0;
  #requestCount = 0;
  /** The store notified this attempt while a request was under way: send another after its reply. */
  #mustRetry = false;
  /** Why the last request has no reply. Undefined: it has one. */
  #failure: unknown = NO_REPLY_YET;
  #pauseMs = MIN_PAUSE_MS;
  #retryTimer: Timer | undefined = undefined;
  #nested: NestedWait | undefined = undefined;
  #onReply: (() => void) | undefined = undefined;
  /** The fence of a grant that arrived too late. A later message about the same grant does not count as a grant. */
  #lateFence = 0;

  constructor(
    core: LockCore,
    request: LockRequest,
    options: ResolvedOptions,
    context: RunContext | undefined,
  ) {
    super();
    this.core = core;
    this.request = request;
    this.#options = options;
    this.#context = context;
    this.waitFromMs = core.clock.monotonicMs();
  }

  get waitMs(): number {
    return this.#options.waitMs;
  }

  start(): StoreLease | Promise<StoreLease | null> {
    const result = this.#send();
    if (!(result instanceof Promise) && result.type === 'granted') {
      this.#state = 'granted';
      announceGrant(this.request, result.fence, 0);
      return this.#begin(result.fence, this.#sentMs, this.#sentWallMs);
    }
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.core.addAttempt(this);
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
    else if (event.type === 'check') this.#nested?.check();
    else if (event.type === 'retry' || event.fence <= this.#lateFence) this.#retry();
    else {
      // The event may arrive before the reply that the lock is busy.
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

  /** Called when the caller's signal aborts. */
  aborted(): void {
    this.#giveUp(new LockAbortedError(this.request.name, this.#options.signal?.reason));
  }

  get #isOver(): boolean {
    return this.#state === 'granted' || this.#state === 'over';
  }

  #send(): AcquireResult | Promise<AcquireResult> {
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
    else this.#receive(this.#send());
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
    const deadlock = this.#context && findDeadlock(this.core, this.request, this.#context);
    // findDeadlock() checks the deadlines of leases: one that has ended aborts its signal, which may be the caller's.
    if (this.#isOver) return;
    // The request in front may have timed out just now, with its release still to be sent. Check again after a second
    // request, which the store receives after that release.
    const isFirst = this.#requestCount === 1;
    if ((deadlock === 'behind' && isFirst) || (!deadlock && this.#mustRetry)) this.#retry();
    else if (deadlock) this.#giveUp(new DeadlockError(this.request.name, deadlock));
    else {
      this.core.runContexts.enqueue(this.request);
      this.#wait(retryInMs);
      this.#nested ??= nestedWait(this.core, this.request, this.#context, (cycle) =>
        this.#giveUp(new DeadlockError(this.request.name, cycle)),
      );
    }
  }

  /** Announces the wait. A subscriber of that event may abort the signal. */
  #queued(): void {
    if (this.#hasQueued) return;
    this.#hasQueued = true;
    // Allocate the lease while waiting, so that the collector does not promote it.
    this.#lease = new StoreLease(this.core, this.request, this.#options);
    announceWait(this.request);
  }

  /** Waits for a notification, and sends the request again after this time. Infinity: only when notified. */
  #wait(durationMs: number): void {
    this.#state = 'waiting';
    this.#context?.startWaiting(this);
    this.#retryTimer?.cancel();
    if (!Number.isFinite(durationMs)) return;
    this.#retryTimer = this.core.clock.setTimer(durationMs, () => this.#retry());
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
    // Confirm the reservation before the caller continues: it may block the event loop.
    if (isReserved) lease.renew();
    this.#end('granted');
    // Announced in a microtask: after the `release` event of the former holder, and before the caller continues.
    if (isObserved('grant')) READY.then(() => announceGrant(this.request, fence, waitedMs));
    this.#resolve(lease);
  }

  #begin(fence: number, sentMs: number, sentWallMs: number, isReserved = false): StoreLease {
    this.#lease ??= new StoreLease(this.core, this.request, this.#options);
    const grantedMs = isReserved ? this.core.clock.monotonicMs() : sentMs;
    this.#lease.begin(fence, sentMs, sentWallMs, grantedMs);
    return this.#lease;
  }

  /** The reply took so long that the lease may have ended: sends the request again, which extends the lease. */
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

  /** Fails with the holders and the place in the queue: both are requested before the request leaves the queue. */
  #stayedBusy(): void {
    if (this.#isOver) return;
    this.#leave('timeout', this.core.timeoutError(this.request, this.#waitedMs()));
  }

  #giveUp(error: LockError): void {
    if (!this.#isOver) this.#leave(error.code, error);
  }

  #leave(code: LockErrorCode, error: LockError | Promise<LockError>): void {
    this.#end('over');
    this.#resolve(rejectWithFrames(error));
    announceFail(this.request, code, this.#waitedMs());
    if (this.#isPending) {
      // The request may still be granted: #handleLate releases it when its reply arrives.
      const replied = new Promise<void>((done) => {
        this.#onReply = done;
      });
      this.core.track(replied, this.request.name);
    } else {
      // In a microtask: all attempts that time out in this turn read their places in the queue before one leaves it.
      READY.then(() => this.core.releaseUnused(this.request));
    }
  }

  /**
   * Handles a reply, or the failure of a request (undefined), after this attempt has ended. While the lease is held,
   * a reply changes nothing. After a failure, or if a repeated request found the lock busy, the lease is renewed, which
   * finds out whether the store still has it. Otherwise the request may have been granted again, or be in the queue, and
   * is released. Exception: a lease that was transferred belongs to another process, unless the reply is of a later
   * grant.
   */
  #handleLate(result?: AcquireResult): void {
    const lease = this.#state === 'granted' ? this.#lease! : undefined;
    if (lease?.isHeld) {
      const isRepeated = this.#requestCount > 1;
      if (result === undefined || (result.type === 'busy' && isRepeated)) lease.renew();
      return;
    }
    const isLater = result?.type === 'granted' && result.fence !== lease?.grantFence;
    if (!lease?.isTransferred || isLater) this.core.releaseUnused(this.request);
  }

  #end(state: 'granted' | 'over'): void {
    this.#state = state;
    this.#retryTimer?.cancel();
    this.#nested?.end();
    this.#context?.stopWaiting(this);
    this.core.runContexts.leave(this.request);
    this.unschedule();
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
const NO_REPLY_YET = new Error('no answer yet');

/** Throws if the signal has aborted or the library is closed. */
export function throwIfAborted(
  { closed }: LockCore,
  name: string,
  { signal }: Pick<ResolvedOptions, 'signal'>,
): void {
  if (signal?.aborted) throw new LockAbortedError(name, signal.reason);
  if (closed !== undefined) throw new LockAbortedError(name, closed.reason);
}
