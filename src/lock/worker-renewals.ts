import type { Worker } from 'node:worker_threads';
import { processMs, systemClock } from '../clock/index.ts';
import type { RenewalOrders } from './renewal-service.ts';
import { SharedTimes } from './shared-times.ts';
import type { LockRequest } from './store.ts';
import type { StoreLease } from './store-lease.ts';

/**
 * A worker thread that renews leases when this thread has not, since its event loop is blocked.
 *
 * This thread goes on renewing as without it, and tells so by memory that both share. The worker, which
 * has a connection of its own, comes in at half of a lease that nobody has renewed by then. So a lease
 * lives while one of the two can reach the store, a worker that is still starting is not waited for, and
 * one that dies is not missed until the next stall.
 *
 * What the worker did is seen here whenever the lease is looked at: also by the first line after a stall,
 * before any message could arrive.
 */
export class WorkerRenewals {
  readonly #start: () => Worker;
  /** What to add to a time of this thread to get one of the process. */
  readonly #offsetMs = offsetMs();
  readonly #kept = new Map<StoreLease, Kept>();
  #orders: RenewalOrders = { keep: [], drop: [] };
  #lastId = 0;
  #worker: Worker | undefined;
  #isOver = false;

  constructor(start: () => Worker) {
    this.#start = start;
  }

  /** The lease was granted, or renewed here. */
  keep(lease: StoreLease): void {
    if (this.#isOver) return;
    const known = this.#kept.get(lease);
    const { id, times } = known ?? { id: ++this.#lastId, times: new SharedTimes() };
    times.renewedHere(lease.sentMs + this.#offsetMs);
    if (known !== undefined) return;
    this.#kept.set(lease, { id, times });
    // The leases of one turn are told of together, and before whoever was granted them goes on.
    if (this.#orders.keep.length === 0) READY.then(this.#send);
    this.#orders.keep.push({ id, request: plain(lease.request), times: times.buffer });
  }

  /** Not to be renewed from then on. */
  limit(lease: StoreLease, untilMs: number): void {
    this.#kept.get(lease)?.times.limit(untilMs + this.#offsetMs);
  }

  /** Tells the lease what became of it elsewhere. */
  look(lease: StoreLease): void {
    const times = this.#kept.get(lease)?.times;
    if (times === undefined) return;
    lease.renewedElsewhere(times.sentThereMs - this.#offsetMs, times.sentThereWallMs);
    if (times.isStolen) lease.stolenElsewhere();
  }

  drop(lease: StoreLease): void {
    const kept = this.#kept.get(lease);
    if (kept === undefined) return;
    kept.times.drop();
    this.#kept.delete(lease);
    // The worker sees the mark when it looks; what is sent with the next lease only spares it to remember.
    this.#orders.drop.push(kept.id);
  }

  async close(): Promise<void> {
    this.#end();
    await this.#worker?.terminate();
  }

  readonly #send = (): void => {
    const orders = this.#orders;
    this.#orders = { keep: [], drop: [] };
    if (this.#isOver) return;
    try {
      this.#worker ??= this.#started();
      this.#worker.postMessage(orders);
    } catch (error) {
      this.#died(error);
    }
  };

  #started(): Worker {
    const worker = this.#start();
    worker.unref();
    worker.on('error', (error) => this.#died(error));
    worker.on('exit', () => this.#died(new Error('it ended')));
    // Some lease is no longer ours: each one looks for itself.
    worker.on('message', () => {
      for (const lease of [...this.#kept.keys()]) lease.checkDeadline();
    });
    return worker;
  }

  #died(reason: unknown): void {
    if (this.#isOver) return;
    this.#end();
    process.emitWarning(
      `the worker that renews leases has failed (${reason}). From now on they are renewed by the main ` +
        'thread alone, and are lost if it is blocked for longer than their lease.',
      { type: 'HoldfastWarning', code: 'HOLDFAST_RENEWAL_WORKER' },
    );
  }

  #end(): void {
    this.#isOver = true;
    // What it still achieved counts.
    for (const lease of [...this.#kept.keys()]) this.look(lease);
    this.#kept.clear();
  }
}

interface Kept {
  readonly id: number;
  readonly times: SharedTimes;
}

const READY = Promise.resolve();

/** What can be sent to another thread. */
function plain({ kind, name, slots, owner, permits, info, leaseMs }: LockRequest): LockRequest {
  return { kind, name, slots, owner, permits, info, leaseMs };
}

/**
 * Both clocks tick as one, so that their difference never changes; but the thread may be interrupted
 * between looking at the one and the other. Each try is too large by that, so the smallest is the best;
 * and a time of the worker that is converted by it is never too late.
 */
function offsetMs(): number {
  const tries = Array.from({ length: 8 }, () => {
    const hereMs = systemClock.monotonicMs();
    return processMs() - hereMs;
  });
  return Math.min(...tries);
}
