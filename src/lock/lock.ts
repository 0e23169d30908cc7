import { acquire } from './acquire.ts';
import type { LockCore } from './core.ts';
import { LockTimeoutError } from './errors.ts';
import type { Lease } from './lease.ts';
import { type AcquireOptions, resolveOptions } from './options.ts';
import type { Inspection, Target } from './store.ts';

/** A lock that can be taken: a mutex, one side of a read/write lock, some permits of a semaphore. */
export class Lock {
  readonly #core: LockCore;
  readonly #target: Target;
  readonly #take: number;

  constructor(core: LockCore, target: Target, take: number) {
    this.#core = core;
    this.#target = target;
    this.#take = take;
  }

  get name(): string {
    return this.#target.name;
  }

  /** Takes the lock, or throws: LockTimeoutError if it stayed busy, LockUnavailableError if nobody knows. */
  async acquire(options: AcquireOptions = {}): Promise<Lease> {
    const lease = await this.#attempt(options);
    if (lease === null) throw new LockTimeoutError(this.name, 0);
    return lease;
  }

  /** Takes the lock if it is free now; null if it is busy. */
  tryAcquire(options: Omit<AcquireOptions, 'wait'> = {}): Promise<Lease | null> {
    return this.#attempt({ ...options, wait: 0 });
  }

  /** Runs `body` while holding the lock. Throws LockLostError if the lease did not last to its end. */
  async run<Result>(
    body: (lease: Lease) => Promise<Result> | Result,
    options: AcquireOptions = {},
  ): Promise<Result> {
    const lease = await this.acquire(options);
    try {
      const result = await body(lease);
      lease.assertHeld();
      return result;
    } finally {
      await lease.release();
    }
  }

  /** Who holds the lock, and who waits for it. */
  inspect(): Promise<Inspection> {
    return this.#core.store.inspect(this.#target);
  }

  /** Takes the lock from whoever holds it; how many that were. Their signals abort at the next renewal. */
  forceRelease(): Promise<number> {
    return this.#core.forceRelease(this.#target);
  }

  async #attempt(options: AcquireOptions): Promise<Lease | null> {
    const { label, leaseMs, ...request } = resolveOptions(this.name, options);
    const claim = {
      ...this.#target,
      owner: this.#core.newOwner(),
      take: this.#take,
      leaseMs,
      info: { ...this.#core.info, label },
    };
    return acquire(this.#core, { ...request, claim });
  }
}
