import type { Election, ElectOptions, Leader } from './election.ts';
import type { Lease } from './lease.ts';
import type { Lock } from './lock.ts';
import type { Locks } from './locks.ts';
import type { AcquireOptions } from './options.ts';

/** The locks of a store without fences: the same calls on mutexes, with leases that have no `fence`. */
export interface UnfencedLocks extends Pick<Locks, 'ready' | 'close'>, AsyncDisposable {
  /** As `Locks.mutex`. */
  mutex(name: string): UnfencedLock;
  /** As `Locks.all`. */
  all(names: readonly string[]): UnfencedLock;
  /** As `Locks.elect`. */
  elect(
    name: string,
    callback: (leader: Omit<Leader, 'fence'>) => Promise<void> | void,
    options?: ElectOptions,
  ): Election;
  /** As `Locks.adopt`. */
  adopt(...args: Parameters<Locks['adopt']>): Promise<UnfencedLease>;
}

/** A lock whose leases have no fence. */
export interface UnfencedLock extends Pick<Lock, 'name' | 'inspect' | 'forceRelease'> {
  /** As `Lock.acquire`. */
  acquire(options?: AcquireOptions): Promise<UnfencedLease>;
  /** As `Lock.tryAcquire`. */
  tryAcquire(options?: Omit<AcquireOptions, 'wait'>): Promise<UnfencedLease | null>;
  /** As `Lock.run`. */
  run<Result>(
    callback: (lease: UnfencedLease) => Promise<Result> | Result,
    options?: AcquireOptions,
  ): Promise<Result>;
}

/** A lease without a fence: nothing stops the late write of a holder that was paused for longer than its lease. */
export type UnfencedLease = Omit<Lease, 'fence'>;
