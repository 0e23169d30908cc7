import type { Clock } from '../clock/index.ts';
import type { Lease, Lock } from '../lock/index.ts';
import { closedError, deadlockError, loadError, unavailableError } from './errors.ts';
import type { EventPublisher } from './events.ts';
import type { ResolvedCacheOptions } from './options.ts';
import type {
  CacheLookup,
  CacheMessage,
  CacheState,
  CacheStore,
  Entry,
  LoadFailure,
  LoadTimes,
} from './store.ts';
import { Task } from './task.ts';

/** What a load is given: a signal that aborts before another caller can load, and the fence for what it writes. */
export interface LoadContext {
  readonly signal: AbortSignal;
  readonly fence: number;
}

export type Load<Value> = (context: LoadContext) => Promise<Value> | Value;

export interface LoadPlan {
  readonly key: string;
  /** The mutex of whoever loads. */
  readonly mutex: Lock;
  readonly store: CacheStore;
  readonly clock: Clock;
  readonly events: EventPublisher;
  readonly options: ResolvedCacheOptions;
  readonly load: Load<unknown>;
  /** Of the value that is to be replaced; 0: there is none. */
  readonly seenFence: number;
  /** Called when it is known that this process loads, or that it need not. */
  readonly onDecided?: (() => void) | undefined;
}

/** Thrown by a load that was closed before it began: nothing has come of it. */
export const NOT_BEGUN = Symbol('not begun');

/** A loader whose writes are refused so often gives its value to its callers and leaves it at that. */
const MAX_REFUSALS = 3;
/** Between two tries to load when nobody seems to hold the mutex, and yet it is busy. */
const PAUSE_MS = 10;
const MAX_PAUSES = 30;
/** The longest pause after a failure, in units of the first. */
const MAX_BACKOFF = 30;

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
 * runs. A loader wakes those who wait once more after it has let go of the mutex: else who began to wait
 * between its last message and that moment would wait for the end of a lease that nobody has. A message
 * that is lost costs no more than that time.
 */
export class SharedLoad {
  /** Null: nothing has come of it, and nobody was waiting. */
  readonly result: Promise<Entry | null>;
  readonly #plan: LoadPlan;
  readonly #task: Task;
  #wakeUp: (message: CacheMessage | undefined) => void = () => {};
  #callers = 0;
  #refusals = 0;
  #tries = 0;
  #hasAsked = false;
  #failedVersion: string | undefined;
  #loadedFence = 0;
  /** What was there when it began to wait, while it does. */
  #waitsSince: CacheLookup | undefined;
  #isLeading = false;
  #isClosed = false;
  #isDecided = false;

  constructor(plan: LoadPlan) {
    this.#plan = plan;
    this.#task = new Task(plan.store, plan.key);
    this.result = this.#run().finally(() => this.#decided());
    // A refresh in the background fails without anybody who waits for it.
    this.result.catch(() => {});
  }

  /** Whether it has asked the store of its key: what it gives may then be older than who comes now. */
  get hasAsked(): boolean {
    return this.#hasAsked;
  }

  /** Of the load whose failure this has ended with, which may have begun before a deletion. */
  get failedVersion(): string | undefined {
    return this.#failedVersion;
  }

  /** Whether this process has loaded it. */
  hasLoaded({ fence }: Entry): boolean {
    return fence === this.#loadedFence;
  }

  /** A caller has looked. If it saw what this has not heard of, a message was lost. */
  seen({ version, lastFence, entry }: CacheLookup): void {
    const since = this.#waitsSince;
    // That look does not tell the version.
    if (since === undefined || (entry?.freshLeftMs ?? 0) > 0) return;
    if (version !== since.version || lastFence > since.lastFence) this.#wakeUp(undefined);
  }

