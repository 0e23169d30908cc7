import { inspect } from 'node:util';
import type { Timer } from '../clock/index.ts';
import type { LockCore } from './core.ts';
import type { Duration } from './duration.ts';
import {
  LockAbortedError,
  LockError,
  LockLostError,
  LockUnavailableError,
  type LossReason,
  NotHeldError,
  withCallerFrames,
} from './errors.ts';
import { announce, requestEvent } from './events.ts';
import {
  checkFence,
  type Lease,
  type ReleaseOutcome,
  type ShownLease,
  shownLease,
} from './lease.ts';
import { loseSignal } from './lose-signal.ts';
import { leaseMsOf } from './options.ts';
import { release } from './release.ts';
import type { LockRequest } from './store.ts';
import { Scheduled } from './timer-queue.ts';
import { transferText } from './transfer.ts';

/** The margin for clocks that run at different speeds: a part of the lease, and a constant. */
const DRIFT = 0.01;
const DRIFT_MS = 2;
/** Less than this is a rounding error: the time is over. */
const TINY_MS = 0.001;
/** The pause after a renewal that failed, as a part of the lease. */
const RETRY_PART = 1 / 20;

/**
 * A lease of one lock in a store.
 *
 * States: held → released, transferred or lost. After that, a late reply to a renewal or a second release changes
 * nothing.
 */
export class StoreLease extends Scheduled<StoreLease> implements Lease {
  /** Sent by renewals. Its lease may be longer than the one that the store has confirmed: see extend(). */
  request: LockRequest;
  /** The request that was granted. With a longer lease, a release would not find it in the queue. */
  readonly #granted: LockRequest;
  /** The fence of the grant. 0: the store has no fences. */
  grantFence = 0;
  #isSettled = false;
  /**
   * The request that gives the lease its end: the times of both clocks just before it was sent, and the lease that it
   * had. Requests never shorten a lease, so this is the one with the latest end of all that the store has confirmed.
   */
  sentMs = 0;
  #sentWallMs = 0;
  confirmedMs = 0;
  /** The lease of the requests of the worker. */
  #workerLeaseMs = 0;
  readonly #core: LockCore;
  #options: HoldOptions;
  #grantedMs = 0;
  /** Why it was transferred, lost or aborted. Undefined: it is held, or was released. */
  #end: LockError | undefined = undefined;
  #released: Promise<ReleaseOutcome> | undefined = undefined;
  #controller: AbortController | undefined = undefined;
  #contended: AbortController | undefined = undefined;
  #retryTimer: Timer | undefined = undefined;
  #maxHoldTimer: Timer | undefined = undefined;

  constructor(core: LockCore, request: LockRequest, options: HoldOptions) {
    super();
    this.#core = core;
    this.request = request;
    this.#granted = request;
    this.#options = options;
  }

  /**
   * Starts the lease: it was granted by a request that was sent at these times. `heldMs` and `keepFor` count from
   * `grantedMs`.
   */
  begin(fence: number, sentMs: number, sentWallMs: number, grantedMs = sentMs): void {
    this.grantFence = fence;
    this.#grantedMs = grantedMs;
    this.sentMs = sentMs;
    this.#sentWallMs = sentWallMs;
    this.confirmedMs = this.request.leaseMs;
    this.#workerLeaseMs = this.request.leaseMs;
    this.#core.watchdog.add(this);
    const { maxHoldMs } = this.#options;
    if (maxHoldMs !== Number.POSITIVE_INFINITY) this.#limitHold(maxHoldMs);
  }

  /** Replaces the options; `maxHold` and `keepFor` count from now. */
  setOptions(options: HoldOptions): void {
    const { watchdog, clock } = this.#core;
    this.#options = options;
    this.#grantedMs = clock.monotonicMs();
    if (!options.renews) {
      watchdog.drop(this);
      watchdog.add(this);
    }
    if (options.maxHoldMs !== Number.POSITIVE_INFINITY) this.#limitHold(options.maxHoldMs);
  }

  get renews(): boolean {
    return this.#options.renews;
  }

  get name(): string {
    return this.request.name;
  }

  get fence(): number {
    return checkFence(this.name, this.grantFence);
  }

  /** How long the holder may use the lease, from `sentMs` on. */
  get safeMs(): number {
    return safeMs(this.confirmedMs);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = loseSignal(() => this.#checkDeadline());
      if (this.#end !== undefined) this.#controller.abort(this.#end);
    }
    // After the event loop was blocked, the loss is reported here before the timers run.
    this.#checkDeadline();
    return this.#controller.signal;
  }

  get contended(): AbortSignal {
    if (this.#contended === undefined) {
      const controller = new AbortController();
      this.#contended = controller;
      if (this.isHeld) this.#core.store.watch?.(this.request, () => controller.abort());
    }
    return this.#contended.signal;
  }

  get expiresInMs(): number {
    return this.isHeld ? this.#leftMs() : 0;
  }

  get isHeld(): boolean {
    this.#checkDeadline();
    return this.#isOpen;
  }

  /** Whether transfer() was called. */
  get isTransferred(): boolean {
    return this.#end instanceof NotHeldError;
  }

  get #isOpen(): boolean {
    return this.#end === undefined && this.#released === undefined;
  }

