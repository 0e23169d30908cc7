import type { Clock } from '../clock/index.ts';
import type { LogEntry } from './log-entry.ts';

/**
 * Writes at most MAX_LINES entries per second, so that clients cannot fill a disk with log lines. The first entry after
 * that says how many were dropped.
 */
export class ThrottledLog {
  readonly #clock: Clock;
  readonly #write: (entry: LogEntry) => void;
  #secondBeganMs = Number.NEGATIVE_INFINITY;
  #lines = 0;

  constructor(clock: Clock, write: (entry: LogEntry) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  write(entry: LogEntry): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#secondBeganMs >= 1000) this.#beginSecond(nowMs);
    if (this.#lines++ < MAX_LINES) this.#write(entry);
  }

  #beginSecond(nowMs: number): void {
    const lines = this.#lines - MAX_LINES;
    if (lines > 0) this.#write(droppedEntry(lines));
    this.#secondBeganMs = nowMs;
    this.#lines = 0;
  }
}

const MAX_LINES = 100;

function droppedEntry(lines: number): LogEntry {
  const message = `${lines} more lines were dropped: too many in one second`;
  return { level: 'warning', event: 'log-dropped', message, fields: { lines } };
}
