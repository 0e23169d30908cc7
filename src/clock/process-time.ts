/**
 * Milliseconds on the monotonic clock of the process, the same in all of its threads. `systemClock` of
 * each thread counts from that thread's start.
 */
export function processMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
