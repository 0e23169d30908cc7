import type { Clock } from '../clock/index.ts';

/**
 * Writes at most MAX_LINES lines per second, so that clients cannot fill a disk with log lines. The first line after
 * that says how many were dropped.
 */
export class ThrottledLog {
  readonly #clock: Clock;
  readonly #write: (line: string) => void;
  #secondBeganMs = Number.NEGATIVE_INFINITY;
  #lines = 0;

  constructor(clock: Clock, write: (line: string) => void) {
    this.#clock = clock;
    this.#write = write;
  }

  write(line: string): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#secondBeganMs >= 1000) this.#beginSecond(nowMs);
    if (this.#lines++ < MAX_LINES) this.#write(line);
  }

  #beginSecond(nowMs: number): void {
    const dropped = this.#lines - MAX_LINES;
    if (dropped > 0) this.#write(`${dropped} more lines were dropped: too many in one second`);
    this.#secondBeganMs = nowMs;
    this.#lines = 0;
  }
}

const MAX_LINES = 100;
