/** What happened, by the names of Redis: a command that is flagged as fast, or another one. */
export type LatencyEvent = 'command' | 'fast-command';

export interface LatencySample {
  readonly unixSeconds: number;
  durationMs: number;
}

const MOST_SAMPLES = 160;

/** The times at which something took longer than `latency-monitor-threshold`, by what it was. */
export class LatencyMonitor {
  /** At least so long; Infinity while nothing is watched. */
  thresholdMs = Number.POSITIVE_INFINITY;
  /** Oldest first. */
  readonly samples = new Map<LatencyEvent, LatencySample[]>();
  readonly longestMs = new Map<LatencyEvent, number>();

  /** Zero stops watching, as in Redis. */
  setThreshold(thresholdMs: number): void {
    this.thresholdMs = thresholdMs === 0 ? Number.POSITIVE_INFINITY : thresholdMs;
  }

  /** One sample a second: the longest. */
  add(event: LatencyEvent, unixSeconds: number, exactMs: number): void {
    const durationMs = Math.floor(exactMs);
    this.longestMs.set(event, Math.max(durationMs, this.longestMs.get(event) ?? 0));
    const samples = this.samples.get(event) ?? [];
    this.samples.set(event, samples);
    const last = samples.at(-1);
    if (last?.unixSeconds === unixSeconds) {
      last.durationMs = Math.max(last.durationMs, durationMs);
      return;
    }
    samples.push({ unixSeconds, durationMs });
    if (samples.length > MOST_SAMPLES) samples.shift();
  }

  /** Forgets an event; whether there was something to forget. */
  forget(event: LatencyEvent): boolean {
    this.longestMs.delete(event);
    return this.samples.delete(event);
  }
}
