/**
 * The source of time. Durations are measured on the monotonic clock, which cannot be set. The wall clock is used only
 * for times that users and other machines give or read.
 */
export interface Clock {
  /** Milliseconds, with fractions, since an arbitrary start. Never decreases. */
  monotonicMs(): number;
  /** Milliseconds since 1970, with fractions. May jump in both directions. */
  wallMs(): number;
  /**
   * Calls `callback` once, no earlier than `delayMs` from now. The timer does not keep the process alive, unless
   * `keepAlive(true)` is called.
   */
  setTimer(delayMs: number, callback: () => void): Timer;
  /** Calls `callback` once, after the I/O events that are pending now. */
  defer(callback: () => void): void;
}

export interface Timer {
  cancel(): void;
  /** Sets whether the process stays alive until the timer fires. Default: false. */
  keepAlive(enabled: boolean): void;
}
