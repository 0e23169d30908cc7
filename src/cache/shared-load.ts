import type { Clock, Timer } from '../clock/index.ts';
import type { Lease, Lock, Locks } from '../lock/index.ts';
import { closedError, deadlockError, loadError, unavailableError } from './errors.ts';
import type { EventPublisher } from './events.ts';
import type { ResolvedCacheOptions } from './options.ts';
import { encodeWith } from './serializer.ts';
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

/** Argument of a load. */
export interface LoadContext {
  /** Aborts when the lease of the load is lost, before another caller can begin to load. */
  readonly signal: AbortSignal;
  /** Larger than the fence of every earlier load of this key. */
  readonly fence: number;
}

export type Load<Value> = (context: LoadContext) => Promise<Value> | Value;

export interface LoadPlan {
  readonly key: string;
  readonly locks: Locks;
  /** The loader holds this mutex. */
  readonly mutex: Lock;
  readonly store: CacheStore;
  readonly clock: Clock;
  readonly events: EventPublisher;
  readonly options: ResolvedCacheOptions;
  readonly load: Load<unknown>;
  /** The value that the load is to replace. */
  readonly seen: Entry | undefined;
  /** Called when it is known whether this process loads. */
  readonly onDecided?: (() => void) | undefined;
}

/** Thrown by a batch load that was closed before it began. */
export const NOT_BEGUN = Symbol('not begun');

/** After so many refused writes the loader returns its value to its callers although it is not kept. */
const MAX_REFUSALS = 3;
/** Pause before the next attempt when the mutex is busy and its lease has no known end. */
const PAUSE_MS = 10;
const MAX_PAUSES = 30;
/** Maximum backoff after failures, in units of the first. */
const MAX_BACKOFF = 30;

/**
 * One load of a key, shared by all callers of this process that need the value at the same time.
 *
 * The process that acquires the mutex loads. It looks up the key once more before that: another process may have
 * written the value between the first lookup and the grant. The other processes wait for the value, not for the
 * mutex: the write notifies all of them at once. None of them queues for the mutex. When the loader has died, they
 * try to acquire the mutex at the end of its lease.
 *
 * The order of requests matters. A waiter looks up the key and registers in one step of the store, so a write is
 * either seen by that lookup or followed by a message. After that the waiter reads how long the lease of the
 * loader runs. A loader wakes the waiters once more after it has released the mutex: a waiter that registers
 * between the last message and the release would wait for the end of a lease that no process holds. A lost message
 * costs at most the rest of the lease.
 */
export class SharedLoad {
  /** Null: the load ended without a value, and no caller was waiting. */
  readonly result: Promise<Entry | null>;
  readonly #plan: LoadPlan;
  readonly #task: Task;
  #wakeUp: (message: CacheMessage | undefined) => void = () => {};
  #callers = 0;
  #refusals = 0;
  #tries = 0;
  #hasSentRequests = false;
  #failedVersion: string | undefined;
  #loadedFence: number | undefined;
  /** The lookup with which this process began to wait; undefined while it does not wait. */
  #waitsSince: CacheLookup | undefined;
  /** The timer for the end of the loader's lease; undefined while this process does not wait for it. */
  #leaseEnd: Timer | undefined;
  #isLoading = false;
  #isClosed = false;
  #isDecided = false;

  constructor(plan: LoadPlan) {
    this.#plan = plan;
    this.#task = new Task(plan.locks, plan.key);
    this.result = this.#run().finally(() => this.#decided());
    // No caller may be waiting for a load in the background that fails.
    this.result.catch(() => {});
  }

  /** Once requests are sent, the result may be older than a caller that joins. */
  get hasSentRequests(): boolean {
    return this.#hasSentRequests;
  }

  /** Version of the load whose failure is the result. It may have begun before a deletion. */
  get failedVersion(): string | undefined {
    return this.#failedVersion;
  }

  /** Whether this process has loaded the entry. */
  hasLoaded({ fence }: Entry): boolean {
    return fence === this.#loadedFence;
  }

  /** Wakes the wait if a caller's later lookup shows a change whose message was lost. */
  compare({ version, lastFence, entry }: CacheLookup): void {
    const since = this.#waitsSince;
    // The lookup of a fresh value has no version.
    if (since === undefined || (entry?.freshLeftMs ?? 0) > 0) return;
    if (version !== since.version || lastFence > since.lastFence) this.#wakeUp(undefined);
  }

