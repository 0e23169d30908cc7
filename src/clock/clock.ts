/**
 * Time as a value. Durations are counted on the monotonic clock, which nobody can set; the wall
 * clock is only for times that people and other machines name.
 */
export interface Clock {
  /** Milliseconds, with fractions, from a fixed but arbitrary start. Never goes back. */
  monotonicMs(): number;
  /** Milliseconds since 1970, with fractions. May jump. */
  wallMs(): number;
  /** Calls back once, no earlier than `delayMs` from now. The process does not stay alive for it, unless told. */
  setTimer(delayMs: number, callback: () => void): Timer;
  /** Calls back once, when everything that has arrived by now was handled. */
  defer(callback: () => void): void;
}

export interface Timer {
  cancel(): void;
  /** Whether the process stays alive until the timer fires. */
  keepAlive(isNeeded: boolean): void;
}
