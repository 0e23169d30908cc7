import { type Clock, type Timer, virtualClock } from '../src/clock/index.ts';

/**
 * A virtual clock for work that is done in turns. A turn passes only by `step`, so that a test can do something between any
 * two. Reading the time takes `tickMs`, so that work with a time limit is done in many slices.
 */
export class StepClock implements Clock {
  readonly #virtual = virtualClock();
  #deferred: (() => void)[] = [];
  tickMs = 0;
  #aheadMs = 0;

  monotonicMs(): number {
    this.#aheadMs += this.tickMs;
    return this.#virtual.monotonicMs() + this.#aheadMs;
  }

  wallMs(): number {
    return this.#virtual.wallMs() + this.#aheadMs;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    return this.#virtual.setTimer(delayMs, callback);
  }

  defer(callback: () => void): void {
    this.#deferred.push(callback);
  }

  /** A turn of the event loop. */
  async step(): Promise<void> {
    const deferred = this.#deferred;
    this.#deferred = [];
    for (const callback of deferred) callback();
    await settlePromises();
  }

  jumpWall(differenceMs: number): void {
    this.#virtual.jumpWall(differenceMs);
  }

  async advance(durationMs: number): Promise<void> {
    await this.#virtual.advanceAsync(durationMs);
  }

  /** As `advance`, but promises that timers resolve run later. */
  advanceNow(durationMs: number): void {
    this.#virtual.advance(durationMs);
  }

  /** Waits for a promise that needs turns. */
  async until<Result>(promise: Promise<Result>): Promise<Result> {
    let isDone = false;
    const done = (): void => {
      isDone = true;
    };
    promise.then(done, done);
    await settlePromises();
    while (!isDone) await this.step();
    return promise;
  }

  /** Resolves a turn later. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.defer(resolve));
  }
}

async function settlePromises(): Promise<void> {
  for (let count = 0; count < 12; count++) await Promise.resolve();
}
