import { inject } from 'vitest';

/**
 * An upper limit of a duration on the wall clock, scaled by the machine factor. Stays below `timerMs`, the timer
 * of the code under test that would end the wait otherwise. Lower limits are not scaled: nothing may happen too
 * early on any machine.
 */
export function withinMs(limitMs: number, timerMs = Number.POSITIVE_INFINITY): number {
  return Math.min(Math.ceil(limitMs * inject('machineFactor')), timerMs);
}
