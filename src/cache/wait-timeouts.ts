import type { Clock } from '../clock/index.ts';
import { AbortHub, type Linked, LinkedList, Scheduled, TimerQueues } from '../lock/index.ts';
import { abortedError, timeoutError } from './errors.ts';

export interface WaitLimits {
  readonly key: string;
  /** When the caller began to wait. */
  readonly beganMs: number;
  /** After this the wait resolves with undefined. */
  readonly softMs: number;
  /** After this the wait rejects. */
  readonly hardMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Shared by all caches: one listener for a signal that many calls have. */
const aborts = new AbortHub<Waiter>();

/** Callers that wait for a promise with timeouts and a signal. The work continues after a timeout. */
export class WaitTimeouts {
  readonly #waiters = new LinkedList<Waiter>();
  /** Timers keep the process alive while a caller waits. */
  readonly #soft: TimerQueues<Limit>;
  readonly #hard: TimerQueues<Limit>;
  /** Set by `end`: all waits reject with this reason. */
  #end: { readonly reason: unknown } | undefined;

  constructor(clock: Clock) {
    this.#soft = new TimerQueues(clock, ({ waiter }) => waiter.resolve(undefined), true);
    this.#hard = new TimerQueues(clock, ({ waiter }) => waiter.timeOut(), true);
  }

  /** Waits for the work, for one caller. `explain` converts an error of the work. */
  wait<Result>(
    work: Promise<Result>,
    limits: WaitLimits,
    explain: (key: string, error: unknown) => unknown = asItIs,
  ): Promise<Result | undefined> {
    const { key, signal } = limits;
    const end = signal?.aborted ? signal : this.#end;
    if (end !== undefined) {
      // An unhandled rejection would end the process.
      work.catch(() => {});
      return Promise.reject(abortedError(key, end.reason));
    }
    return new Promise<unknown>((resolve, reject) => {
      const waiter = new Waiter(this, limits, resolve, reject);
      this.#enter(waiter);
      work.then(
        (result) => waiter.resolve(result),
        (error: unknown) => waiter.reject(explain(key, error)),
      );
    }) as Promise<Result | undefined>;
  }

  /** Rejects all current and later waits. */
  end(reason: unknown): void {
    this.#end = { reason };
    for (const waiter of this.#waiters.toArray()) waiter.abort(reason);
    this.#soft.close();
    this.#hard.close();
  }

  leave(waiter: Waiter): void {
    this.#waiters.remove(waiter);
    waiter.soft.unschedule();
    waiter.hard.unschedule();
    const { signal } = waiter.limits;
    if (signal !== undefined) aborts.remove(signal, waiter);
  }

  #enter(waiter: Waiter): void {
    const { beganMs, softMs, hardMs, signal } = waiter.limits;
    this.#waiters.push(waiter);
    if (softMs !== Number.POSITIVE_INFINITY) this.#soft.add(waiter.soft, softMs, beganMs);
    if (hardMs !== Number.POSITIVE_INFINITY) this.#hard.add(waiter.hard, hardMs, beganMs);
    if (signal !== undefined) aborts.add(signal, waiter);
  }
}

function asItIs(_key: string, error: unknown): unknown {
  return error;
}

/** One of the two timeouts of a waiter. */
class Limit extends Scheduled<Limit> {
  readonly waiter: Waiter;

  constructor(waiter: Waiter) {
    super();
    this.waiter = waiter;
  }
}

/** A waiting caller. The first of result, timeout and abort settles it. */
class Waiter implements Linked<Waiter> {
  before: Waiter | undefined = undefined;
  after: Waiter | undefined = undefined;
  readonly soft = new Limit(this);
  readonly hard = new Limit(this);
  readonly limits: WaitLimits;
  readonly #timeouts: WaitTimeouts;
  readonly #resolve: (result: unknown) => void;
  readonly #reject: (error: unknown) => void;
  #isSettled = false;

  constructor(
    timeouts: WaitTimeouts,
    limits: WaitLimits,
    resolve: (result: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.#timeouts = timeouts;
    this.limits = limits;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  resolve(result: unknown): void {
    if (this.#settle()) this.#resolve(result);
  }

  reject(error: unknown): void {
    if (this.#settle()) this.#reject(error);
  }

  timeOut(): void {
    this.reject(timeoutError(this.limits.key, this.limits.hardMs));
  }

  /** Called by AbortHub when the signal of the caller aborts. */
  aborted(): void {
    this.abort(this.limits.signal?.reason);
  }

  abort(reason: unknown): void {
    this.reject(abortedError(this.limits.key, reason));
  }

  /** Returns false if it was settled before. */
  #settle(): boolean {
    if (this.#isSettled) return false;
    this.#isSettled = true;
    this.#timeouts.leave(this);
    return true;
  }
}
