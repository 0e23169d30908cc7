import type { Lease, Lock, Locks } from '../../lock/index.ts';
import type { RunRequest } from './run-options.ts';

/** The leases of one run, as one: the group is lost when one of its leases is. */
export class LeaseGroup {
  readonly #leases: readonly Lease[];
  readonly lost: AbortSignal;

  constructor(leases: readonly Lease[]) {
    this.#leases = leases;
    this.lost = AbortSignal.any(leases.map(({ signal }) => signal));
  }

  /** Undefined: the store has no fences. */
  get fence(): number | undefined {
    const fence = Math.max(...this.#leases.map((lease) => lease.toJSON().fence));
    return fence === 0 ? undefined : fence;
  }

  get leftMs(): number {
    return Math.min(...this.#leases.map(({ expiresInMs }) => expiresInMs));
  }

  async extend(): Promise<void> {
    await Promise.all(this.#leases.map((lease) => lease.extend()));
  }

  /** `unknown`: the store did not answer. `not-held`: one of the leases was lost before. */
  async release(): Promise<'released' | 'not-held' | 'unknown'> {
    const outcomes = await Promise.all(this.#leases.map((lease) => lease.release()));
    if (outcomes.includes('not-held')) return 'not-held';
    return outcomes.includes('unknown') ? 'unknown' : 'released';
  }
}

/**
 * The locks that a run acquires, in this order. An exclusive run acquires two of the same name, the mutex and the
 * write side of the read/write lock: it excludes clients of either, and shared runs. Only runs acquire both, and all
 * of them in the same order, so that no two runs wait for each other. A store that has mutexes only has no other clients.
 */
export function locksOf(locks: Locks, { lock, store }: RunRequest): readonly [Lock, ...Lock[]] {
  const { name, kind, permits } = lock;
  if (store !== undefined && 'scheme' in store && store.isMutexOnly) return [locks.mutex(name)];
  if (kind === 'permits') return [locks.semaphore(name, permits)];
  if (kind === 'shared') return [locks.readWrite(name).read];
  return [locks.mutex(name), locks.readWrite(name).write];
}
