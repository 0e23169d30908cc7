/**
 * A lock that is held. The holder's own clock decides when it must stop: the deadline is counted from
 * before the request left, less a margin for drift, so it comes before the store can give the lock to
 * another. It is told through `signal`.
 */
export interface Lease extends AsyncDisposable {
  /** Of the lock; for several locks their names, joined by a comma. */
  readonly name: string;
  /** Larger than that of every earlier holder: hand it to what you write to, and let it refuse smaller ones. */
  readonly fence: number;
  /** Aborts before the lease can end; `reason` is a LockLostError. */
  readonly signal: AbortSignal;
  /** How long the holder may still act, by its own clocks. */
  readonly expiresInMs: number;
  readonly isHeld: boolean;
  /** Throws unless the lease is held now. For the line before each effect. */
  assertHeld(): void;
  /** Starts the lease anew, now. Throws when it is no longer held. */
  extend(): Promise<void>;
  /** Gives the lock back. Safe to call twice: both get the same answer. */
  release(): Promise<ReleaseOutcome>;
  /**
   * Gives the lease away: a text for `locks.adopt()` in another process, which has until the lease ends
   * to take it over. Here it is no longer held.
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

/** What became of a release: `unknown` when the store did not answer; the lease then ends by itself. */
export type ReleaseOutcome = 'released' | 'not-held' | 'unknown';
