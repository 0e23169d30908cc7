import { AsyncLocalStorage } from 'node:async_hooks';
import type { Clock } from '../clock/index.ts';
import type { Lease, Lock } from '../lock/index.ts';
import { abortedError, deadlockError, loadError, unavailableError } from './errors.ts';
import type { Announcer } from './events.ts';
import type { ResolvedCacheOptions } from './options.ts';
import type { CacheStore, Entry, News, Sight, Stamped } from './store.ts';

/** What a load is given: a signal that aborts before another caller can load, and the fence for what it writes. */
export interface LoadContext {
  readonly signal: AbortSignal;
  readonly fence: number;
}

export type Load<Value> = (context: LoadContext) => Promise<Value> | Value;

export interface FlightPlan {
  readonly key: string;
  /** The mutex of whoever loads. */
  readonly mutex: Lock;
  readonly store: CacheStore;
  readonly clock: Clock;
  readonly announcer: Announcer;
  readonly options: ResolvedCacheOptions;
  readonly load: Load<unknown>;
  /** Of the value that is to be replaced; 0: there is none. */
  readonly seenFence: number;
  /** Called when it is known that this process loads, or that it need not. */
  readonly onDecided?: (() => void) | undefined;
}

/** A loader whose writes are refused so often gives its value to its callers and leaves it at that. */
const MOST_REFUSALS = 3;
/** Between two tries to load when nobody seems to hold the mutex, and yet it is busy. */
const PAUSE_MS = 10;
const LONGEST_PAUSES = 30;

/** The flights that the running code loads for, so that no load waits for itself. */
const loading = new AsyncLocalStorage<ReadonlySet<Flight>>();

/**
 * One way to a new value, which all callers of a process share that need it at the same time.
 *
 * Whoever has the mutex loads, and looks once more before it does: the value may have come between the
 * first look and the grant. Whoever has it not waits for the *value*, not for the mutex: they are told of it
 * by the write, all at the same time, and nobody has to take turns. Nobody stands in the mutex's line
 * either, since any of them may load when the loader has died: they try at the end of its lease.
 *
 * The order is what keeps this whole. A waiter looks and is noted down in one step of the store, so a write
 * is either seen by that look or told after it; only then does it ask how long the loader's lease still
 * runs. A message that is lost costs no more than that time.
 */
export class Flight {
  readonly result: Promise<Entry>;
  readonly #plan: FlightPlan;
  #hear: (news: News | undefined) => void = () => {};
  #refusals = 0;
  #tries = 0;
  #isClosed = false;
  #isDecided = false;

  constructor(plan: FlightPlan) {
    this.#plan = plan;
    this.result = this.#fly().finally(() => this.#decided());
    // A refresh in the background fails without anybody who waits for it.
    this.result.catch(() => {});
  }

  /** Somebody has loaded, or failed, or given up, or there may be news that were lost. */
  news(news: News | undefined): void {
    this.#hear(news);
  }

