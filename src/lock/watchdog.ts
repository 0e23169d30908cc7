import type { Clock, Timer } from '../clock/index.ts';
import type { Lease } from './lease.ts';

/**
 * Keeps leases alive: one for all locks of a process. A lease is renewed at a third of its duration, so
 * that two renewals may fail before it ends; leases that fall due together are renewed in the same turn,
 * which a store may send as one request.
 *
 * Leases of one duration fall due in the order in which they were added. So each duration has a linked
 * list whose head is next, and one timer: adding and dropping a lease is O(1) and touches no timer,
 * however many leases come and go.
 */
export class Watchdog {
  readonly #clock: Clock;
  readonly #lines = new Map<number, Line>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Renews the lease when a third of its time has passed since `fromMs`. */
  add(lease: Lease, fromMs: number): void {
    const intervalMs = lease.leaseMs / 3;
    let line = this.#lines.get(intervalMs);
    if (line === undefined) {
      line = { head: undefined, tail: undefined, timer: undefined };
      this.#lines.set(intervalMs, line);
    }
    const watch: Watch = {
      lease,
      line,
      dueMs: fromMs + intervalMs,
      before: line.tail,
      after: undefined,
    };
    if (line.tail) line.tail.after = watch;
    else line.head = watch;
    line.tail = watch;
    lease.watch = watch;
    if (line.timer === undefined) this.#arm(line, intervalMs);
  }

  drop(lease: Lease): void {
    const { watch } = lease;
    if (watch === undefined) return;
    lease.watch = undefined;
    if (watch.before) watch.before.after = watch.after;
    else watch.line.head = watch.after;
    if (watch.after) watch.after.before = watch.before;
    else watch.line.tail = watch.before;
  }

  close(): void {
    for (const line of this.#lines.values()) line.timer?.cancel();
    this.#lines.clear();
  }

  #arm(line: Line, intervalMs: number): void {
    const dueMs = line.head?.dueMs;
    if (dueMs === undefined) {
      line.timer = undefined;
      this.#lines.delete(intervalMs);
      return;
    }
    const delayMs = Math.max(0, dueMs - this.#clock.monotonicMs());
    line.timer = this.#clock.setTimer(delayMs, () => this.#renewDue(line, intervalMs));
  }

  #renewDue(line: Line, intervalMs: number): void {
    const nowMs = this.#clock.monotonicMs();
    while (line.head !== undefined && line.head.dueMs <= nowMs) {
      const { lease } = line.head;
      this.drop(lease);
      lease.renew();
    }
    this.#arm(line, intervalMs);
  }
}

interface Line {
  head: Watch | undefined;
  tail: Watch | undefined;
  timer: Timer | undefined;
}

/** A lease's place in its line. */
export interface Watch {
  readonly lease: Lease;
  readonly line: Line;
  readonly dueMs: number;
  before: Watch | undefined;
  after: Watch | undefined;
}
