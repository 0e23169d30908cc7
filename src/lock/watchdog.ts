import type { Clock } from '../clock/index.ts';
import type { StoreLease } from './store-lease.ts';
import { TimerQueues } from './timer-queue.ts';
import type { WorkerRenewals } from './worker-renewals.ts';

/** The part of a lease after which it is renewed. */
const RENEWAL_PART = 1 / 3;

/**
 * Renews the leases of one LockCore at a third of their duration, so that two renewals may fail before a lease ends.
 * Leases that are due together are renewed in the same turn, so that a store can batch them. While a renewal is under
 * way, and for a lease that is not renewed, it checks the deadline instead. A worker can renew leases while this thread
 * is blocked.
 */
export class Watchdog {
  readonly #renewals: TimerQueues<StoreLease>;
  readonly #deadlines: TimerQueues<StoreLease>;
  readonly #worker: WorkerRenewals | undefined;

  /** `keepsAlive`: the process stays alive while it has a lease. */
  constructor(clock: Clock, keepsAlive: boolean, worker?: WorkerRenewals) {
    this.#renewals = new TimerQueues(clock, (lease) => lease.renew(), keepsAlive);
    this.#deadlines = new TimerQueues(clock, (lease) => this.#checkDeadline(lease), keepsAlive);
    this.#worker = worker;
  }

  /** All held leases: each is in one of the two timer queues. */
  leases(): StoreLease[] {
    return [...this.#renewals.toArray(), ...this.#deadlines.toArray()];
  }

  /** Renews the lease, or checks its deadline, until drop(). */
  add(lease: StoreLease): void {
    if (lease.renews) {
      this.#renewals.add(lease, lease.confirmedMs * RENEWAL_PART, lease.sentMs);
      this.#worker?.keep(lease);
    } else this.watchDeadline(lease);
  }

  /** The worker does not renew the lease after this time. */
  limit(lease: StoreLease, untilMs: number): void {
    this.#worker?.limit(lease, untilMs);
  }

  /** Applies the renewals of the worker to the lease. */
  syncWithWorker(lease: StoreLease): void {
    this.#worker?.sync(lease);
  }

  /** Checks the deadline instead of renewing the lease: for a lease whose renewal is under way, or that is not renewed. */
  watchDeadline(lease: StoreLease): void {
    this.#deadlines.add(lease, lease.safeMs, lease.sentMs);
  }

  drop(lease: StoreLease): void {
    lease.unschedule();
    this.#worker?.drop(lease);
  }

  async close(): Promise<void> {
    this.#renewals.close();
    this.#deadlines.close();
    await this.#worker?.close();
  }

  #checkDeadline(lease: StoreLease): void {
    lease.checkDeadline();
    // The worker or extend() moved the deadline while the renewal of this thread is under way.
    if (lease.isHeld) this.watchDeadline(lease);
  }
}
