import type { Clock } from '../../clock/index.ts';

/** Settles like the promise, or rejects after the timeout or when the signal aborts. */
export function inTime<Result>(
  clock: Clock,
  timeoutMs: number,
  promise: Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const settle = (callback: () => void): void => {
      timer.cancel();
      signal.removeEventListener('abort', abort);
      callback();
    };
    const abort = (): void => settle(() => reject(signal.reason));
    const late = new Error(`no answer within ${timeoutMs} ms`);
    const timer = clock.setTimer(timeoutMs, () => settle(() => reject(late)));
    signal.addEventListener('abort', abort);
    if (signal.aborted) abort();
    promise.then(
      (result) => settle(() => resolve(result)),
      (error: unknown) => settle(() => reject(error)),
    );
  });
}
