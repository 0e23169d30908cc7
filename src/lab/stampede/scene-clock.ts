import type { Clock, Timer } from '../../clock/index.ts';

/**
 * A virtual clock that jumps from one timer to the next. Hundreds of clients have timers for the same moment:
 * these run together, and all promise callbacks run before the next moment.
 */
export class SceneClock implements Clock {
  readonly #moments = new Map<number, Set<() => void>>();
  #nowMs = 0;

  monotonicMs(): number {
    return this.#nowMs;
  }

  wallMs(): number {
    return START_MS + this.#nowMs;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    const dueMs = this.#nowMs + Math.max(delayMs, 0);
    const moment = this.#moments.get(dueMs) ?? new Set();
    this.#moments.set(dueMs, moment);
    // A new function for each timer: the same callback may be set twice for one moment.
    const timer = (): void => callback();
    moment.add(timer);
    return { cancel: () => void moment.delete(timer), keepAlive() {} };
  }

  defer(callback: () => void): void {
    this.setTimer(0, callback);
  }

  /** Advances the time and runs all timers that are due by then. */
  async runUntil(atMs: number): Promise<void> {
    await settled();
    for (let dueMs = this.#next(); dueMs <= atMs; dueMs = this.#next()) {
      const moment = this.#moments.get(dueMs)!;
      this.#moments.delete(dueMs);
      this.#nowMs = dueMs;
      for (const timer of moment) timer();
      await settled();
    }
    this.#nowMs = atMs;
  }

  #next(): number {
    let nextMs = Number.POSITIVE_INFINITY;
    for (const dueMs of this.#moments.keys()) nextMs = Math.min(nextMs, dueMs);
    return nextMs;
  }
}

const START_MS = Date.UTC(2026, 0, 1);
const READY = Promise.resolve();

/** Resolves when no promise callback is left to run: see `perform` in library/perform.ts. */
function settled(): Promise<void> {
  return new Promise((resolve) => void READY.then(() => process.nextTick(resolve)));
}
