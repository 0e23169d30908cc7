import type { Timer } from '../clock/index.ts';
import type { LockCore } from './core.ts';
import { LockLostError, type LossReason, NotHeldError } from './errors.ts';
import { announce } from './events.ts';
import type { Claim } from './store.ts';
import type { Renewal } from './watchdog.ts';

/** What became of a release: `unknown` when the store did not answer; the lease then ends by itself. */
export type ReleaseOutcome = 'released' | 'notHeld' | 'unknown';

/** How much of a lease is kept back for clocks that run at different speeds. */
const DRIFT = 0.01;
const DRIFT_MS = 2;

/**
 * A lock that is held. The holder's own clock decides when it must stop: the deadline is counted from
 * before the request left, less a margin for drift, so it comes before the store can give the lock to
 * another. It is told through `signal`.
 *
 * States: held → released, or held → lost. Whatever arrives later for a lease that is no longer held (a
 * renewal that was under way, a second release) changes nothing.
 */
export class Lease implements AsyncDisposable {
  readonly name: string;
  /** Larger than that of every earlier holder: hand it to what you write to, and let it refuse smaller ones. */
  readonly fence: number;
  /** When the watchdog renews it. */
  renewal: Renewal | undefined;
  readonly #core: LockCore;
  readonly #claim: Claim;
  readonly #renews: boolean;
  readonly #grantedMs: number;
  #deadlineMs: number;
  #wallDeadlineMs: number;
  #loss: LockLostError | undefined;
  #released: Promise<ReleaseOutcome> | undefined;
  #controller: AbortController | undefined;
  #timer: Timer | undefined;
  #maxHoldTimer: Timer | undefined;

  constructor(core: LockCore, claim: Claim, fence: number, sent: SentTimes, options: HoldOptions) {
    this.#core = core;
    this.#claim = claim;
    this.name = claim.name;
    this.fence = fence;
    this.#renews = options.renews;
    this.#grantedMs = core.clock.monotonicMs();
    this.#deadlineMs = sent.monotonicMs + safeMs(claim.leaseMs);
    this.#wallDeadlineMs = sent.wallMs + safeMs(claim.leaseMs);
    if (options.renews) core.watchdog.add(this, sent.monotonicMs);
    if (Number.isFinite(options.maxHoldMs)) this.#limitHold(options.maxHoldMs);
  }

  get leaseMs(): number {
    return this.#claim.leaseMs;
  }

  /** Aborts before the lease can end; `reason` is a LockLostError. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#loss !== undefined) this.#controller.abort(this.#loss);
      else if (!this.#renews) this.#watchDeadline();
    }
    // A program that was stalled learns of it here, before its timers run.
    this.#checkDeadline();
    return this.#controller.signal;
  }

  /** How long the holder may still act, by its own clocks. */
  get expiresInMs(): number {
    if (!this.isHeld) return 0;
    return this.#leftMs();
  }

  get isHeld(): boolean {
    this.#checkDeadline();
    return this.#loss === undefined && this.#released === undefined;
  }

  /** Throws unless the lease is held now. For the line before each effect. */
  assertHeld(): void {
    if (!this.isHeld) throw this.#loss ?? new NotHeldError(this.name);
  }

  /** Starts the lease anew, now. Throws when it is no longer held. */
  async extend(): Promise<void> {
    this.assertHeld();
    const sent = this.#core.sentTimes();
    const isOurs = await this.#core.extend(this.#claim);
    if (!isOurs) this.#lose('stolen');
    this.assertHeld();
    this.#prolong(sent);
  }

  /** Gives the lock back. Safe to call twice: both get the same answer. */
  release(): Promise<ReleaseOutcome> {
    this.#checkDeadline();
    this.#released ??= this.#release();
    return this.#released;
  }

