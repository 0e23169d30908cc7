import type { LockRequest, Waiter } from '../../lock/index.ts';
import type { SentTimes } from './requests.ts';
import { RESERVED_MS } from './schema.ts';

/** A request of this client that is in the queue of a lock, or may be. */
interface LocalWaiter {
  readonly request: LockRequest;
  readonly waiter: Waiter;
  /** The last time at which it was certainly in the queue: a hand-over comes later. Undefined: not known. */
  queuedAt: SentTimes | undefined;
  /** Whether the request was sent only once: then a message is not of an earlier hand-over. */
  isFirst: boolean;
  /** Whether the last refresh did not find it in the queue. */
  isMissing: boolean;
  /** The fence of the last reservation that it was notified of: a message and a refresh may both report it. */
  reservedFence: number;
}

/** An owner and the fence of its grant. */
export type Granted = readonly [owner: string, fence: number];

/** The waiting requests of this client. */
export class Waiters {
  readonly #waiters = new Map<string, LocalWaiter>();

  get size(): number {
    return this.#waiters.size;
  }

  /** Called before the request is sent: a message may arrive before the reply. */
  add(request: LockRequest, waiter: Waiter): void {
    const known = this.#waiters.get(request.owner);
    if (known !== undefined) forgetPlace(known);
    else this.#waiters.set(request.owner, { request, waiter, ...NEW });
  }

  has(owner: string): boolean {
    return this.#waiters.has(owner);
  }

  remove(owner: string): void {
    this.#waiters.delete(owner);
  }

  /** The request of this owner is in the queue. */
  queued(owner: string, sent: SentTimes): void {
    const found = this.#waiters.get(owner);
    if (found !== undefined) found.queuedAt = sent;
  }

  /** The waiters that are in a queue now, for `refreshed`. */
  inQueue(): ReadonlyMap<string, SentTimes> {
    const found = new Map<string, SentTimes>();
    for (const [owner, { queuedAt }] of this.#waiters) if (queuedAt) found.set(owner, queuedAt);
    return found;
  }

  /**
   * Handles the reply to a refresh: which owners are in a queue. A waiter that two refreshes have not found has lost
   * its place; after the first, the reply that hands the lock over to it may still be under way. Returns whether one is
   * missing.
   */
  refreshed(
    before: ReadonlyMap<string, SentTimes>,
    owners: ReadonlySet<string>,
    sent: SentTimes,
  ): boolean {
    let isAnyMissing = false;
    for (const [owner, queuedAt] of before) {
      const found = this.#waiters.get(owner);
      if (found === undefined || found.queuedAt !== queuedAt) continue;
      if (owners.has(owner)) {
        found.queuedAt = sent;
        found.isMissing = false;
      } else if (found.isMissing) retry(found);
      else {
        found.isMissing = true;
        isAnyMissing = true;
      }
    }
    return isAnyMissing;
  }

  /** Hands over to a waiter in the reply to a request that was sent at these times. False: it does not wait here. */
  served([owner, fence]: Granted, sent: SentTimes): boolean {
    const found = this.#waiters.get(owner);
    if (found === undefined) return false;
    this.#waiters.delete(owner);
    found.waiter.notify({ type: 'granted', fence, ...sent, isReserved: false });
    return true;
  }

  /** Handles a message, or a refresh, that the lock is reserved for the waiter, since some time after `queuedAt`. */
  reserved([owner, fence]: Granted): void {
    const found = this.#waiters.get(owner);
    if (found === undefined || found.reservedFence === fence) return;
    found.reservedFence = fence;
    const { request, waiter, queuedAt, isFirst } = found;
    if (!isFirst || queuedAt === undefined) {
      retry(found);
      return;
    }
    forgetPlace(found);
    const earlierMs = Math.max(0, request.leaseMs - RESERVED_MS);
    const sentMs = queuedAt.sentMs - earlierMs;
    const sentWallMs = queuedAt.sentWallMs - earlierMs;
    waiter.notify({ type: 'granted', fence, sentMs, sentWallMs, isReserved: true });
  }

  /**
   * Makes the waiters of one lock, or all, send their requests again: a lost reply may have handed a lock to one of
   * them.
   */
  retryAll(isOf: (request: LockRequest) => boolean = () => true): void {
    for (const each of [...this.#waiters.values()]) {
      if (each.queuedAt !== undefined && isOf(each.request)) retry(each);
    }
  }

  clear(): void {
    this.#waiters.clear();
  }
}

const NEW = { queuedAt: undefined, isFirst: true, isMissing: false, reservedFence: 0 } as const;

function retry(waiter: LocalWaiter): void {
  forgetPlace(waiter);
  waiter.waiter.notify({ type: 'retry' });
}

/** The waiter may have lost its place. It stays registered until it holds the lock or is removed. */
function forgetPlace(waiter: LocalWaiter): void {
  waiter.isFirst = false;
  waiter.isMissing = false;
  waiter.queuedAt = undefined;
}
