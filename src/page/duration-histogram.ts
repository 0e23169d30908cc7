import type { Histogram } from './protocol.ts';

/** Upper limits of the buckets: 1, 2, 5 and so on, to an hour. */
const BOUNDS_MS: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000, 120_000, 300_000,
  600_000, 1_800_000, 3_600_000,
];

/** The number of the bucket of a duration. */
export function bucketOf(durationMs: number): number {
  const index = BOUNDS_MS.findIndex((boundMs) => durationMs <= boundMs);
  return index === -1 ? BOUNDS_MS.length : index;
}

export function newBuckets(): number[] {
  return new Array<number>(BOUNDS_MS.length + 1).fill(0);
}

/** Quantiles are interpolated inside of their bucket; one beyond the last bound is that bound. */
export function histogramOf(counts: readonly number[]): Histogram {
  return {
    boundsMs: BOUNDS_MS,
    counts,
    p50Ms: quantile(counts, 0.5),
    p99Ms: quantile(counts, 0.99),
  };
}

function quantile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  const wanted = share * total;
  let before = 0;
  for (const [index, count] of counts.entries()) {
    if (before + count >= wanted && count > 0) {
      const fromMs = index === 0 ? 0 : BOUNDS_MS[index - 1]!;
      const toMs = BOUNDS_MS[index] ?? fromMs;
      return fromMs + ((wanted - before) / count) * (toMs - fromMs);
    }
    before += count;
  }
  return BOUNDS_MS.at(-1)!;
}
