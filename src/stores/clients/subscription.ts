import type { Clock } from '../../clock/index.ts';
import type { RedisLink, SubscriptionHandlers } from './redis-link.ts';

/** Between two attempts to open the connection again. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;
/** How long the server may take to confirm a subscription. */
const SUBSCRIBE_TIMEOUT_MS = 5000;

export interface SubscriptionOptions {
  readonly channel: string;
  onMessage(text: string): void;
  /** Messages may have been lost; from now on they are received again. */
  onGap(): void;
  /** The connection of a confirmed subscription has ended. */
  onLost?: (() => void) | undefined;
  readonly signal: AbortSignal;
  readonly clock: Clock;
}

/**
 * Keeps one channel subscribed until the signal aborts: whenever the connection ends, opens another. Resolves
 * when the first subscription is confirmed, and rejects if that fails, in which case nothing is left open.
 */
export function subscribe(
  open: RedisLink['subscribe'],
  { channel, onMessage, onGap, onLost, signal, clock }: SubscriptionOptions,
): Promise<void> {
  let wasSubscribed = false;
  let pauseMs = MIN_PAUSE_MS;
  return new Promise((resolve, reject) => {
    const onSubscribed = (): void => {
      pauseMs = MIN_PAUSE_MS;
      if (wasSubscribed) onGap();
      else resolve();
      wasSubscribed = true;
    };
    const subscribeOnce = async (): Promise<void> => {
      let isConfirmed = false;
      const attempt = new AbortController();
      const timer = clock.setTimer(SUBSCRIBE_TIMEOUT_MS, () => attempt.abort(new Error(TIMED_OUT)));
      const handlers: SubscriptionHandlers = {
        onMessage,
        onSubscribed: () => {
          timer.cancel();
          isConfirmed = true;
          onSubscribed();
        },
      };
      const either = AbortSignal.any([signal, attempt.signal]);
      const failure: unknown = await open(channel, handlers, either).catch(
        (error: unknown) => error,
      );
      timer.cancel();
      if (isConfirmed) onLost?.();
      if (!wasSubscribed) return reject(failure ?? new Error('the connection has ended'));
      if (signal.aborted) return;
      clock.setTimer(pauseMs, () => void (signal.aborted || subscribeOnce()));
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    };
    void subscribeOnce();
  });
}

const TIMED_OUT = `the server did not confirm the subscription within ${SUBSCRIBE_TIMEOUT_MS} ms`;
