import type { Clock, Timer } from './clock.ts';

/** A clock that moves only by `advance`. Timers fire in order of their deadlines. */
export interface VirtualClock extends Clock {
  /**
   * Moves both clocks forward and fires every timer that falls due on the way. Synchronous: a promise that a
   * timer resolves continues only afterwards, so a renewal is not seen before the end of its lease.
   */
  advance(durationMs: number): void;
  /** As `advance`, and lets pending promises continue before and after each timer. */
  advanceAsync(durationMs: number): Promise<void>;
  /** Moves only the wall clock, as an operator or NTP does. */
  jumpWall(differenceMs: number): void;
  /** The number of timers that have not fired: zero after everything is closed. */
  readonly pendingTimers: number;
}

interface Pending {
  readonly dueMs: number;
  readonly order: number;
  readonly callback: () => void;
}

export function virtualClock(startWallMs = Date.UTC(2026, 0, 1)): VirtualClock {
  let nowMs = 0;
  let wallOffsetMs = startWallMs;
  let order = 0;
  const pending = new Set<Pending>();

  const earliest = (limitMs: number): Pending | undefined => {
    let first: Pending | undefined;
    for (const timer of pending) {
      if (timer.dueMs <= limitMs && (first === undefined || comesBefore(timer, first))) {
        first = timer;
      }
    }
    return first;
  };

  const fire = (timer: Pending): void => {
    pending.delete(timer);
    nowMs = Math.max(nowMs, timer.dueMs);
    timer.callback();
  };

  return {
    monotonicMs: () => nowMs,
    wallMs: () => nowMs + wallOffsetMs,
    setTimer(delayMs: number, callback: () => void): Timer {
      const timer = { dueMs: nowMs + Math.max(delayMs, 0), order: order++, callback };
      pending.add(timer);
      return { cancel: () => pending.delete(timer), keepAlive: () => {} };
    },
    defer(callback: () => void): void {
      this.setTimer(0, callback);
    },
    advance(durationMs: number): void {
      const untilMs = nowMs + checkDuration(durationMs);
      for (let timer = earliest(untilMs); timer; timer = earliest(untilMs)) fire(timer);
      nowMs = untilMs;
    },
    async advanceAsync(durationMs: number): Promise<void> {
      const untilMs = nowMs + checkDuration(durationMs);
      await settlePromises();
      for (let timer = earliest(untilMs); timer; timer = earliest(untilMs)) {
        fire(timer);
        await settlePromises();
      }
      nowMs = Math.max(nowMs, untilMs);
    },
    jumpWall(differenceMs: number): void {
      wallOffsetMs += differenceMs;
    },
    get pendingTimers(): number {
      return pending.size;
    },
  };
}

function checkDuration(durationMs: number): number {
  if (Number.isFinite(durationMs) && durationMs >= 0) return durationMs;
  throw new RangeError(
    `the virtual clock advances by milliseconds from 0 on, such as 10_000; got ${durationMs}`,
  );
}

/** Kept from when the module is loaded: fake timers of a test runner replace the global function. */
const nextTurn = setImmediate;

/** Node runs all promise callbacks that are ready before the next turn of the event loop. */
function settlePromises(): Promise<void> {
  return new Promise((resolve) => void nextTurn(resolve));
}

function comesBefore(a: Pending, b: Pending): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}
