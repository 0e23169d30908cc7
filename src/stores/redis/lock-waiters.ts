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
  /** Undefined until the store has said that it is in the queue. */
  lock: WaitedLock | undefined;
  /** The last time at which it was certainly in the queue: a hand-over comes later than this. Undefined: not known. */
  queuedAt: SentTimes | undefined;
  /** Whether the request was sent only once, and its place was not lost: then a message is not of an earlier hand-over. */
  isFirst: boolean;
  /** Whether it is in the queue, with no request under way. */
  isQueued: boolean;
}

/** The waiting requests of this client for one lock, in the order in which they entered the queue. */
class WaitedLock extends Scheduled<WaitedLock> {
  readonly key: string;
  readonly waiters = new Map<string, LockWaiter>();

  constructor(key: string) {
    super();
    this.key = key;
  }
}

/**
 * The waiting requests of this client. For each lock with waiters, the client refreshes one of them at least once a
 * second. The refresh shows the server that the client is alive, hands over a lock that is free although no holder
 * released it (a holder died, or another program deleted the key), and detects lost messages.
 */
export class LockWaiters {
  readonly #clock: Clock;
  readonly #keyOf: KeyOf;
  readonly #refresh: (waiter: LockWaiter) => void;
  readonly #waiters = new Map<string, LockWaiter>();
  readonly #locks = new Map<string, WaitedLock>();
  /** Locks by the time of their next refresh. They keep the process alive. */
  readonly #refreshes: TimerQueue<WaitedLock>;

  constructor(clock: Clock, keyOf: KeyOf, refresh: (waiter: LockWaiter) => void) {
    this.#clock = clock;
    this.#keyOf = keyOf;
    this.#refresh = refresh;
    this.#refreshes = new TimerQueue(clock, 0, (lock) => this.#refreshNow(lock), true);
  }

  /** Called before the request is sent: a message may arrive before the reply. */
  add(request: LockRequest, waiter: Waiter): LockWaiter {
    const known = this.#waiters.get(request.owner);
    if (known !== undefined) {
      forgetPlace(known);
      return known;
    }
    const added = { request, waiter, ...UNKNOWN_PLACE };
    this.#waiters.set(request.owner, added);
    return added;
  }

  remove(waiter: LockWaiter): void {
    const { request, lock } = waiter;
    const { owner } = request;
    forgetPlace(waiter);
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

  /** Handles the reply to a request: it is in the queue, and the lock may become free after this time. */
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
   * Handles the reply to a refresh that was sent at these times. 0: the waiter is not in the queue. If the waiter has
   * left meanwhile, schedules the next refresh for the others.
   */
  refreshed(waiter: LockWaiter, freeInMs: number, sent: SentTimes): void {
    const { lock, isQueued } = waiter;
    if (isQueued && freeInMs > 0) waiter.queuedAt = sent;
    else if (isQueued) this.#retry(waiter);
    if (lock !== undefined) this.#refreshIn(lock, freeInMs);
  }

  /** Handles a hand-over in the reply to a request of this client: the lease counts from when that request was sent. */
  served({ token, fence }: Served, sent: SentTimes): void {
    const waiter = this.#waiters.get(ownerOf(token));
    if (waiter === undefined) return;
    this.remove(waiter);
    waiter.waiter.notify({ type: 'granted', fence, ...sent, isReserved: false });
  }

  /**
   * Handles a message: the lock is reserved for the waiter, since some time after `queuedAt`. If the waiter sent its
   * request more than once, the message may be of an earlier hand-over: it sends the request again.
   */
  reserved({ token, fence }: Served): void {
    const found = this.#waiters.get(ownerOf(token));
    if (found === undefined) return;
    const { request, waiter, queuedAt, isFirst } = found;
    forgetPlace(found);
    if (!isFirst || queuedAt === undefined) {
      waiter.notify({ type: 'retry' });
      return;
    }
    const earlierMs = Math.max(0, request.leaseMs - RESERVED_MS);
    const sentMs = queuedAt.sentMs - earlierMs;
    const sentWallMs = queuedAt.sentWallMs - earlierMs;
    waiter.notify({ type: 'granted', fence, sentMs, sentWallMs, isReserved: true });
  }

  /** Refreshes the lock of this owner now. The reply that it is in the queue may still be under way. */
  refreshOwner(owner: string): void {
    const waiter = this.#waiters.get(owner);
    if (waiter !== undefined) this.#refresh(waiter);
  }

  /** Makes this waiter look for a deadlock: another client has found one that it should report. */
  checkOwner(owner: string): void {
    this.#waiters.get(owner)?.waiter.notify({ type: 'check' });
  }

  /** Refreshes all locks now, since messages may have been lost. */
  refreshAll(): void {
    for (const lock of this.#locks.values()) this.#refreshNow(lock);
  }

  /** Makes all waiters send their requests again, since all places were lost. */
  retryAll(): void {
    for (const waiter of [...this.#waiters.values()]) this.#retry(waiter);
  }

  /** Makes the waiters of a lock send their requests again: a lost reply may have handed the lock to one of them. */
  retryLock(key: string): void {
    for (const waiter of [...(this.#locks.get(key)?.waiters.values() ?? [])]) {
      if (waiter.isQueued) this.#retry(waiter);
    }
  }

  /** Fails all waiters, since the client cannot receive messages. */
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
    forgetPlace(waiter);
    waiter.waiter.notify({ type: 'retry' });
  }

  /** Schedules a refresh for when the lock may be free, unless one is due earlier: new waiters must not postpone it. */
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

/** The waiter may have lost its place. It stays registered until it holds the lock or is removed. */
function forgetPlace(waiter: LockWaiter): void {
  waiter.isFirst = false;
  waiter.isQueued = false;
  waiter.queuedAt = undefined;
}
