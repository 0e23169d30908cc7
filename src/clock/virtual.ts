import type { Clock, Timer } from './clock.ts';

/** A clock that moves only by `advance`. Timers fire in order of their deadlines. */
export interface VirtualClock extends Clock {
  /** Moves both clocks forward and fires every timer whose deadline is reached, at its time. */
  advance(durationMs: number): void;
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
      const untilMs = nowMs + durationMs;
      for (let timer = earliest(untilMs); timer; timer = earliest(untilMs)) {
        pending.delete(timer);
        nowMs = Math.max(nowMs, timer.dueMs);
        timer.callback();
      }
      nowMs = untilMs;
    },
    jumpWall(differenceMs: number): void {
      wallOffsetMs += differenceMs;
    },
    get pendingTimers(): number {
      return pending.size;
    },
  };
}

function comesBefore(a: Pending, b: Pending): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.order < b.order);
}