  /** The end of `await using`: an error of the body is never hidden by one of the release. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  /** Called by the watchdog when a third of the lease has passed. */
  renew(): void {
    if (this.#loss !== undefined || this.#released !== undefined) return;
    const sent = this.#core.sentTimes();
    // The answer may never come, or come too late.
    this.#watchDeadline();
    this.#core.extend(this.#claim).then(
      (isOurs) => (isOurs ? this.#renewed(sent) : this.#lose('stolen')),
      (error: unknown) => this.#retry(error),
    );
  }

  /** The library is closing: the holder must stop. */
  abandon(): void {
    if (this.#loss === undefined && this.#released === undefined) this.#lose('unreachable');
  }

  #renewed(sent: SentTimes): void {
    if (!this.isHeld) return;
    this.#timer?.cancel();
    this.#prolong(sent);
    announce('renew', () => this.#event());
    this.#core.watchdog.add(this, sent.monotonicMs);
  }

  /** A renewal failed: again, until the holder's own deadline says that it is too late. */
  #retry(error: unknown): void {
    if (!this.isHeld) return;
    const leftMs = this.#leftMs();
    const pauseMs = Math.min(this.leaseMs / 20, leftMs);
    this.#timer?.cancel();
    this.#timer = this.#core.clock.setTimer(pauseMs, () => {
      if (this.#leftMs() <= 0) this.#lose('unreachable', error);
      else this.renew();
    });
  }

  #prolong(sent: SentTimes): void {
    this.#deadlineMs = sent.monotonicMs + safeMs(this.leaseMs);
    this.#wallDeadlineMs = sent.wallMs + safeMs(this.leaseMs);
  }

  /** Either clock may say that it is over: the monotonic one stops while a machine sleeps. */
  #leftMs(): number {
    const { clock } = this.#core;
    return Math.min(this.#deadlineMs - clock.monotonicMs(), this.#wallDeadlineMs - clock.wallMs());
  }

  #checkDeadline(): void {
    if (this.#loss !== undefined || this.#released !== undefined) return;
    if (this.#leftMs() <= 0) this.#lose(this.#renews ? 'unreachable' : 'expired');
  }

  #watchDeadline(): void {
    this.#timer?.cancel();
    const leftMs = Math.max(0, this.#deadlineMs - this.#core.clock.monotonicMs());
    this.#timer = this.#core.clock.setTimer(leftMs, () => this.#checkDeadline());
  }

  #limitHold(maxHoldMs: number): void {
    this.#maxHoldTimer = this.#core.clock.setTimer(maxHoldMs, () => {
      if (!this.isHeld) return;
      this.#lose('expired');
      this.#core.giveBack(this.#claim);
    });
  }

  #lose(reason: LossReason, cause?: unknown): void {
    if (this.#loss !== undefined || this.#released !== undefined) return;
    this.#loss = new LockLostError(this.name, reason, cause);
    this.#settle();
    announce('lose', () => ({ ...this.#event(), reason, heldMs: this.#heldMs() }));
    this.#controller?.abort(this.#loss);
  }

  async #release(): Promise<ReleaseOutcome> {
    this.#settle();
    if (this.#loss?.reason === 'stolen') return 'notHeld';
    const wasLost = this.#loss !== undefined;
    try {
      const wasOurs = await this.#core.release(this.#claim);
      if (wasOurs && !wasLost) {
        announce('release', () => ({ ...this.#event(), heldMs: this.#heldMs() }));
      }
      return wasOurs ? 'released' : 'notHeld';
    } catch {
      return 'unknown';
    }
  }

  #settle(): void {
    this.#core.settled(this);
    this.#timer?.cancel();
    this.#maxHoldTimer?.cancel();
  }

  #heldMs(): number {
    return this.#core.clock.monotonicMs() - this.#grantedMs;
  }

  #event(): { lock: string; owner: string; fence: number } {
    return { lock: this.name, owner: this.#claim.owner, fence: this.fence };
  }
}

/** Both clocks, just before a request left. */
export interface SentTimes {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

export interface HoldOptions {
  readonly renews: boolean;
  readonly maxHoldMs: number;
}

function safeMs(leaseMs: number): number {
  return leaseMs - leaseMs * DRIFT - DRIFT_MS;
}
