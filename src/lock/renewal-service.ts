import type { MessagePort } from 'node:worker_threads';
import { type Clock, processMs } from '../clock/index.ts';
import { Due, DueLists } from './due-list.ts';
import { SharedTimes } from './shared-times.ts';
import type { LockRequest, LockStore } from './store.ts';

/** What the main thread sends: leases to look after, and the numbers of those that have ended. */
export interface RenewalOrders {
  readonly keep: {
    readonly id: number;
    readonly request: LockRequest;
    readonly times: SharedArrayBuffer;
  }[];
  readonly drop: number[];
}

/** The main thread renews at a third. What it has not renewed at a half is renewed here. */
const STAND_IN_PART = 1 / 2;
/** The pause after a renewal that failed. */
const RETRY_PART = 1 / 20;

/** In a worker: renews leases of the main thread when that does not. See WorkerRenewals. */
export function serveRenewals(port: MessagePort, store: LockStore, clock: Clock): void {
  const service = new RenewalService(store, clock, () => port.postMessage('stolen'));
  port.on('message', (orders: RenewalOrders) => service.obey(orders));
}

class RenewalService {
  readonly #store: LockStore;
  readonly #clock: Clock;
  readonly #onStolen: () => void;
  readonly #wards = new Map<number, Ward>();
  readonly #renewals: DueLists<Ward>;
  #isConnected = false;

  constructor(store: LockStore, clock: Clock, onStolen: () => void) {
    this.#store = store;
    this.#clock = clock;
    this.#onStolen = onStolen;
    this.#renewals = new DueLists(clock, (ward) => this.#look(ward));
  }

  obey({ keep, drop }: RenewalOrders): void {
    for (const { id, request, times } of keep) {
      const ward = new Ward(id, request, new SharedTimes(times));
      this.#wards.set(id, ward);
      this.#connect(request);
      this.#schedule(ward);
    }
    for (const id of drop) this.#forget(this.#wards.get(id));
  }

  /** A store connects with its first request, which is better made before time is short. */
  #connect(request: LockRequest): void {
    if (this.#isConnected) return;
    this.#isConnected = true;
    this.#store.inspect(request).catch(() => {});
  }

  #look(ward: Ward): void {
    const nowMs = processMs();
    if (ward.isOver(nowMs)) this.#forget(ward);
    else if (ward.isRenewed(nowMs)) this.#schedule(ward);
    else void this.#renew(ward, nowMs);
  }

  /** Also late: if the store says that it is still ours, then it has been ours all the time. */
  async #renew(ward: Ward, sentMs: number): Promise<void> {
    const { request, times } = ward;
    const sentWallMs = this.#clock.wallMs();
    try {
      const isOurs = await this.#store.extend(request);
      if (isOurs) times.renewedThere(sentMs, sentWallMs);
      else if (times.stolen()) this.#onStolen();
      this.#schedule(ward);
    } catch {
      this.#plan(ward, request.leaseMs * RETRY_PART, this.#clock.monotonicMs());
    }
  }

  /** Half a lease after it was last renewed. */
  #schedule(ward: Ward): void {
    const { leaseMs } = ward.request;
    const agoMs = processMs() - ward.times.sentMs;
    this.#plan(ward, leaseMs * STAND_IN_PART, this.#clock.monotonicMs() - agoMs);
  }

  #plan(ward: Ward, delayMs: number, fromMs: number): void {
    if (!ward.times.isKept) this.#forget(ward);
    else this.#renewals.add(ward, delayMs, fromMs);
  }

  #forget(ward: Ward | undefined): void {
    if (ward === undefined) return;
    this.#wards.delete(ward.id);
    ward.drop();
  }
}

/** A lease that is looked after. */
class Ward extends Due<Ward> {
  readonly id: number;
  readonly request: LockRequest;
  readonly times: SharedTimes;

  constructor(id: number, request: LockRequest, times: SharedTimes) {
    super();
    this.id = id;
    this.request = request;
    this.times = times;
  }

  /** It was given back or taken, or it has been held for as long as it may be. */
  isOver(nowMs: number): boolean {
    const { untilMs, isKept } = this.times;
    return !isKept || (untilMs > 0 && nowMs >= untilMs);
  }

  isRenewed(nowMs: number): boolean {
    return nowMs - this.times.sentMs < this.request.leaseMs * STAND_IN_PART;
  }
}
