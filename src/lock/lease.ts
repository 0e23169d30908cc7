import type { Duration } from './duration.ts';

/**
 * A lock that is held. The holder's own clock decides when it must stop: the deadline counts from before the request was
 * sent, less a margin for drift, so that `signal` aborts before the store can grant the lock to another client.
 */
export interface Lease extends AsyncDisposable {
  /** The name of the lock; of several locks, their names joined by commas. */
  readonly name: string;
  /** Larger than the fence of every earlier holder: pass it to the system you write to, which refuses smaller ones. */
  readonly fence: number;
  /** Aborts before the lease can end; `reason` is a LockLostError. */
  readonly signal: AbortSignal;
  /**
   * Aborts when another client waits for the lock, so that a polite holder can release it early. A notification may be
   * lost with a connection: do not rely on it.
   */
  readonly contended: AbortSignal;
  /** How long the holder may still act, by its own clocks. */
  readonly expiresInMs: number;
  readonly isHeld: boolean;
  /** Throws unless the lease is held now. Call it before each side effect. */
  assertHeld(): void;
  /**
   * Starts the lease anew, now. With a duration, the lease is at least that long from now on, also after later renewals.
   *
   * @throws LockLostError or NotHeldError if it is no longer held.
   */
  extend(lease?: Duration): Promise<void>;
  /**
   * Releases the lock. Safe to call twice: both calls return the same outcome. Never throws: if the store cannot be
   * reached, the outcome is `unknown`, and the lock ends with its lease.
   */
  release(): Promise<ReleaseOutcome>;
  /**
   * Gives the lease away: returns a text for `locks.adopt()` in another process, which can take it over until the lease
   * ends. In this process it is no longer held.
   */
  transfer(): string;
  /** What a log shows of it; `console.log` shows the same. */
  toJSON(): ShownLease;
}

export type ShownLease = Pick<Lease, 'name' | 'fence' | 'isHeld' | 'expiresInMs'>;

/** What is inside of a lease leads to other leases, in circles that JSON cannot hold. */
export function shownLease({ name, fence, isHeld, expiresInMs }: ShownLease): ShownLease {
  return { name, fence, isHeld, expiresInMs };
}

/**
 * What a release did. `kept`: the holder has released it, and the lock stays taken for the rest of `keepFor`. `unknown`:
 * the store did not answer; the lease ends by itself.
 */
export type ReleaseOutcome = 'released' | 'kept' | 'not-held' | 'unknown';
