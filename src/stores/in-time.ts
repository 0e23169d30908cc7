import type { Clock } from '../clock/index.ts';

/** The same promise, which fails if it takes too long, or when the signal aborts. */
export function inTime<Result>(
  clock: Clock,
  timeoutMs: number,
  promise: Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  return new Promise((resolve, reject) => {
    const late = new Error(`no answer within ${timeoutMs} ms`);
    const timer = clock.setTimer(timeoutMs, () => reject(late));
    const abort = (): void => {
      timer.cancel();
      reject(signal.reason);
    };
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort);
    promise.then(resolve, reject).finally(() => {
      timer.cancel();
      signal.removeEventListener('abort', abort);
    });
  });
}
