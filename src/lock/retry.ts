import type { Clock } from '../clock/index.ts';
import { isFinal } from './errors.ts';

/** The pause between two requests to a store that fails. It doubles each time. */
export const MIN_PAUSE_MS = 50;
export const MAX_PAUSE_MS = 1000;

export interface Retrying {
  readonly clock: Clock;
  /** Not undefined: the library is closed. */
  readonly closed: object | undefined;
  /** Ends early when the library is closed. */
  pause(durationMs: number): Promise<void>;
}

/** Sends a request until it succeeds or this time is over. Rejects with the last error, and at once with a final one. */
export async function retry<Result>(
  core: Retrying,
  durationMs: number,
  send: () => Result | Promise<Result>,
): Promise<Result> {
  const deadlineMs = core.clock.monotonicMs() + durationMs;
  for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    try {
      return await send();
    } catch (error) {
      const isLate = core.clock.monotonicMs() + pauseMs >= deadlineMs;
      if (isFinal(error) || core.closed !== undefined || isLate) throw error;
    }
    await core.pause(pauseMs);
  }
}
