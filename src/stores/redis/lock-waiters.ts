import type { Clock } from '../../clock/index.ts';
import { type LockRequest, Scheduled, TimerQueue, type Waiter } from '../../lock/index.ts';
import { MARGIN_MS, type Served } from './lock-call.ts';
import { type KeyOf, ownerOf } from './lock-keys.ts';
import { REFRESH_MS, RESERVED_MS } from './lock-script.ts';

/** The times of both clocks, just before a request was sent. */
export interface SentTimes {
  readonly sentMs: number;
  readonly sentWallMs: number;
}

/** A request of this client that is in the queue of a lock, or may be. */
export interface LockWaiter {
  readonly request: LockRequest;
  readonly waiter: Waiter;
  /** Undefined until it was in the queue. */
  lock: WaitedLock | undefined;
  /** When it was in the queue for sure: it was handed the lock after this, if at all. Undefined: not known. */
  queuedAt: SentTimes | undefined;
  /** The request was sent once, and nothing suggests that its place was lost: an earlier hand-over is impossible. */
  isFirst: boolean;
  /** No request for it is under way. */
  isQueued: boolean;
}

/** The requests for one lock of this client that wait, in the order in which they were sent. */
class WaitedLock extends Scheduled<WaitedLock> {
  readonly key: string;
  readonly waiters = new Map<string, LockWaiter>();

  constructor(key: string) {
    super();
    this.key = key;
  }
}

/**
 * The requests of this client that wait in queues. While there are some for a lock, the client refreshes one of them
 * at least once a second: this tells the server that the client is alive, hands over a lock that came free by itself
 * (its holder died, or another program deleted the key), and finds out whether a message was lost.
 */
export class LockWaiters {
  readonly #clock: Clock;
  readonly #keyOf: KeyOf;
  readonly #refresh: (waiter: LockWaiter) => void;
  readonly #waiters = new Map<string, LockWaiter>();
  readonly #locks = new Map<string, WaitedLock>();
  /** By when they are due. A program that waits for a lock stays alive. */
  readonly #refreshes: TimerQueue<WaitedLock>;

  constructor(clock: Clock, keyOf: KeyOf, refresh: (waiter: LockWaiter) => void) {
    this.#clock = clock;
    this.#keyOf = keyOf;
    this.#refresh = refresh;
    this.#refreshes = new TimerQueue(clock, 0, (lock) => this.#refreshNow(lock), true);
  }

  /** Before the request is sent: a message may arrive before the reply. */
  add(request: LockRequest, waiter: Waiter): LockWaiter {
    const known = this.#waiters.get(request.owner);
    if (known !== undefined) {
      leaveQueue(known);
      return known;
    }
    const added = { request, waiter, ...UNKNOWN_PLACE };
    this.#waiters.set(request.owner, added);
    return added;
  }