  assertHeld(): void {
    if (!this.isHeld) throw withCallerFrames(this.#end ?? new NotHeldError(this.name));
  }

  async extend(lease?: Duration): Promise<void> {
    if (lease !== undefined) this.#lengthen(leaseMsOf(this.name, lease));
    for (;;) {
      this.assertHeld();
      try {
        await this.#extendOnce();
        return;
      } catch (error) {
        const pauseMs = this.request.leaseMs * RETRY_PART;
        const isFinal = error instanceof LockError || this.#leftMs() <= pauseMs;
        if (isFinal)
          throw error instanceof LockError ? error : new LockUnavailableError(this.name, error);
        await this.#core.keepAlive(this.#core.pause(pauseMs));
      }
    }
  }

  /** All later requests have the longer lease. It counts for the holder once the store has confirmed one of them. */
  #lengthen(leaseMs: number): void {
    if (leaseMs > this.request.leaseMs) this.request = { ...this.request, leaseMs };
  }

  async #extendOnce(): Promise<void> {
    const { clock, store, watchdog } = this.#core;
    const sent = { ms: clock.monotonicMs(), wallMs: clock.wallMs(), leaseMs: this.request.leaseMs };
    const isOurs = await store.extend(this.request);
    if (!isOurs) this.#lose('stolen');
    this.assertHeld();
    if (this.#extended(sent)) watchdog.add(this);
  }