  /**
   * Adds a waiting caller. Returns a function that removes it.
   *
   * @throws CacheError (`deadlock`) if the running code is part of this load.
   */
  enter(): () => void {
    const unlink = this.#task.link();
    if (unlink === undefined) throw deadlockError(this.#plan.key);
    this.#countCaller(1);
    return () => {
      this.#countCaller(-1);
      unlink();
    };
  }

  /** A caller without a timeout has nothing else that keeps the process alive. */
  #countCaller(change: 1 | -1): void {
    this.#callers += change;
    this.#leaseEnd?.keepAlive(this.#callers > 0);
  }

  /** Receives the messages of the store for this key. Undefined: messages may have been lost. */
  onMessage(message: CacheMessage | undefined): void {
    this.#wakeUp(message);
  }

  /** Ends the wait. A load goes on, unless the locks are closed: then this wakes the waiters. */
  close(): void {
    this.#isClosed = true;
    this.#wakeUp(undefined);
    if (this.#isLoading) void this.#wakeWaiters();
  }

  async #run(): Promise<Entry | null> {
    const { key, options, mutex } = this.#plan;
    const { leaseMs: lease, maxLoadMs: maxHold } = options;
    for (;;) {
      const held = await mutex.tryAcquire({ lease, maxHold }).catch((error: unknown) => {
        throw this.#isClosed ? closedError(key) : unavailableError(key, error);
      });
      this.#hasSentRequests = true;
      const entry = held === null ? await this.#wait() : await this.#loadHolding(held);
      if (entry !== undefined) return entry;
      if (this.#isClosed) throw closedError(key);
      if (this.#callers === 0) return null;
    }
  }

  /** Waits for the load of another process. Undefined: it ended without a value, try to load. */
  async #wait(): Promise<Entry | undefined> {
    const { key, store, clock, options, events } = this.#plan;
    if (this.#tries === 0) events.publishKey('wait', key);
    const beganMs = clock.monotonicMs();
    const received = new Promise<CacheMessage | undefined>((resolve) => {
      this.#wakeUp = resolve;
    });
    const lookup = await this.#storeCall(store.wait(key, options.tags, timesOf(options)));
    this.#decided();
    const entry = this.#newEntry(lookup);
    if (entry !== undefined) return entry;
    this.#waitsSince = lookup;
    const message = await this.#orLeaseEnd(received);
    this.#waitsSince = undefined;
    if (message === undefined) return undefined;
    const isCurrent =
      isAfter(message, lookup) && !mayBeStale(message, clock.monotonicMs() - beganMs);
    if (isCurrent) return this.#newEntry(message);
    return this.#newEntry(await this.#storeCall(store.lookup(key, options.tags)));
  }

  async #orLeaseEnd(
    received: Promise<CacheMessage | undefined>,
  ): Promise<CacheMessage | undefined> {
    const { clock, mutex } = this.#plan;
    const tries = this.#tries++;
    const inspection = this.#storeCall(mutex.inspect());
    // A message makes the end of the lease irrelevant.
    const isReceived = await Promise.race([
      received.then(() => true),
      inspection.then(() => false),
    ]);
    if (isReceived) return received;
    const { holders } = await inspection;
    const pauseMs = PAUSE_MS * Math.min(tries, MAX_PAUSES);
    const [holder] = holders;
    // A foreign holder sends no message at its release, and its key may have no TTL.
    const hasEnd = holder?.foreign === false && Number.isFinite(holder.leftMs);
    const leftMs = hasEnd ? holder.leftMs : pauseMs;
    if (this.#isClosed) return undefined;
    const timer = clock.setTimer(leftMs, () => this.#wakeUp(undefined));
    timer.keepAlive(this.#callers > 0);
    this.#leaseEnd = timer;
    const message = await received;
    this.#leaseEnd = undefined;
    timer.cancel();
    return message;
  }

  /** Loads as the holder of the mutex. Undefined: the lease was lost, or the write was refused. */
  async #loadHolding(lease: Lease): Promise<Entry | undefined> {
    const { key, store, options } = this.#plan;
    this.#isLoading = true;
    try {
      const opening = store.open(key, options.tags, timesOf(options), lease.fence);
      const lookup = await this.#storeCall(opening);
      const entry = this.#newEntry(lookup);
      if (entry !== undefined || this.#isClosed || !lease.isHeld) return entry;
      return await this.#load(lease, lookup);
    } finally {
      this.#isLoading = false;
      void lease.release().then(() => this.#wakeWaiters(lease.fence));
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
    // A later result is written under this fence, and is kept only if no newer load has written.
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
    return encodeWith(options.serializer, value);
  }

  async #write(loaded: Omit<Entry, 'freshLeftMs' | 'leftMs'>): Promise<Entry | undefined> {
    const { key, store, options, events } = this.#plan;
    const { freshMs, staleMs, tags } = options;
    const write = { ...loaded, freshMs, staleMs };
    // If the store fails, the callers still get the value.
    const isKept = await settle(() => store.write(key, tags, write)).catch(() => undefined);
    const { fence, loadMs } = loaded;
    events.publish('write', { key, fence, loadMs, isKept: isKept === true });
    if (isKept === false && ++this.#refusals < MAX_REFUSALS) return undefined;
    return { ...loaded, freshLeftMs: freshMs, leftMs: freshMs + staleMs };
  }

  /** Records the failure, unless the lease was lost: then the next load is independent of it. */
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

  /** If this message is lost, waiters look up the key at the end of the lease. */
  async #wakeWaiters(fence?: number): Promise<void> {
    const { key, store } = this.#plan;
    await settle(() => store.wake(key, fence)).catch(() => {});
  }

  /** Returns the entry if it is fresh and is not the one that the load is to replace. Throws a failure. */
  #newEntry({ entry, failure }: CacheState): Entry | undefined {
    const { key, seen } = this.#plan;
    if (entry !== undefined && entry.freshLeftMs > 0 && !isSame(entry, seen)) return entry;
    if (failure === undefined) return undefined;
    this.#failedVersion = failure.version;
    throw loadError(key, failure);
  }

  async #storeCall<Result>(result: Result | Promise<Result>): Promise<Result> {
    try {
      return await result;
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

/** Values of one version are ordered by fence; each `set` has a version of its own. */
function isSame(entry: Entry, seen: Entry | undefined): boolean {
  return entry.fence === seen?.fence && entry.version === seen.version;
}

/**
 * Whether the message is about a load that ended after the lookup and began after all deletions before it. A
 * message may be delayed, and belong to an earlier wait of this process.
 */
function isAfter({ entry, failure }: CacheMessage, lookup: CacheLookup): boolean {
  const ended: Entry | LoadFailure | undefined = entry ?? failure;
  return (
    ended === undefined || (ended.version === lookup.version && ended.fence > lookup.lastFence)
  );
}

/** The time of the write is unknown; it is not before the registration, `maxAgeMs` ago. */
function mayBeStale({ entry }: CacheMessage, maxAgeMs: number): boolean {
  return entry !== undefined && entry.freshLeftMs <= maxAgeMs;
}

const DAY_MS = 86_400_000;
/** Time between the end of a load and its write. */
const MARGIN_MS = 60_000;

function timesOf({ freshMs, staleMs, maxLoadMs, pauseMs }: ResolvedCacheOptions): LoadTimes {
  return {
    maxLoadMs: Math.min(maxLoadMs, DAY_MS) + MARGIN_MS,
    keepMs: Math.max(freshMs + staleMs, pauseMs * MAX_BACKOFF),
  };
}

/** Converts a synchronous throw to a rejection. */
async function settle<Result>(call: () => Result | Promise<Result>): Promise<Result> {
  return call();
}

const MAX_NAME = 100;
const MAX_MESSAGE = 1000;

/** The error as text for other processes. Never throws: without a recorded failure every process would load. */
function describe(error: unknown): { name: string; message: string } {
  const isError = orElse(() => error instanceof Error, false);
  const message = orElse(() => String(isError ? (error as Error).message : error), NO_TEXT);
  const name = orElse(() => (isError ? String((error as Error).name) : typeof error), 'Error');
  return { name: startOf(name, MAX_NAME), message: startOf(message, MAX_MESSAGE) };
}

/** Returns a copy: V8 keeps a whole string alive as long as there is a slice of it. */
function startOf(text: string, length: number): string {
  if (text.length <= length) return text;
  return Buffer.from(text.slice(0, length), 'utf16le').toString('utf16le');
}

const NO_TEXT = 'a value that cannot be converted to a string';

/** Getters and conversions of a thrown value may throw. */
function orElse<Result>(read: () => Result, otherwise: Result): Result {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
