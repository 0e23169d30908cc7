import type { Clock, Timer } from '../clock/index.ts';
import { abortedError, timeoutError } from './errors.ts';

export interface PatienceLimits {
  readonly clock: Clock;
  readonly key: string;
  /** After this the caller takes what else there is: resolves with undefined. */
  readonly softMs: number;
  /** After this it has waited too long: rejects. */
  readonly hardMs: number;
  readonly signal: AbortSignal | undefined;
}

/** What comes of a piece of work, for a caller who does not wait for ever. The work goes on without it. */
export function withPatience<Result>(
  work: Promise<Result>,
  { clock, key, softMs, hardMs, signal }: PatienceLimits,
): Promise<Result | undefined> {
  const timers: Timer[] = [];
  return new Promise<Result | undefined>((resolve, reject) => {
    const after = (delayMs: number, act: () => void): void => {
      if (delayMs === Number.POSITIVE_INFINITY) return;
      const timer = clock.setTimer(delayMs, act);
      // Who waits wants to live until then.
      timer.keepAlive(true);
      timers.push(timer);
    };
    const onAbort = (): void => settle(() => reject(abortedError(key, signal?.reason)));
    const settle = (act: () => void): void => {
      for (const timer of timers.splice(0)) timer.cancel();
      signal?.removeEventListener('abort', onAbort);
      act();
    };
    after(softMs, () => settle(() => resolve(undefined)));
    after(hardMs, () => settle(() => reject(timeoutError(key, hardMs))));
    signal?.addEventListener('abort', onAbort);
    work.then(
      (result) => settle(() => resolve(result)),
      (error: unknown) => settle(() => reject(error)),
    );
  });
}