  /** A caller waits from now on. Gives what ends that. Throws if the running code is part of this very load. */
  enter(): () => void {
    const unlink = this.#task.link();
    if (unlink === undefined) throw deadlockError(this.#plan.key);
    this.#callers++;
    return () => {
      this.#callers--;
      unlink();
    };
  }

  /** Somebody has loaded, or failed, or given up, or there may be message that were lost. */
  message(message: CacheMessage | undefined): void {
    this.#wakeUp(message);
  }

  /** It waits no longer. A load goes on, unless the locks are closed: then the others learn of it now. */
  close(): void {
    this.#isClosed = true;
    this.#wakeUp(undefined);
    if (this.#isLeading) void this.#wake();
  }

  async #run(): Promise<Entry | null> {
    const { key, options, mutex } = this.#plan;
    const { leaseMs: lease, maxLoadMs: maxHold } = options;
    for (;;) {
      const held = await mutex.tryAcquire({ lease, maxHold }).catch((error: unknown) => {
        throw this.#isClosed ? closedError(key) : unavailableError(key, error);
      });
      this.#hasAsked = true;
      const entry = held === null ? await this.#wait() : await this.#lead(held);
      if (entry !== undefined) return entry;
      if (this.#isClosed) throw closedError(key);
      if (this.#callers === 0) return null;
    }
  }

  /** Undefined: nothing has come of it, try to load. */
  async #wait(): Promise<Entry | undefined> {
    const { key, store, clock, options, events } = this.#plan;
    if (this.#tries === 0) events.publishKey('wait', key);
    const askedMs = clock.monotonicMs();
    const told = new Promise<CacheMessage | undefined>((resolve) => {
      this.#wakeUp = resolve;
    });
    const seen = await this.#ask(store.wait(key, options.tags, timesOf(options)));
    this.#decided();
    const entry = this.#judge(seen);
    if (entry !== undefined) return entry;
    this.#waitsSince = seen;
    const message = await this.#orLeaseEnd(told);
    this.#waitsSince = undefined;
    if (message === undefined) return undefined;
    const isClear = isAfter(message, seen) && !mayBeStale(message, clock.monotonicMs() - askedMs);
    return this.#judge(isClear ? message : await this.#ask(store.lookup(key, options.tags)));
  }

  async #orLeaseEnd(told: Promise<CacheMessage | undefined>): Promise<CacheMessage | undefined> {
    const { clock, mutex } = this.#plan;
    const tries = this.#tries++;
    const asking = this.#ask(mutex.inspect());
    // Who has heard the message need not know how long the lease runs.
    const isTold = await Promise.race([told.then(() => true), asking.then(() => false)]);
    if (isTold) return told;
    const { holders } = await asking;
    const pauseMs = PAUSE_MS * Math.min(tries, MAX_PAUSES);
    const [holder] = holders;
    // A foreign holder does not tell of its release, and a key may have no TTL.
    const hasEnd = holder?.foreign === false && Number.isFinite(holder.leftMs);
    const leftMs = hasEnd ? holder.leftMs : pauseMs;
    if (this.#isClosed) return undefined;
    const timer = clock.setTimer(leftMs, () => this.#wakeUp(undefined));
    // Whoever waits without an end has nothing else that keeps a process alive.
    timer.keepAlive(this.#callers > 0);
    const message = await told;
    timer.cancel();
    return message;
  }

  /** Holds the mutex. Undefined: it was lost, or the value was refused. */
  async #lead(lease: Lease): Promise<Entry | undefined> {
    const { key, store, options } = this.#plan;
    this.#isLeading = true;
    try {
      const opening = store.open(key, options.tags, timesOf(options), lease.fence);
      const opened = await this.#ask(opening);
      const entry = this.#judge(opened);
      if (entry !== undefined || this.#isClosed || !lease.isHeld) return entry;
      return await this.#load(lease, opened);
    } finally {
      this.#isLeading = false;
      void lease.release().then(() => this.#wake(lease.fence));
    }
  }

  async #load(lease: Lease, { version }: CacheLookup): Promise<Entry | undefined> {
    const { key, clock, events } = this.#plan;
    const { fence, signal } = lease;
    this.#loadedFence = fence;
    events.publish('load', { key, fence });
    const beganMs = clock.monotonicMs();
    const loadMs = (): number => clock.monotonicMs() - beganMs;
    const lost = new Promise<undefined>((resolve) => {
      if (signal.aborted) resolve(undefined);
      else signal.addEventListener('abort', () => resolve(undefined), { once: true });
    });
    const entry = this.#loadData({ signal, fence }).then(
      (data) => this.#write({ data, fence, version, loadMs: loadMs() }),
      (error: unknown) => this.#fail(error, lease, version, loadMs()),
    );
    const first = await Promise.race([entry, lost]);
    if (first !== undefined || !signal.aborted) return first;
    // What comes of it later is written under its old fence, and stands only if there is nothing newer.
    entry.catch(() => {});
    events.publish('lose', { key, fence });
    return undefined;
  }

  async #loadData(context: LoadContext): Promise<Entry['data']> {
    const { load, options } = this.#plan;
    const value = await Task.run([this.#task], async () => {
      const promise = load(context);
      this.#decided();
      return promise;
    });
    const data: unknown = options.serializer.encode(value);
    if (typeof data === 'string' || data instanceof Uint8Array) return data;
    throw new TypeError(`a serializer encodes to a string or a Uint8Array; got ${typeof data}`);
  }

  async #write(loaded: Omit<Entry, 'freshLeftMs' | 'leftMs'>): Promise<Entry | undefined> {
    const { key, store, options, events } = this.#plan;
    const { freshMs, staleMs, tags } = options;
    // A value that cannot be kept is still what the callers asked for.
    const write = { ...loaded, freshMs, staleMs };
    const isKept = await settle(() => store.write(key, tags, write)).catch(() => undefined);
    const { fence, loadMs } = loaded;
    events.publish('write', { key, fence, loadMs, isKept: isKept === true });
    if (isKept === false && ++this.#refusals < MAX_REFUSALS) return undefined;
    return { ...loaded, freshLeftMs: freshMs, leftMs: freshMs + staleMs };
  }

  /** The failure of a load whose lease was lost says nothing about the next. */
  async #fail(
    error: unknown,
    { fence, isHeld }: Lease,
    version: string,
    loadMs: number,
  ): Promise<undefined> {
    const { key, store, options, events } = this.#plan;
    if (!isHeld || error === NOT_BEGUN) return undefined;
    const { pauseMs } = options;
    const limits = { fence, version, pauseMs, maxPauseMs: pauseMs * MAX_BACKOFF };
    const failing = settle(() => store.fail(key, { ...describe(error), ...limits }));
    const failedMs = await failing.catch(() => 0);
    events.publish('fail', { key, fence, error, loadMs, pauseMs: failedMs });
    this.#failedVersion = version;
    throw error;
  }

  /** Whoever waits should look again. They do so at the end of the lease if they do not hear of this. */
  async #wake(fence?: number): Promise<void> {
    const { key, store } = this.#plan;
    await settle(() => store.wake(key, fence)).catch(() => {});
  }

  /** The new value, if it is there. */
  #judge({ entry, failure }: CacheState): Entry | undefined {
    const { key, seenFence } = this.#plan;
    if (entry !== undefined && entry.freshLeftMs > 0 && entry.fence !== seenFence) return entry;
    if (failure === undefined) return undefined;
    this.#failedVersion = failure.version;
    throw loadError(key, failure);
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

/**
 * Whether a message tells of what came after that look, and of what was loaded after all that was forgotten
 * by then. It may have been under way for long, to somebody who waited here before.
 */
function isAfter({ entry, failure }: CacheMessage, seen: CacheLookup): boolean {
  const told: Entry | LoadFailure | undefined = entry ?? failure;
  return told === undefined || (told.version === seen.version && told.fence > seen.lastFence);
}

/** When it was written is not known, only that it was not before somebody asked to be told. */
function mayBeStale({ entry }: CacheMessage, longestMs: number): boolean {
  return entry !== undefined && entry.freshLeftMs <= longestMs;
}

const DAY_MS = 86_400_000;
/** For what passes between the end of a load and its write. */
const MARGIN_MS = 60_000;

function timesOf({ freshMs, staleMs, maxLoadMs, pauseMs }: ResolvedCacheOptions): LoadTimes {
  return {
    maxLoadMs: Math.min(maxLoadMs, DAY_MS) + MARGIN_MS,
    keepMs: Math.max(freshMs + staleMs, pauseMs * MAX_BACKOFF),
  };
}

/** So that what is thrown at once is also a rejection. */
async function settle<Answer>(act: () => Answer | Promise<Answer>): Promise<Answer> {
  return act();
}

const MAX_NAME = 100;
const MAX_MESSAGE = 1000;

/** An error as others are told of it. Whatever it is: if this threw, they would not be told, and all would load. */
function describe(error: unknown): { name: string; message: string } {
  const isError = shownBy(() => error instanceof Error, false);
  const message = shownBy(() => String(isError ? (error as Error).message : error), NO_TEXT);
  const name = shownBy(() => (isError ? String((error as Error).name) : typeof error), 'Error');
  return { name: startOf(name, MAX_NAME), message: startOf(message, MAX_MESSAGE) };
}

/** A copy: V8 keeps the whole of a text for as long as there is a slice of it. */
function startOf(text: string, length: number): string {
  if (text.length <= length) return text;
  return Buffer.from(text.slice(0, length), 'utf16le').toString('utf16le');
}

const NO_TEXT = 'something without a text';

/** Not everything can be made a text, or even be looked at. */
function shownBy<Shown>(show: () => Shown, otherwise: Shown): Shown {
  try {
    return show();
  } catch {
    return otherwise;
  }
}
