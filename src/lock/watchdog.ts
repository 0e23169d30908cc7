import type { Clock } from '../clock/index.ts';
import { type Due, DueList } from './due-list.ts';
import type { Lease } from './lease.ts';

/**
 * Keeps leases alive: one for all locks of a process. A lease is renewed at a third of its duration, so
 * that two renewals may fail before it ends; leases that fall due together are renewed in the same turn,
 * which a store may send as one request.
 */
export class Watchdog {
  readonly #clock: Clock;
  /** By the duration of their leases. */
  readonly #lists = new Map<number, DueList<Lease>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Renews the lease when a third of its time has passed since `fromMs`. */
  add(lease: Lease, fromMs: number): void {
    let list = this.#lists.get(lease.leaseMs);
    if (list === undefined) {
      list = new DueList(this.#clock, lease.leaseMs / 3, (each) => each.renew());
      this.#lists.set(lease.leaseMs, list);
    }
    lease.renewal = list.add(lease, fromMs);
  }

  drop(lease: Lease): void {
    if (lease.renewal !== undefined) this.#lists.get(lease.leaseMs)?.drop(lease.renewal);
  }

  close(): void {
    for (const list of this.#lists.values()) list.close();
    this.#lists.clear();
  }
}

export type Renewal = Due<Lease>;
