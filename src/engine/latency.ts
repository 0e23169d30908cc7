/** The events of Redis's latency monitor: a command with the flag `fast`, or any other one. */
export type LatencyEvent = 'command' | 'fast-command';

export interface LatencySample {
  readonly unixSeconds: number;
  durationMs: number;
}

const MAX_SAMPLES = 160;

/** The commands that took at least `latency-monitor-threshold`, by event. */
export class LatencyMonitor {
  /** The shortest duration that is recorded; Infinity while the monitor is off. */
  thresholdMs = Number.POSITIVE_INFINITY;
  /** Oldest first. */
  readonly samples = new Map<LatencyEvent, LatencySample[]>();
  readonly longestMs = new Map<LatencyEvent, number>();

  /** Zero turns the monitor off, as in Redis. */
  setThreshold(thresholdMs: number): void {
    this.thresholdMs = thresholdMs === 0 ? Number.POSITIVE_INFINITY : thresholdMs;
  }

  /** Keeps the longest duration of each second. */
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
    if (samples.length > MAX_SAMPLES) samples.shift();
  }

  /** Removes the samples of an event. Returns whether there were any. */
  forget(event: LatencyEvent): boolean {
    this.longestMs.delete(event);
    return this.samples.delete(event);
  }
}
