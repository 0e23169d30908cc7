import type { Clock } from '../clock/index.ts';
import type { Ears, RedisLink } from './redis-link.ts';

/** Between two tries to open the connection again. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
/** How long it may take until it is heard. */
const PATIENCE_MS = 5000;

export interface SubscriptionOptions {
  readonly channel: string;
  onMessage(text: string): void;
  /** Messages may have been lost; from now on they are heard again. */
  onGap(): void;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Keeps one channel heard until the signal aborts: whenever the connection ends, opens another. Resolves
 * when it is heard for the first time, and rejects if that fails, in which case nothing is left open.
 */
export function subscribe(
  hear: RedisLink['hear'],
  { channel, onMessage, onGap, signal, clock }: SubscriptionOptions,
): Promise<void> {
  let wasHeard = false;
  let pauseMs = FIRST_PAUSE_MS;
  return new Promise((resolve, reject) => {
    const onSubscribed = (): void => {
      pauseMs = FIRST_PAUSE_MS;
      if (wasHeard) onGap();
      else resolve();
      wasHeard = true;
    };
    const listenOnce = async (): Promise<void> => {
      // A connection that is swallowed would never say that it does not hear.
      const trial = new AbortController();
      const timer = clock.setTimer(PATIENCE_MS, () => trial.abort());
      const ears: Ears = {
        onMessage,
        onSubscribed: () => {
          timer.cancel();
          onSubscribed();
        },
      };
      const either = AbortSignal.any([signal, trial.signal]);
      const reason: unknown = await hear(channel, ears, either).catch((error: unknown) => error);
      timer.cancel();
      if (!wasHeard) return reject(reason ?? new Error('the connection has ended'));
      if (signal.aborted) return;
      clock.setTimer(pauseMs, () => void (signal.aborted || listenOnce()));
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    };
    void listenOnce();
  });
}
