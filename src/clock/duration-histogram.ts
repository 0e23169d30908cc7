/** Counts durations by size. Adding one takes constant time. */
export class DurationHistogram {
  /** Of durations up to each of DURATION_BOUNDS_S, and of longer ones. Not cumulative. */
  readonly counts = new Array<number>(DURATION_BOUNDS_S.length + 1).fill(0);
  sumSeconds = 0;

  add(seconds: number): void {
    let at = 0;
    while (at < DURATION_BOUNDS_S.length && seconds > DURATION_BOUNDS_S[at]!) at++;
    this.counts[at]!++;
    this.sumSeconds += seconds;
  }
}

/** In seconds: from a lock in memory to one that is busy for minutes. */
export const DURATION_BOUNDS_S = [
  0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300,
] as const;