  /** Throws if the running code is part of this very load. */
  checkDeadlock(): void {
    if (loading.getStore()?.has(this)) throw deadlockError(this.#plan.key);
  }

  close(): void {
    this.#isClosed = true;
    this.#hear(undefined);
  }

  async #fly(): Promise<Entry> {
    const { key, options, mutex } = this.#plan;
    for (;;) {
      const { leaseMs: lease, maxLoadMs: maxHold } = options;
      const held = await mutex.tryAcquire({ lease, maxHold }).catch((error: unknown) => {
        throw this.#isClosed ? abortedError(key, error) : unavailableError(key, error);
      });
      const entry = held === null ? await this.#wait() : await this.#lead(held);
      if (entry !== undefined) return entry;
      if (this.#isClosed) throw abortedError(key, new Error('the cache was closed'));
    }
  }

  /** Undefined: nothing has come of it, try to load. */
  async #wait(): Promise<Entry | undefined> {
    const { key, store, options, announcer } = this.#plan;
    if (this.#tries === 0) announcer.asked('wait', key);
    const told = new Promise<News | undefined>((resolve) => {
      this.#hear = resolve;
    });
    const seen = this.#judge(await this.#ask(store.wait(key, options.tags)));
    this.#decided();
    if (seen !== undefined) return seen;
    const news = await this.#orLeaseEnd(told);
    // A message cannot tell whether a tag was invalidated meanwhile.
    if (news === undefined || (news.entry !== undefined && options.tags.length > 0)) {
      return undefined;
    }
    return this.#judge(news);
  }

  async #orLeaseEnd(told: Promise<News | undefined>): Promise<News | undefined> {
    const { clock, mutex } = this.#plan;
    const { holders } = await this.#ask(mutex.inspect());
    const leftMs = holders[0]?.leftMs ?? PAUSE_MS * Math.min(this.#tries, LONGEST_PAUSES);
    this.#tries++;
    if (this.#isClosed) return undefined;
    const timer = clock.setTimer(leftMs, () => this.#hear(undefined));
    const news = await told;
    timer.cancel();
    return news;
  }

  /** Holds the mutex. Undefined: it was lost, or the value was refused. */
  async #lead(lease: Lease): Promise<Entry | undefined> {
    const { key, store, options } = this.#plan;
    try {
      const keepMs = options.freshMs + options.staleMs;
      const opened = await this.#ask(store.open(key, options.tags, keepMs));
      return this.#judge(opened) ?? (await this.#load(lease, opened));
    } finally {
      void lease.release();
    }
  }

  async #load(lease: Lease, { stamp }: Stamped): Promise<Entry | undefined> {
    const { key, clock, announcer } = this.#plan;
    const { fence, signal } = lease;
    announcer.announce('load', { key, fence });
    const beganMs = clock.monotonicMs();
    const lost = new Promise<undefined>((resolve) => {
      if (signal.aborted) resolve(undefined);
      else signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    const entry = this.#loadData({ signal, fence }).then(
      (data) => this.#write({ data, fence, stamp, loadMs: clock.monotonicMs() - beganMs }),
      (error: unknown) => this.#fail(error, lease),
    );
    const first = await Promise.race([entry, lost]);
    if (first !== undefined || !signal.aborted) return first;
    // What comes of it later is written under its old fence, and stands only if there is nothing newer.
    entry.catch(() => {});
    announcer.announce('lose', { key, fence });
    return undefined;
  }

  async #loadData(context: LoadContext): Promise<Entry['data']> {
    const { load, options } = this.#plan;
    const around = loading.getStore();
    const value = await loading.run(new Set(around).add(this), async () => {
      const promise = load(context);
      this.#decided();
      return promise;
    });
    return options.serializer.encode(value);
  }

  async #write(loaded: Omit<Entry, 'freshLeftMs'>): Promise<Entry | undefined> {
    const { key, store, options, announcer } = this.#plan;
    const { freshMs, staleMs, tags } = options;
    // A value that cannot be kept is still what the callers asked for.
    const write = { ...loaded, freshMs, staleMs };
    const isKept = await settle(() => store.write(key, tags, write)).catch(() => undefined);
    const { fence, loadMs } = loaded;
    announcer.announce('write', { key, fence, loadMs, isKept: isKept === true });
    if (isKept === false && ++this.#refusals < MOST_REFUSALS) return undefined;
    return { ...loaded, freshLeftMs: freshMs };
  }

  /** The failure of a load whose lease was lost says nothing about the next. */
  async #fail(error: unknown, { fence, isHeld }: Lease): Promise<undefined> {
    const { key, store, options, announcer } = this.#plan;
    if (!isHeld) {
      await settle(() => store.wake(key)).catch(() => {});
      return undefined;
    }
    const { pauseMs } = options;
    const limits = { fence, pauseMs, longestPauseMs: pauseMs * 30 };
    const failing = settle(() => store.fail(key, { ...describe(error), ...limits }));
    announcer.announce('fail', { key, fence, error, pauseMs: await failing.catch(() => 0) });
    throw error;
  }

  /** The new value, if it is there. */
  #judge({ entry, failure }: Sight): Entry | undefined {
    const { key, seenFence } = this.#plan;
    if (entry !== undefined && entry.freshLeftMs > 0 && entry.fence !== seenFence) return entry;
    if (failure !== undefined) throw loadError(key, failure);
    return undefined;
  }

  async #ask<Answer>(answer: Answer | Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } catch (error) {
      throw unavailableError(this.#plan.key, error);
    }
  }

  #decided(): void {
    if (this.#isDecided) return;
    this.#isDecided = true;
    this.#plan.onDecided?.();
  }
}

/** So that what is thrown at once is also a rejection. */
async function settle<Answer>(act: () => Answer | Promise<Answer>): Promise<Answer> {
  return act();
}

function describe(error: unknown): { name: string; message: string } {
  if (error instanceof Error) return { name: error.name, message: error.message };
  return { name: typeof error, message: String(error) };
}
