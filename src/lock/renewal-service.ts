import type { MessagePort } from 'node:worker_threads';
import { type Clock, processMs } from '../clock/index.ts';
import { SharedTimes } from './shared-times.ts';
import type { LockRequest, LockStore } from './store.ts';
import { Scheduled, TimerQueues } from './timer-queue.ts';

/** A message of the main thread: leases to renew, and the ids of leases that have ended. */
export interface RenewalMessage {
  readonly keep: {
    readonly id: number;
    readonly request: LockRequest;
    readonly times: SharedArrayBuffer;
  }[];
  readonly drop: number[];
}

/** The main thread renews at a third of a lease. The worker renews at a half, if the main thread has not. */
const WORKER_RENEWAL_PART = 1 / 2;
/** The pause after a renewal that failed. */
const RETRY_PART = 1 / 20;

/** Runs in a worker: renews the leases that the main thread does not renew in time. See WorkerRenewals. */
export function serveRenewals(port: MessagePort, store: LockStore, clock: Clock): void {
  const service = new RenewalService(store, clock, () => port.postMessage('stolen'));
  port.on('message', (message: RenewalMessage) => service.receive(message));
}

class RenewalService {
  readonly #store: LockStore;
  readonly #clock: Clock;
  readonly #onStolen: () => void;
  readonly #leases = new Map<number, WorkerLease>();
  readonly #renewals: TimerQueues<WorkerLease>;
  #isConnected = false;

  constructor(store: LockStore, clock: Clock, onStolen: () => void) {
    this.#store = store;
    this.#clock = clock;
    this.#onStolen = onStolen;
    this.#renewals = new TimerQueues(clock, (lease) => this.#check(lease));
  }

  receive({ keep, drop }: RenewalMessage): void {
    for (const { id, request, times } of keep) {
      const lease = new WorkerLease(id, request, new SharedTimes(times));
      this.#leases.set(id, lease);
      this.#connect(request);
      this.#schedule(lease);
    }
    for (const id of drop) this.#remove(this.#leases.get(id));
  }

  /** A store connects with its first request: send one before a renewal is urgent. */
  #connect(request: LockRequest): void {
    if (this.#isConnected) return;
    this.#isConnected = true;
    this.#store.inspect(request).catch(() => {});
  }

  #check(lease: WorkerLease): void {
    const nowMs = processMs();
    if (lease.isOver(nowMs)) this.#remove(lease);
    else if (lease.isRenewed(nowMs)) this.#schedule(lease);
    else void this.#renew(lease, nowMs);
  }

  /** Also after the lease may have ended: if the store still has it, no other client has held the lock. */
  async #renew(lease: WorkerLease, sentMs: number): Promise<void> {
    const { request, times } = lease;
    const sentWallMs = this.#clock.wallMs();
    try {
      const isOurs = await this.#store.extend(request);
      if (isOurs) times.renewedByWorker(sentMs, sentWallMs);
      else if (times.markStolen()) this.#onStolen();
      this.#schedule(lease);
    } catch {
      this.#scheduleAfter(lease, request.leaseMs * RETRY_PART, this.#clock.monotonicMs());
    }
  }

  /** Schedules the next check for half a lease after the last renewal. */
  #schedule(lease: WorkerLease): void {
    const { leaseMs } = lease.request;
    const agoMs = processMs() - lease.times.sentMs;
    this.#scheduleAfter(lease, leaseMs * WORKER_RENEWAL_PART, this.#clock.monotonicMs() - agoMs);
  }

  #scheduleAfter(lease: WorkerLease, delayMs: number, fromMs: number): void {
    if (!lease.times.isKept) this.#remove(lease);
    else this.#renewals.add(lease, delayMs, fromMs);
  }

  #remove(lease: WorkerLease | undefined): void {
    if (lease === undefined) return;
    this.#leases.delete(lease.id);
    lease.unschedule();
  }
}

/** A lease of the main thread, as the worker sees it. */
class WorkerLease extends Scheduled<WorkerLease> {
  readonly id: number;
  readonly request: LockRequest;
  readonly times: SharedTimes;

  constructor(id: number, request: LockRequest, times: SharedTimes) {
    super();
    this.id = id;
    this.request = request;
    this.times = times;
  }

  /** Whether it was released or stolen, or has reached `maxHold`. */
  isOver(nowMs: number): boolean {
    const { untilMs, isKept } = this.times;
    return !isKept || (untilMs > 0 && nowMs >= untilMs);
  }

  isRenewed(nowMs: number): boolean {
    return nowMs - this.times.sentMs < this.request.leaseMs * WORKER_RENEWAL_PART;
  }
}
