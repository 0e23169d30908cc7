import type { Clock } from '../clock/index.ts';
import { DueLists } from './due-list.ts';
import type { StoreLease } from './store-lease.ts';
import type { WorkerRenewals } from './worker-renewals.ts';

/** How much of a lease passes before it is renewed. */
const RENEWAL_PART = 1 / 3;

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

  /** All that are held: each stands in one of the lists. */
  leases(): StoreLease[] {
    return [...this.#renewals.toArray(), ...this.#deadlines.toArray()];
  }

  /** From now on, until it is dropped. */
  add(lease: StoreLease): void {
    if (lease.renews) {
      this.#renewals.add(lease, lease.request.leaseMs * RENEWAL_PART, lease.sentMs);
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

  /** Instead of renewing it: a renewal that is under way needs no other beside it. */
  watchDeadline(lease: StoreLease): void {
    this.#deadlines.add(lease, lease.safeMs, lease.sentMs);
  }

  drop(lease: StoreLease): void {
    lease.drop();
    this.leaveToEnd(lease);
  }

  /** It is being released: the worker is not to keep it, though this thread may be blocked before that leaves. */
  leaveToEnd(lease: StoreLease): void {
    this.#worker?.drop(lease);
  }

  async close(): Promise<void> {
    this.#renewals.close();
    this.#deadlines.close();
    await this.#worker?.close();
  }

  #checkDeadline(lease: StoreLease): void {
    lease.checkDeadline();
    // It was moved, by the worker or the holder, while our own renewal is still under way.
    if (lease.isHeld) this.watchDeadline(lease);
  }
}
