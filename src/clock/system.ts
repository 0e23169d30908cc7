import { randomFillSync } from 'node:crypto';
import type { Clock, Timer } from './clock.ts';
import type { Random } from './random.ts';

/** Node fires a longer timeout after one millisecond, so that long delays are walked in steps. */
const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  setTimer(delayMs: number, callback: () => void): Timer {
    const dueMs = performance.now() + delayMs;
    let handle: NodeJS.Timeout;
    const arm = (): void => {
      const leftMs = dueMs - performance.now();
      // Node rounds down to whole milliseconds and may fire early by a fraction of one.
      const stepMs = Math.min(Math.max(Math.ceil(leftMs), 0), LONGEST_TIMEOUT_MS);
      handle = setTimeout(() => (performance.now() < dueMs ? arm() : callback()), stepMs);
      handle.unref();
    };
    arm();
    return { cancel: () => clearTimeout(handle) };
  },
  defer: (callback) => void setImmediate(callback),
};

export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: pooledBytes,
};

const POOL_BYTES = 4096;
let pool = new Uint8Array(0);
let taken = 0;

/** Secure, and drawn many at a time: a call to the generator costs more than a lock in memory. */
function pooledBytes(count: number): Uint8Array {
  if (taken + count > pool.length) {
    pool = randomFillSync(new Uint8Array(Math.max(POOL_BYTES, count)));
    taken = 0;
  }
  taken += count;
  return pool.subarray(taken - count, taken);
}
