import { LockAbortedError, LockLostError, LockTimeoutError } from './errors.ts';
import type { Lease } from './lease.ts';
import { type AcquireOptions, type ResolvedOptions, resolveOptions } from './options.ts';
import { currentScope, type Scope } from './scope.ts';
import type { Inspection } from './store.ts';

/** A lock that can be taken: a mutex, one side of a read/write lock, some permits of a semaphore, several at once. */
export abstract class Lock {
  abstract readonly name: string;

  /** Takes the lock, or throws: LockTimeoutError if it stayed busy, LockUnavailableError if nobody knows. */
  acquire(options?: AcquireOptions): Promise<Lease> {
    try {
      const resolved = resolveOptions(this.name, options);
      const taken = this.take(resolved, currentScope());
      if (!(taken instanceof Promise)) return Promise.resolve(taken);
      // Who waits with no signal is told by the attempt itself, without another promise for each of them.
      const isTold = resolved.waitMs > 0 && resolved.signal === undefined;
      return isTold ? (taken as Promise<Lease>) : this.#checked(taken, resolved);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Takes the lock if it is free now; null if it is busy. */
  async tryAcquire(options?: Omit<AcquireOptions, 'wait'>): Promise<Lease | null> {
    // After they were read, since a copy of the options would lack what is inherited.
    return this.take({ ...resolveOptions(this.name, options), waitMs: 0 }, currentScope());
  }

  /**
   * Runs `body` while holding the lock. Throws LockLostError if the lease did not last to its end, also if
   * only its release tells so. What is started inside belongs to the body: if it waits for what the body
   * holds, it gets a DeadlockError.
   */
  async run<Result>(
    body: (lease: Lease) => Promise<Result> | Result,
    options?: AcquireOptions,
  ): Promise<Result> {
    const lease = await this.#acquireHeld(options);
    let result: Result;
    try {
      result = await this.enter(lease, () => body(lease));
      lease.assertHeld();
    } catch (error) {
      await lease.release();
      throw error;
    }
    if ((await lease.release()) === 'not-held') throw new LockLostError(this.name, 'stolen');
    return result;
  }

  /** Who holds the lock, and who waits for it. */
  abstract inspect(): Promise<Inspection>;

  /** Takes the lock from whoever holds it; how many that were. Their signals abort at the next renewal. */
  abstract forceRelease(): Promise<number>;

  /** Null: it was busy, and nobody wanted to wait. */
  protected abstract take(
    options: ResolvedOptions,
    scope: Scope | undefined,
  ): Lease | Promise<Lease | null>;

  /** Runs a body that is known to hold the lease. */
  protected abstract enter<Result>(
    lease: Lease,
    body: () => Promise<Result> | Result,
  ): Promise<Result>;

  /** A lease that was lost because the event loop stalled after the grant has guarded nothing: asks again. */
  async #acquireHeld(options?: AcquireOptions): Promise<Lease> {
    for (;;) {
      const lease = await this.acquire(options);
      if (lease.isHeld) return lease;
      await lease.release();
    }
  }

  /** It may be busy, and the signal may have aborted after the grant, before the caller could see it. */
  async #checked(taken: Promise<Lease | null>, { signal }: ResolvedOptions): Promise<Lease> {
    const lease = await taken;
    if (lease === null) throw new LockTimeoutError(this.name, 0);
    if (!signal?.aborted) return lease;
    void lease.release();
    throw new LockAbortedError(this.name, signal.reason);
  }
}
