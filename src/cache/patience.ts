import type { Clock } from '../clock/index.ts';
import { AbortHub, type Linked, LinkedList, Scheduled, TimerQueues } from '../lock/index.ts';
import { abortedError, timeoutError } from './errors.ts';

export interface PatienceLimits {
  readonly key: string;
  /** Since when the caller's time runs. */
  readonly beganMs: number;
  /** After this the caller takes what else there is: resolves with undefined. */
  readonly softMs: number;
  /** After this it has waited too long: rejects. */
  readonly hardMs: number;
  readonly signal: AbortSignal | undefined;
}

/** Of all caches, since programs share signals between them. */
const aborts = new AbortHub<Waiter>();

/** Callers who do not wait for ever for a piece of work. The work goes on without them. */
export class Patience {
  readonly #waiters = new LinkedList<Waiter>();
  /** Who waits wants to live until then. */
  readonly #soft: TimerQueues<Limit>;
  readonly #hard: TimerQueues<Limit>;
  /** Why nobody waits any more. */
  #end: { readonly reason: unknown } | undefined;

  constructor(clock: Clock) {
    this.#soft = new TimerQueues(clock, ({ waiter }) => waiter.resolve(undefined), true);
    this.#hard = new TimerQueues(clock, ({ waiter }) => waiter.outOfTime(), true);
  }

  /** What comes of the work, for one caller. An error of the work is told as `explain` says. */
  wait<Result>(
    work: Promise<Result>,
    limits: PatienceLimits,
    explain: (key: string, error: unknown) => unknown = asItIs,
  ): Promise<Result | undefined> {
    const { key, signal } = limits;
    const end = signal?.aborted ? signal : this.#end;
    if (end !== undefined) {
      // What comes of it is nobody's any more, and an error must not end the process.
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

  /** All who wait now give up, and all who come later. */
  end(reason: unknown): void {
    this.#end = { reason };
    for (const waiter of this.#waiters.toArray()) waiter.giveUp(reason);
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

/** One of the two times of a waiter. */
class Limit extends Scheduled<Limit> {
  readonly waiter: Waiter;

  constructor(waiter: Waiter) {
    super();
    this.waiter = waiter;
  }
}

/** One who waits. What comes first decides; the rest is not heard. */
class Waiter implements Linked<Waiter> {
  before: Waiter | undefined = undefined;
  after: Waiter | undefined = undefined;
  readonly soft = new Limit(this);
  readonly hard = new Limit(this);
  readonly limits: PatienceLimits;
  readonly #patience: Patience;
  readonly #resolve: (result: unknown) => void;
  readonly #reject: (error: unknown) => void;
  #isOver = false;

  constructor(
    patience: Patience,
    limits: PatienceLimits,
    resolve: (result: unknown) => void,
    reject: (error: unknown) => void,
  ) {
    this.#patience = patience;
    this.limits = limits;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  resolve(result: unknown): void {
    if (this.#ends()) this.#resolve(result);
  }

  reject(error: unknown): void {
    if (this.#ends()) this.#reject(error);
  }

  outOfTime(): void {
    this.reject(timeoutError(this.limits.key, this.limits.hardMs));
  }

  aborted(): void {
    this.giveUp(this.limits.signal?.reason);
  }

  giveUp(reason: unknown): void {
    this.reject(abortedError(this.limits.key, reason));
  }

  #ends(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#patience.leave(this);
    return true;
  }
}
