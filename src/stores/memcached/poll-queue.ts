import type { Clock, Random, Timer } from '../../clock/index.ts';
import type { Waiter } from '../../lock/index.ts';

/**
 * The waiters of this process, in order of arrival for each lock. memcached cannot notify clients, so the first waiter of
 * each lock polls, on behalf of all: it is notified to send its request again. The others wait until they are first.
 */
export class PollQueue {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #locks = new Map<string, WaitingLock>();

  constructor(clock: Clock, random: Random) {
    this.#clock = clock;
    this.#random = random;
  }

  /** Adds a waiter, unless it is in the queue. */
  enter(key: string, owner: string, waiter: Waiter): void {
    let lock = this.#locks.get(key);
    if (lock === undefined) {
      const turnsFromMs = this.#clock.monotonicMs();
      lock = { waiters: new Map(), timer: undefined, failure: undefined, turnsFromMs };
      this.#locks.set(key, lock);
    }
    const hasSent = lock.waiters.get(owner)?.hasSent ?? false;
    lock.waiters.set(owner, { waiter, hasSent });
  }

  /**
   * Whether a request of this owner may be sent: no other waiter of this process is before it.
   *
   * @throws the error of the last poll, if it failed.
   */
  isFirst(key: string, owner: string): boolean {
    const lock = this.#locks.get(key);
    if (lock === undefined) return true;
    const [first, queued] = firstOf(lock);
    if (first === owner) {
      queued!.hasSent = true;
      return true;
    }
    if (lock.failure !== undefined) throw lock.failure.error;
    return false;
  }

  /**
   * Removes a waiter. If it was first, the next one polls from now on. Returns true if the waiter has sent no request, so
   * that there is nothing to release.
   */
  leave(key: string, owner: string): boolean {
    const lock = this.#locks.get(key);
    const queued = lock?.waiters.get(owner);
    if (lock === undefined || queued === undefined) return false;
    const wasFirst = firstOf(lock)[0] === owner;
    lock.waiters.delete(owner);
    if (lock.waiters.size === 0) {
      lock.timer?.cancel();
      this.#locks.delete(key);
    } else if (wasFirst) {
      lock.failure = undefined;
      this.#pollLater(lock);
    }
    return !queued.hasSent;
  }

  /** The first waiter found the lock busy: it polls again later. */
  busy(key: string): void {
    const lock = this.#locks.get(key);
    if (lock === undefined) return;
    lock.failure = undefined;
    this.#pollLater(lock);
  }

  /** The request of the first waiter failed. It retries on its own; the others are notified of the error. */
  failed(key: string, owner: string, error: unknown): void {
    const lock = this.#locks.get(key);
    if (lock === undefined || firstOf(lock)[0] !== owner) return;
    lock.failure = { error };
    const [, ...others] = [...lock.waiters.values()];
    for (const { waiter } of others) waiter.notify({ type: 'failed', error });
  }

  /**
   * This process has released the lock: its first waiter polls at once. After MAX_TURNS_MS of such turns it polls later,
   * so that a waiter of another process finds the lock free.
   */
  released(key: string): void {
    const lock = this.#locks.get(key);
    if (lock === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - lock.turnsFromMs <= MAX_TURNS_MS) notifyFirst(lock);
    else {
      lock.turnsFromMs = nowMs;
      this.#pollLater(lock);
    }
  }

  /** The time until the next poll: random, so that clients that began together do not poll together. */
  pollMs(): number {
    return MIN_POLL_MS + this.#random.next() * (MAX_POLL_MS - MIN_POLL_MS);
  }

  close(): void {
    for (const { timer } of this.#locks.values()) timer?.cancel();
    this.#locks.clear();
  }

  #pollLater(lock: WaitingLock): void {
    lock.timer?.cancel();
    lock.timer = this.#clock.setTimer(this.pollMs(), () => notifyFirst(lock));
  }
}

interface WaitingLock {
  /** By owner, in order of arrival. */
  readonly waiters: Map<string, QueuedWaiter>;
  timer: Timer | undefined;
  failure: { readonly error: unknown } | undefined;
  /** Since when this process has handed the lock to its own waiters. */
  turnsFromMs: number;
}

interface QueuedWaiter {
  readonly waiter: Waiter;
  hasSent: boolean;
}

function firstOf({ waiters }: WaitingLock): [owner?: string, queued?: QueuedWaiter] {
  return waiters.entries().next().value ?? [];
}

function notifyFirst(lock: WaitingLock): void {
  const [, first] = firstOf(lock);
  first?.waiter.notify({ type: 'retry' });
}

const MIN_POLL_MS = 25;
const MAX_POLL_MS = 75;
const MAX_TURNS_MS = 100;
