import type { Worker } from 'node:worker_threads';
import { processMs, systemClock } from '../clock/index.ts';
import type { RenewalMessage } from './renewal-service.ts';
import { SharedTimes } from './shared-times.ts';
import type { LockRequest } from './store.ts';
import type { StoreLease } from './store-lease.ts';

/**
 * Starts a worker thread that renews leases while the event loop of this thread is blocked.
 *
 * This thread renews its leases as it does without a worker, and writes the time of each renewal to shared memory. The
 * worker has its own connection. It renews a lease at half of its duration, if this thread has not. So a lease is kept
 * while either thread can reach the store; this thread does not wait for the worker to start; and without the worker a
 * lease is lost only if this thread is blocked.
 *
 * sync() reads the renewals of the worker whenever the lease is used: also in the first statement after a stall, before
 * a message of the worker could arrive.
 */
export class WorkerRenewals {
  readonly #start: () => Worker;
  /** processMs() less the monotonic time of this thread. */
  readonly #offsetMs = offsetMs();
  readonly #kept = new Map<StoreLease, Kept>();
  #message: RenewalMessage = { keep: [], drop: [] };
  #lastId = 0;
  #worker: Worker | undefined;
  #isOver = false;

  constructor(start: () => Worker) {
    this.#start = start;
  }

  /** The lease was granted, or this thread renewed it. */
  keep(lease: StoreLease): void {
    if (this.#isOver) return;
    const known = this.#kept.get(lease);
    const { id, times } = known ?? { id: ++this.#lastId, times: new SharedTimes() };
    times.renewedByMain(lease.sentMs + this.#offsetMs);
    if (known !== undefined) return;
    this.#kept.set(lease, { id, times });
    // One message for the leases of one turn, sent in a microtask: before a caller can block the event loop.
    if (this.#message.keep.length === 0) READY.then(this.#send);
    this.#message.keep.push({ id, request: plain(lease.request), times: times.buffer });
  }

  /** The worker must not renew the lease after this time. */
  limit(lease: StoreLease, untilMs: number): void {
    this.#kept.get(lease)?.times.limit(untilMs + this.#offsetMs);
  }

  /** Applies what the worker has done to the lease: a renewal, or that the store does not have it any more. */
  sync(lease: StoreLease): void {
    const times = this.#kept.get(lease)?.times;
    if (times === undefined) return;
    lease.renewedByWorker(times.workerSentMs - this.#offsetMs, times.workerSentWallMs);
    if (times.isStolen) lease.markStolen();
  }

  drop(lease: StoreLease): void {
    const kept = this.#kept.get(lease);
    if (kept === undefined) return;
    kept.times.drop();
    this.#kept.delete(lease);
    // The worker sees this in shared memory. The id in the next message only frees the worker's memory.
    this.#message.drop.push(kept.id);
  }

  async close(): Promise<void> {
    this.#end();
    await this.#worker?.terminate();
  }

  readonly #send = (): void => {
    const message = this.#message;
    this.#message = { keep: [], drop: [] };
    if (this.#isOver) return;
    try {
      this.#worker ??= this.#started();
      this.#worker.postMessage(message);
    } catch (error) {
      this.#died(error);
    }
  };

  #started(): Worker {
    const worker = this.#start();
    worker.on('error', (error) => this.#died(error));
    worker.on('exit', () => this.#died(new Error('it ended')));
    // A lease was stolen: each lease checks its own shared memory.
    worker.on('message', () => {
      for (const lease of [...this.#kept.keys()]) lease.checkDeadline();
    });
    // A listener for messages refs the worker again.
    worker.unref();
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
    // Its last renewals count.
    for (const lease of [...this.#kept.keys()]) this.sync(lease);
    this.#kept.clear();
  }
}

interface Kept {
  readonly id: number;
  readonly times: SharedTimes;
}

const READY = Promise.resolve();

/** A copy of the fields that the worker needs, which can be sent to another thread. */
function plain({ kind, name, slots, owner, permits, info, leaseMs }: LockRequest): LockRequest {
  return { kind, name, slots, owner, permits, info, leaseMs };
}

/**
 * The difference of both clocks is constant, but the thread may be interrupted between reading the one and the other,
 * which makes the measured difference too large. So the smallest of eight is the best. If it is still too large, a time
 * of the worker is converted to an earlier time, which is safe.
 */
function offsetMs(): number {
  const measured = Array.from({ length: 8 }, () => {
    const hereMs = systemClock.monotonicMs();
    return processMs() - hereMs;
  });
  return Math.min(...measured);
}
