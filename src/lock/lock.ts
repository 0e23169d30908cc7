import type { LockCore } from './core.ts';
import { LockAbortedError, type LockError, LockLostError, withCallerFrames } from './errors.ts';
import type { Lease } from './lease.ts';
import type { AcquireOptions, ResolvedOptions } from './options.ts';
import { currentRunContext, type RunContext } from './run-context.ts';
import type { Inspection } from './store.ts';

/**
 * A lock that can be acquired: a mutex, one side of a read/write lock, some permits of a semaphore, or several mutexes
 * at once.
 */
export abstract class Lock {
  abstract readonly name: string;
  protected readonly core: LockCore;

  constructor(core: LockCore) {
    this.core = core;
  }

  /**
   * Acquires the lock. Waits up to `wait` (default 10 s) if it is busy.
   *
   * @throws LockTimeoutError if it stayed busy; it names the holders and the place in the queue.
   * @throws LockUnavailableError if the store could not be reached, so that nothing is known.
   * @throws LockAbortedError if `signal` aborted, or the locks were closed.
   * @throws DeadlockError inside run(), if the wait could never end.
   * @throws LockArgumentError for options that cannot be right.
   *
   * @example
   * await using lease = await locks.mutex('orders:42').acquire({ wait: '5s' });
   * await database.update(order, lease.fence);
   */
  acquire(options?: AcquireOptions): Promise<Lease> {
    try {
      const resolved = this.core.options.resolve(this.name, options);
      const taken = this.take(resolved, currentRunContext());
      if (!(taken instanceof Promise)) return Promise.resolve(taken);
      // Without a signal, a request that waits needs no check: one promise less for each waiter.
      const needsNoCheck = resolved.waitMs > 0 && resolved.signal === undefined;
      return needsNoCheck ? (taken as Promise<Lease>) : this.#checked(taken, resolved);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Acquires the lock if it is free now. Returns null if it is busy.
   *
   * @throws LockUnavailableError if the store could not be reached, so that nothing is known.
   */
  async tryAcquire(options?: Omit<AcquireOptions, 'wait'>): Promise<Lease | null> {
    // `wait` is replaced after the options are resolved: a copy of the caller's object would lack inherited options.
    const resolved = { ...this.core.options.resolve(this.name, options), waitMs: 0 };
    try {
      return await this.take(resolved, currentRunContext());
    } catch (error) {
      throw withCallerFrames(error);
    }
  }

  /**
   * Runs a callback while holding the lock, and releases the lock after it. Everything that the callback starts belongs
   * to it: if it waits for a lock that the callback holds, it gets a DeadlockError instead of waiting forever.
   *
   * @throws LockLostError if the lease was lost before the callback ended, also if only the release shows it.
   * @throws what acquire() throws, and what the callback throws.
   *
   * @example
   * const total = await locks.mutex('account:7').run(async (lease) => {
   *   await charge(account, { signal: lease.signal, fence: lease.fence });
   *   return account.total;
   * });
   */
  async run<Result>(
    callback: (lease: Lease) => Promise<Result> | Result,
    options?: AcquireOptions,
  ): Promise<Result> {
    const lease = await this.#acquireHeld(options);
    let result: Result;
    try {
      const entered = this.enter(lease, () => callback(lease));
      // Once the lease is lost, nothing else may keep the process alive until the callback returns.
      result = await (this.core.store.ownsConnections ? this.core.keepAlive(entered) : entered);
      lease.assertHeld();
    } catch (error) {
      await lease.release();
      throw error;
    }
    if ((await lease.release()) === 'not-held') throw new LockLostError(this.name, 'stolen');
    return result;
  }

  /** The holders and the waiters of the lock. */
  abstract inspect(): Promise<Inspection>;

  /**
   * Ends all leases of the lock. Returns the number of holders. Their signals abort at their next renewal. To take the
   * lock over instead, use `acquire({ steal: true, reason })`.
   */
  abstract forceRelease(): Promise<number>;

  /** Requests the lock. Null: it is busy, and the caller does not wait. */
  protected abstract take(
    options: ResolvedOptions,
    context: RunContext | undefined,
  ): Lease | Promise<Lease | null>;

  /** Runs a callback as the holder of the lease: see RunContext. */
  protected abstract enter<Result>(
    lease: Lease,
    callback: () => Promise<Result> | Result,
  ): Promise<Result>;

  /** The error of a caller that does not wait. */
  protected abstract busyError(options: ResolvedOptions): Promise<LockError>;

  /** Acquires again if the lease was lost before the callback could start, such as while the event loop was blocked. */
  async #acquireHeld(options?: AcquireOptions): Promise<Lease> {
    for (;;) {
      const lease = await this.acquire(options);
      if (lease.isHeld) return lease;
      await lease.release();
    }
  }

  /** Releases the lease if the signal aborted after the grant, before the caller received it. */
  async #checked(taken: Promise<Lease | null>, options: ResolvedOptions): Promise<Lease> {
    try {
      const lease = await taken;
      if (lease === null) throw await this.busyError(options);
      if (!options.signal?.aborted) return lease;
      void lease.release();
      throw new LockAbortedError(this.name, options.signal.reason);
    } catch (error) {
      throw withCallerFrames(error);
    }
  }
}
