import { randomFillSync } from 'node:crypto';
import type { Clock, Timer } from './clock.ts';
import type { Random } from './random.ts';

/** Node fires a longer timeout after one millisecond, so that a longer delay is split into several timeouts. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** `performance` is looked up at each call, since the fake timers of test runners replace it. */
export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer: (delayMs, callback) => new SystemTimer(performance.now() + delayMs, callback),
  defer: (callback) => void setImmediate(callback),
};

class SystemTimer implements Timer {
  readonly #dueMs: number;
  readonly #callback: () => void;
  #handle: NodeJS.Timeout;
  #keepsAlive = false;

  constructor(dueMs: number, callback: () => void) {
    this.#dueMs = dueMs;
    this.#callback = callback;
    this.#handle = this.#arm();
  }

  cancel(): void {
    clearTimeout(this.#handle);
  }

  keepAlive(enabled: boolean): void {
    this.#keepsAlive = enabled;
    if (enabled) this.#handle.ref();
    else this.#handle.unref();
  }

  #arm(): NodeJS.Timeout {
    // Node rounds down to whole milliseconds and may fire early by a fraction of one.
    const leftMs = Math.max(Math.ceil(this.#dueMs - performance.now()), 0);
    const handle = setTimeout(() => this.#fire(), Math.min(leftMs, MAX_TIMEOUT_MS));
    return this.#keepsAlive ? handle : handle.unref();
  }

  #fire(): void {
    if (performance.now() < this.#dueMs) this.#handle = this.#arm();
    else this.#callback();
  }
}

export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: pooledBytes,
};

const POOL_BYTES = 4096;
let pool = new Uint8Array(0);
let taken = 0;

/** Cryptographically secure bytes. They are generated in blocks: a call per lock would cost more than the lock. */
function pooledBytes(count: number): Uint8Array {
  if (taken + count > pool.length) {
    pool = randomFillSync(new Uint8Array(Math.max(POOL_BYTES, count)));
    taken = 0;
  }
  taken += count;
  return pool.subarray(taken - count, taken);
}
