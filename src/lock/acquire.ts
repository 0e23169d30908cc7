import type { LockCore } from './core.ts';
import { LockAbortedError, LockTimeoutError, LockUnavailableError } from './errors.ts';
import { announce } from './events.ts';
import { type HoldOptions, Lease, type SentTimes } from './lease.ts';
import type { Answer, Claim } from './store.ts';

export interface AcquireRequest extends HoldOptions {
  readonly claim: Claim;
  /** 0: ask once. Infinity: for ever. */
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Between two tries of a store that cannot be reached. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/**
 * The one loop that acquires, for all kinds and stores: ask; if busy, wait for a call, for the time that
 * the store named, for the caller's patience or for its signal; ask again. The store keeps our place in
 * line, and every request is safe to repeat. Null: it was busy, and the caller did not want to wait.
 */
export async function acquire(core: LockCore, request: AcquireRequest): Promise<Lease | null> {
  const { claim } = request;
  const attempt = new Attempt(core, request);
  announce('acquire', () => ({ lock: claim.name, owner: claim.owner }));
  try {
    return await attempt.run();
  } catch (error) {
    // Whatever the store believes of us by now, we do not want it.
    core.giveBack(claim);
    throw error;
  } finally {
    attempt.end();
  }
}

class Attempt {
  readonly #core: LockCore;
  readonly #request: AcquireRequest;
  readonly #beganMs: number;
  readonly #untilMs: number;
  #pauseMs = FIRST_PAUSE_MS;
  /** A call that came while nobody waited for one. */
  #wasCalled = false;
  #wake: (() => void) | undefined;

  constructor(core: LockCore, request: AcquireRequest) {
    this.#core = core;
    this.#request = request;
    this.#beganMs = core.clock.monotonicMs();
    this.#untilMs = this.#beganMs + request.waitMs;
    this.#throwIfAborted();
    if (request.waitMs > 0) {
      core.expectCall(request.claim.owner, () => this.#called());
      request.signal?.addEventListener('abort', this.#called);
    }
  }

  async run(): Promise<Lease | null> {
    const { claim, waitMs } = this.#request;
    for (let isFirst = true; ; isFirst = false) {
      const sent = this.#core.sentTimes();
      const answer = await this.#ask();
      this.#throwIfAborted();
      if (answer?.held) {
        const lease = this.#accept(answer.fence, sent);
        if (lease !== undefined) return lease;
      } else if (waitMs === 0) return null;
      else if (isFirst) announce('wait', () => ({ lock: claim.name, owner: claim.owner }));
      await this.#pause(answer?.held === false ? answer.retryInMs : this.#pauseMs);
      this.#throwIfAborted();
      if (this.#core.clock.monotonicMs() >= this.#untilMs) {
        throw new LockTimeoutError(claim.name, this.#waitedMs());
      }
    }
  }

  end(): void {
    this.#core.forgetCall(this.#request.claim.owner);
    this.#request.signal?.removeEventListener('abort', this.#called);
  }

  /** Undefined: the store could not be reached, and there is time to try again. */
  async #ask(): Promise<Answer | undefined> {
    const { claim, waitMs } = this.#request;
    try {
      const answer = await this.#core.ask(claim, waitMs > 0);
      this.#pauseMs = FIRST_PAUSE_MS;
      return answer;
    } catch (error) {
      if (this.#core.clock.monotonicMs() + this.#pauseMs >= this.#untilMs) {
        throw new LockUnavailableError(claim.name, error);
      }
      this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS);
      return undefined;
    }
  }

  /** A grant whose answer took so long that the lease may have ended is no grant. */
  #accept(fence: number, sent: SentTimes): Lease | undefined {
    const { claim } = this.#request;
    const lease = new Lease(this.#core, claim, fence, sent, this.#request);
    if (!lease.isHeld) return undefined;
    this.#core.held(lease);
    announce('grant', () => ({
      lock: claim.name,
      owner: claim.owner,
      fence,
      waitedMs: this.#waitedMs(),
    }));
    return lease;
  }

  readonly #called = (): void => {
    this.#wasCalled = true;
    this.#wake?.();
  };

  /** Until a call, or for so long; not beyond the caller's patience. */
  #pause(durationMs: number): Promise<void> {
    if (this.#wasCalled) {
      this.#wasCalled = false;
      return Promise.resolve();
    }
    const leftMs = this.#untilMs - this.#core.clock.monotonicMs();
    return new Promise((resolve) => {
      const timer = this.#core.clock.setTimer(Math.min(durationMs, leftMs), resolve);
      this.#wake = () => {
        timer.cancel();
        this.#wasCalled = false;
        resolve();
      };
    });
  }

  #throwIfAborted(): void {
    const { claim, signal } = this.#request;
    if (signal?.aborted) throw new LockAbortedError(claim.name, signal.reason);
    const { closed } = this.#core;
    if (closed !== undefined) throw new LockAbortedError(claim.name, closed.reason);
  }

  #waitedMs(): number {
    return this.#core.clock.monotonicMs() - this.#beganMs;
  }
}
