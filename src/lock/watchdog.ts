import type { Clock } from '../clock/index.ts';
import { DueLists } from './due-list.ts';
import type { StoreLease } from './store-lease.ts';

/**
 * Keeps leases alive: one for all locks of a process. A lease is renewed at a third of its duration, so
 * that two renewals may fail before it ends; leases that fall due together are renewed in the same turn,
 * which a store may send as one request. Its end is watched while a renewal is under way, and all the
 * time if it is not renewed.
 */
export class Watchdog {
  readonly #renewals: DueLists<StoreLease>;
  readonly #deadlines: DueLists<StoreLease>;

  constructor(clock: Clock) {
    this.#renewals = new DueLists(clock, (lease) => lease.renew());
    this.#deadlines = new DueLists(clock, (lease) => lease.checkDeadline());
  }

  /** From now on, until it is dropped. */
  add(lease: StoreLease): void {
    if (lease.renews) lease.renewal = this.#renewals.add(lease, renewMs(lease), lease.sentMs);
    else this.watchDeadline(lease);
  }

  watchDeadline(lease: StoreLease): void {
    if (lease.deadline !== undefined) this.#deadlines.drop(lease.deadline, lease.safeMs);
    lease.deadline = this.#deadlines.add(lease, lease.safeMs, lease.sentMs);
  }

  drop(lease: StoreLease): void {
    if (lease.renewal !== undefined) this.#renewals.drop(lease.renewal, renewMs(lease));
    if (lease.deadline !== undefined) this.#deadlines.drop(lease.deadline, lease.safeMs);
  }

  close(): void {
    this.#renewals.close();
    this.#deadlines.close();
  }
}

function renewMs({ claim }: StoreLease): number {
  return claim.leaseMs / 3;
}