  release(): Promise<ReleaseOutcome> {
    this.#released ??= this.#release();
    return this.#released;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  transfer(): string {
    this.assertHeld();
    announce('transfer', () => ({ ...this.#event(), heldMs: this.#heldMs() }));
    // Otherwise the end of this process, and of its session, would release the lock.
    this.#core.detach(this.request);
    this.#finish(new NotHeldError(this.name));
    return transferText([this.request]);
  }

  toJSON(): ShownLease {
    return shownLease(this, this.grantFence);
  }

  [inspect.custom](): ShownLease {
    return shownLease(this, this.grantFence);
  }

  /** Called by the watchdog when a third of the lease has passed. */
  renew(): void {
    if (!this.isHeld) return;
    const { clock, store, watchdog } = this.#core;
    const sent = { ms: clock.monotonicMs(), wallMs: clock.wallMs(), leaseMs: this.request.leaseMs };
    // The reply may be late or lost.
    watchdog.watchDeadline(this);
    Promise.resolve(store.extend(this.request)).then(
      (isOurs) => (isOurs ? this.#renewed(sent) : this.#lose('stolen')),
      (error: unknown) => this.#retry(error),
    );
  }

  /** Called by the watchdog when the lease may have ended. */
  checkDeadline(): void {
    this.#checkDeadline();
  }

  /** The worker renewed the lease, by a request that was sent at these times. */
  renewedByWorker(sentMs: number, sentWallMs: number): void {
    const sent = { ms: sentMs, wallMs: sentWallMs, leaseMs: this.#workerLeaseMs };
    if (this.#moveEnd(sent)) announce('renew', () => this.#event());
  }

  /** The worker or the store reports that this lease was stolen. */
  markStolen(reason?: Error): void {
    this.#lose('stolen', reason);
  }

  /** The session has ended. The store releases all that is recorded with it, places in queues too. */
  sessionEnded(reason: Error): void {
    this.#lose('stolen', reason, true);
  }

  /** The library is closing: the holder must stop. */
  abandon(reason: unknown): void {
    if (this.#isOpen) this.#finish(new LockAbortedError(this.name, reason, 'holding'));
  }

  #renewed(sent: SentRequest): void {
    if (!this.isHeld) return;
    this.#extended(sent);
    announce('renew', () => this.#event());
    this.#core.watchdog.add(this);
  }

  /** Retries a renewal that failed, until the lease has ended by the holder's clock. */
  #retry(error: unknown): void {
    if (!this.isHeld) return;
    const pauseMs = Math.min(this.request.leaseMs * RETRY_PART, this.#leftMs());
    this.#retryTimer = this.#core.clock.setTimer(pauseMs, () => {
      if (this.#leftMs() <= 0) this.#lose('unreachable', error);
      else this.renew();
    });
  }

  /** Returns whether the lease ends later than before. */
  #extended(sent: SentRequest): boolean {
    const isMoved = this.#moveEnd(sent);
    if (isMoved && !this.renews) this.#core.watchdog.watchDeadline(this);
    return isMoved;
  }

  /** A reply may arrive out of order, after that of a request with a later end. */
  #moveEnd({ ms, wallMs, leaseMs }: SentRequest): boolean {
    if (ms + leaseMs <= this.sentMs + this.confirmedMs) return false;
    this.sentMs = ms;
    this.#sentWallMs = wallMs;
    this.confirmedMs = leaseMs;
    return true;
  }

  /** The time left by the clock that has advanced more: the monotonic one stops while the machine sleeps. */
  #leftMs(nowMs = this.#core.clock.monotonicMs()): number {
    const { clock, watchdog } = this.#core;
    watchdog.syncWithWorker(this);
    const spentMs = Math.max(nowMs - this.sentMs, clock.wallMs() - this.#sentWallMs);
    return this.safeMs - spentMs;
  }

  #checkDeadline(nowMs?: number): void {
    if (this.#isOpen && this.#leftMs(nowMs) < TINY_MS)
      this.#lose(this.renews ? 'unreachable' : 'expired');
  }

  #limitHold(maxHoldMs: number): void {
    const { clock, watchdog } = this.#core;
    watchdog.limit(this, clock.monotonicMs() + maxHoldMs);
    this.#maxHoldTimer = clock.setTimer(maxHoldMs, () => {
      if (!this.isHeld) return;
      this.#lose('expired');
      this.#core.releaseUnused(this.request);
    });
  }

  #lose(reason: LossReason, cause?: unknown, isReleased = false): void {
    if (!this.#isOpen) return;
    const end = new LockLostError(this.name, reason, cause);
    // Set before the event is announced: a subscriber may use the lease.
    this.#end = end;
    if (reason !== 'stolen') this.#core.releaseRecorded(this.request);
    // A repeated request may have entered the queue after the theft.
    else if (!isReleased) this.#core.releaseUnused(this.#granted);
    announce('lose', () => ({ ...this.#event(), reason, heldMs: this.#heldMs() }));
    this.#finish(end);
  }

  #finish(end: LockError): void {
    this.#end = end;
    this.#settle();
    this.#controller?.abort(end);
  }

  #release(): Promise<ReleaseOutcome> {
    this.#checkDeadline();
    if (this.isTransferred) return OUTCOMES['not-held'];
    if (this.#end instanceof LockLostError && this.#end.reason === 'stolen')
      return OUTCOMES['not-held'];
    const { store } = this.#core;
    const { request, grantFence: fence } = this;
    if (this.#end === undefined && this.#keptMs > 0) return this.#keep();
    const outcome = release(this.#core, () => store.release(request, fence), request.leaseMs);
    this.#settle();
    return typeof outcome === 'string'
      ? OUTCOMES[this.#outcomeOf(outcome)]
      : outcome.then((later) => this.#outcomeOf(later));
  }

  /**
   * Leaves the lock taken for the rest of `keepFor`, also when this process ends. A late try may find nothing left of
   * it.
   */
  async #keep(): Promise<ReleaseOutcome> {
    const { store } = this.#core;
    const { request, grantFence: fence } = this;
    let isKept = false;
    const keepOrRelease = (): boolean | Promise<boolean> => {
      const leaseMs = this.#keptMs;
      isKept = leaseMs > 0;
      return isKept ? store.keep({ ...request, leaseMs }) : store.release(request, fence);
    };
    const ended = release(this.#core, keepOrRelease, request.leaseMs);
    this.#settle();
    const outcome = await ended;
    return this.#outcomeOf(outcome === 'released' && isKept ? 'kept' : outcome);
  }

  /** What is left of `keepFor`. */
  get #keptMs(): number {
    return this.#options.keepForMs - this.#heldMs();
  }

  /** A lease that was lost before its release is `not-held`, also if the store released it. */
  #outcomeOf(outcome: ReleaseOutcome): ReleaseOutcome {
    if (this.#end instanceof LockLostError) {
      const isKnown = outcome === 'released' || this.#end.reason === 'stolen';
      return isKnown ? 'not-held' : outcome;
    }
    this.#announceRelease(outcome);
    return outcome;
  }

  #announceRelease(outcome: ReleaseOutcome): void {
    announce('release', () => ({ ...this.#event(), outcome, heldMs: this.#heldMs() }));
  }

  #settle(): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#core.watchdog.drop(this);
    this.#retryTimer?.cancel();
    this.#maxHoldTimer?.cancel();
    if (this.#contended !== undefined) this.#core.store.unwatch?.(this.request);
  }

  #heldMs(): number {
    return this.#core.clock.monotonicMs() - this.#grantedMs;
  }

  #event(): { lock: string; kind: LockRequest['kind']; owner: string; fence: number } {
    return { ...requestEvent(this.request), fence: this.grantFence };
  }
}

/** Resolved promises for stores that reply synchronously, so that a lease allocates none. */
const OUTCOMES: Record<ReleaseOutcome, Promise<ReleaseOutcome>> = {
  released: Promise.resolve('released'),
  kept: Promise.resolve('kept'),
  'not-held': Promise.resolve('not-held'),
  unknown: Promise.resolve('unknown'),
};

/** The times of both clocks just before a request was sent, and the lease that it asked for. */
interface SentRequest {
  readonly ms: number;
  readonly wallMs: number;
  readonly leaseMs: number;
}

export interface HoldOptions {
  readonly renews: boolean;
  readonly maxHoldMs: number;
  readonly keepForMs: number;
}

/** How long the holder may use a lease: its duration less the margin for drift. */
export function safeMs(leaseMs: number): number {
  return leaseMs * (1 - DRIFT) - DRIFT_MS;
}
