import type { Clock } from '../clock/index.ts';
import { isFinal } from './errors.ts';

/** Between two requests to a store that fails. */
export const MIN_PAUSE_MS = 50;
export const MAX_PAUSE_MS = 1000;

export interface Retrying {
  readonly clock: Clock;
  /** Set when the library was closed. */
  readonly closed: object | undefined;
  /** Ends early when the library is closed. */
  pause(durationMs: number): Promise<void>;
}

/** Tries again until it succeeds, for so long. Rejects with the last error; a final one ends it at once. */
export async function retry<Result>(
  core: Retrying,
  durationMs: number,
  act: () => Result | Promise<Result>,
): Promise<Result> {
  const deadlineMs = core.clock.monotonicMs() + durationMs;
  for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    try {
      return await act();
    } catch (error) {
      const isLate = core.clock.monotonicMs() + pauseMs >= deadlineMs;
      if (isFinal(error) || core.closed !== undefined || isLate) throw error;
    }
    await core.pause(pauseMs);
  }
}
