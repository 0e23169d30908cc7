import type { Clock } from '../clock/index.ts';
import { DueLists } from './due-list.ts';
import type { StoreLease } from './store-lease.ts';
import type { WorkerRenewals } from './worker-renewals.ts';

/**
 * Keeps leases alive: one for all locks of a process. A lease is renewed at a third of its duration, so
 * that two renewals may fail before it ends; leases that fall due together are renewed in the same turn,
 * which a store may send as one request. Its end is watched while a renewal is under way, and all the
 * time if it is not renewed. A worker may stand in for renewals while this thread is blocked.
 */
export class Watchdog {
  readonly #renewals: DueLists<StoreLease>;
  readonly #deadlines: DueLists<StoreLease>;
  readonly #worker: WorkerRenewals | undefined;

  constructor(clock: Clock, worker?: WorkerRenewals) {
    this.#renewals = new DueLists(clock, (lease) => lease.renew());
    this.#deadlines = new DueLists(clock, (lease) => this.#checkDeadline(lease));
    this.#worker = worker;
  }

  /** From now on, until it is dropped. */
  add(lease: StoreLease): void {
    if (lease.renewal !== undefined) this.#renewals.drop(lease.renewal, renewMs(lease));
    if (lease.renews) {
      lease.renewal = this.#renewals.add(lease, renewMs(lease), lease.sentMs);
      this.#worker?.keep(lease);
    } else this.watchDeadline(lease);
  }

  /** It is not to be renewed from then on. */
  limit(lease: StoreLease, untilMs: number): void {
    this.#worker?.limit(lease, untilMs);
  }

  /** The lease is told what the worker did for it. */
  look(lease: StoreLease): void {
    this.#worker?.look(lease);
  }

  watchDeadline(lease: StoreLease): void {
    // A renewal that is under way needs no other beside it.
    if (lease.renewal !== undefined) this.#renewals.drop(lease.renewal, renewMs(lease));
    if (lease.deadline !== undefined) this.#deadlines.drop(lease.deadline, lease.safeMs);
    lease.deadline = this.#deadlines.add(lease, lease.safeMs, lease.sentMs);
  }

  drop(lease: StoreLease): void {
    if (lease.renewal !== undefined) this.#renewals.drop(lease.renewal, renewMs(lease));
    if (lease.deadline !== undefined) this.#deadlines.drop(lease.deadline, lease.safeMs);
    lease.renewal = undefined;
    lease.deadline = undefined;
    this.#worker?.drop(lease);
  }

  async close(): Promise<void> {
    this.#renewals.close();
    this.#deadlines.close();
    await this.#worker?.close();
  }

  #checkDeadline(lease: StoreLease): void {
    lease.checkDeadline();
    // If the worker has moved it, while our own renewal is still under way, there is a new one to watch.
    if (this.#worker !== undefined && lease.isHeld) this.watchDeadline(lease);
  }
}

function renewMs({ claim }: StoreLease): number {
  return claim.leaseMs / 3;
}
