import type { Clock, Timer } from '../clock/index.ts';
import { abortedError, timeoutError } from './errors.ts';

export interface PatienceLimits {
  readonly key: string;
  /** After this the caller takes what else there is: resolves with undefined. */
  readonly softMs: number;
  /** After this it has waited too long: rejects. */
  readonly hardMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Callers who do not wait for ever for a piece of work. The work goes on without them. */
export class Patience {
  readonly #clock: Clock;
  readonly #givingUp = new Set<(reason: unknown) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** What comes of the work, for one caller. */
  wait<Result>(
    work: Promise<Result>,
    { key, softMs, hardMs, signal }: PatienceLimits,
  ): Promise<Result | undefined> {
    return new Promise((resolve, reject) => {
      const timers: Timer[] = [];
      const settle = (act: () => void): void => {
        for (const timer of timers.splice(0)) timer.cancel();
        signal?.removeEventListener('abort', onAbort);
        this.#givingUp.delete(giveUp);
        act();
      };
      const giveUp = (reason: unknown): void => settle(() => reject(abortedError(key, reason)));
      const onAbort = (): void => giveUp(signal?.reason);
      this.#after(timers, softMs, () => settle(() => resolve(undefined)));
      this.#after(timers, hardMs, () => settle(() => reject(timeoutError(key, hardMs))));
      signal?.addEventListener('abort', onAbort);
      this.#givingUp.add(giveUp);
      work.then(
        (result) => settle(() => resolve(result)),
        (error: unknown) => settle(() => reject(error)),
      );
    });
  }

  /** All who wait now give up. */
  end(reason: unknown): void {
    for (const giveUp of [...this.#givingUp]) giveUp(reason);
  }

  #after(timers: Timer[], delayMs: number, act: () => void): void {
    if (delayMs === Number.POSITIVE_INFINITY) return;
    const timer = this.#clock.setTimer(delayMs, act);
    // Who waits wants to live until then.
    timer.keepAlive(true);
    timers.push(timer);
  }
}