  remove(waiter: LockWaiter): void {
    const { request, lock } = waiter;
    const { owner } = request;
    leaveQueue(waiter);
    if (!this.#waiters.delete(owner) || lock === undefined) return;
    lock.waiters.delete(owner);
    if (lock.waiters.size > 0) return;
    lock.unschedule();
    this.#locks.delete(lock.key);
  }

  removeOwner(owner: string): void {
    if (this.#waiters.size === 0) return;
    const waiter = this.#waiters.get(owner);
    if (waiter !== undefined) this.remove(waiter);
  }

  /** The reply to its request: it is in the queue, and the lock may come free after so long. */
  queued(waiter: LockWaiter, freeInMs: number, sent: SentTimes): void {
    const { request } = waiter;
    if (!this.#waiters.has(request.owner)) return;
    waiter.isQueued = true;
    waiter.queuedAt = sent;
    waiter.lock ??= this.#lockOf(this.#keyOf(request));
    waiter.lock.waiters.set(request.owner, waiter);
    this.#refreshIn(waiter.lock, freeInMs);
  }

  /**
   * The reply to a refresh that was sent at these times. 0: it is not in the queue. The waiter may have left meanwhile:
   * the next refresh is for the others.
   */
  refreshed(waiter: LockWaiter, freeInMs: number, sent: SentTimes): void {
    const { lock, isQueued } = waiter;
    if (isQueued && freeInMs > 0) waiter.queuedAt = sent;
    else if (isQueued) this.#retry(waiter);
    this.#refreshIn(lock!, freeInMs);
  }

  /** The reply to a release: it has the lock for its whole lease, since that request was sent. */
  served({ token, fence }: Served, sent: SentTimes): void {
    const waiter = this.#waiters.get(ownerOf(token));
    if (waiter === undefined) return;
    this.remove(waiter);
    waiter.waiter.notify({ type: 'granted', fence, ...sent, isReserved: false });
  }

  /**
   * A message: the lock is reserved for it, since a time that is not known, but after it was seen in the queue. A
   * waiter that asked more than once may have been handed the lock before, and the message be of that time.
   */
  reserved({ token, fence }: Served): void {
    const found = this.#waiters.get(ownerOf(token));
    if (found === undefined) return;
    const { request, waiter, queuedAt, isFirst } = found;
    leaveQueue(found);
    if (!isFirst || queuedAt === undefined) {
      waiter.notify({ type: 'retry' });
      return;
    }
    const earlierMs = Math.max(0, request.leaseMs - RESERVED_MS);
    const sentMs = queuedAt.sentMs - earlierMs;
    const sentWallMs = queuedAt.sentWallMs - earlierMs;
    waiter.notify({ type: 'granted', fence, sentMs, sentWallMs, isReserved: true });
  }

  /** Messages may have been lost. */
  refreshAll(): void {
    for (const lock of this.#locks.values()) this.#refreshNow(lock);
  }

  /** All places were lost: all ask again. */
  retryAll(): void {
    for (const waiter of [...this.#waiters.values()]) this.#retry(waiter);
  }

  /** A reply was lost, which may have named a waiter that was served: all of the lock ask again. */
  retryLock(key: string): void {
    for (const waiter of [...(this.#locks.get(key)?.waiters.values() ?? [])]) {
      if (waiter.isQueued) this.#retry(waiter);
    }
  }

  /** The client cannot be notified: all fail. */
  failAll(error: unknown): void {
    for (const { waiter } of [...this.#waiters.values()]) waiter.notify({ type: 'failed', error });
  }

  close(): void {
    for (const waiter of [...this.#waiters.values()]) this.remove(waiter);
    this.#refreshes.close();
  }

  #lockOf(key: string): WaitedLock {
    let lock = this.#locks.get(key);
    if (lock === undefined) {
      lock = new WaitedLock(key);
      this.#locks.set(key, lock);
    }
    return lock;
  }

  #retry(waiter: LockWaiter): void {
    leaveQueue(waiter);
    waiter.waiter.notify({ type: 'retry' });
  }

  /** Or before that, if a refresh is due sooner: many new waiters must not put it off. */
  #refreshIn(lock: WaitedLock, freeInMs: number): void {
    if (lock.waiters.size === 0) return;
    const exactMs = this.#clock.monotonicMs() + Math.min(freeInMs + MARGIN_MS, REFRESH_MS);
    // Locks that are due at about the same time are refreshed in one call.
    const atMs = Math.ceil(exactMs / TICK_MS) * TICK_MS;
    if (lock.timerQueue === undefined || atMs < lock.dueMs) this.#refreshes.add(lock, atMs);
  }

  #refreshNow(lock: WaitedLock): void {
    lock.unschedule();
    for (const waiter of lock.waiters.values()) {
      if (!waiter.isQueued) continue;
      this.#refresh(waiter);
      return;
    }
  }
}

const TICK_MS = 10;

const UNKNOWN_PLACE = {
  lock: undefined,
  queuedAt: undefined,
  isFirst: true,
  isQueued: false,
} as const;

/** It is not in the queue any more, as far as is known. It is kept until it holds the lock, or gives up. */
function leaveQueue(waiter: LockWaiter): void {
  waiter.isFirst = false;
  waiter.isQueued = false;
  waiter.queuedAt = undefined;
}
