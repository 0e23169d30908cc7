import type { Duration } from './duration.ts';
import { LockArgumentError } from './errors.ts';

/**
 * A lock that is held. The holder's own clock decides when it must stop: the deadline counts from before the request was
 * sent, less a margin for drift, so that `signal` aborts before the store can grant the lock to another client.
 */
export interface Lease extends AsyncDisposable {
  /** The name of the lock; of several locks, their names joined by commas. */
  readonly name: string;
  /**
   * Larger than the fence of every earlier holder: pass it to the system you write to, which refuses smaller ones.
   *
   * @throws LockArgumentError if the store has no fences, such as memcached.
   */
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
   * Starts the lease again, now. With a duration, the lease is at least that long from now on, also after later renewals.
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
   * Transfers the lease: returns a text for `locks.adopt()` in another process, which can take the lease over until it
   * ends. In this process it is no longer held.
   */
  transfer(): string;
  /** The fields for logs; `console.log` shows the same. */
  toJSON(): ShownLease;
}

/** The fence is 0 if the store has none. */
export type ShownLease = Pick<Lease, 'name' | 'fence' | 'isHeld' | 'expiresInMs'>;

/** Only these fields: the private ones lead to other leases, in cycles that JSON cannot represent. */
export function shownLease(
  { name, isHeld, expiresInMs }: Omit<ShownLease, 'fence'>,
  fence: number,
): ShownLease {
  return { name, fence, isHeld, expiresInMs };
}

/**
 * Returns the fence of a grant to the caller.
 *
 * @throws LockArgumentError if it is 0: a resource that compares it would accept every write.
 */
export function checkFence(lock: string, fence: number): number {
  if (fence > 0) return fence;
  throw new LockArgumentError(
    lock,
    `the lease of lock '${lock}' has no fence: its store has none. Use a store with fences, or do not read lease.fence.`,
  );
}

/**
 * The result of a release. `kept`: the lock stays taken for the rest of `keepFor`. `not-held`: the lease had ended
 * before. `unknown`: the store did not reply; the lock ends with its lease.
 */
export type ReleaseOutcome = 'released' | 'kept' | 'not-held' | 'unknown';
