import type { Clock, Random } from '../clock/index.ts';
import { currentRunContext, type Lock, type Locks, withRunContext } from '../lock/index.ts';
import { attachCache } from './backend.ts';
import { BatchLoad, type LoadMany } from './batch-load.ts';
import { abortedError, CLOSED, closedError, loadError, unavailableError } from './errors.ts';
import { type CacheCounts, type CacheEvents, EventPublisher } from './events.ts';
import type { CacheLimits } from './limits.ts';
import { MemoryTier, memoryLimits } from './memory-tier.ts';
import { CacheNamespace } from './namespace.ts';
import {
  type CacheOptions,
  checkKey,
  checkKeys,
  checkLoad,
  checkSignal,
  checkTags,
  type HasOptions,
  OptionsReader,
  type ResolvedCacheOptions,
  type SetOptions,
} from './options.ts';
import { encodeWith } from './serializer.ts';
import { type Load, type LoadContext, SharedLoad } from './shared-load.ts';
import type { CacheLookup, CacheStore, Entry } from './store.ts';
import { observeCaches } from './telemetry.ts';
import { type WaitLimits, WaitTimeouts } from './wait-timeouts.ts';

/** Defaults of the options of all calls. An option of a call replaces its default. */
export interface CreateCacheOptions extends Partial<Omit<CacheOptions, 'signal'>> {
  /** What `createLocks` returned. Values are kept where these locks are. */
  readonly locks: Locks;
  /**
   * Keeps copies of fresh values in the memory of this process too, with these limits. A process drops its copy when
   * another one changes the value. No effect on values of `createLocks()`, which are in this process anyway.
   * Default false.
   */
  readonly memory?: boolean | CacheLimits;
}

/**
 * Creates a cache on the store of these locks: in this process, or in Redis.
 *
 * @throws LockArgumentError if the locks have no store for values, or an option is wrong.
 * @example const cache = createCache({ locks: createLocks(url), fresh: '10s' });
 */
export function createCache({ locks, memory, ...defaults }: CreateCacheOptions): Cache {
  return new Cache(locks, defaults, memory);
}

type Defaults = Omit<CreateCacheOptions, 'locks' | 'memory'>;

/** How a value is loaded. */
interface Source {
  readonly load: Load<unknown>;
  /** Called when it is known whether this call loads. */
  readonly decided?: () => void;
}

/** One call of `get`. */
interface GetCall {
  readonly key: string;
  readonly options: ResolvedCacheOptions;
  readonly source: Source;
  readonly signal: AbortSignal | undefined;
  /** When the call first had to wait. */
  beganMs: number | undefined;
  /** The call was counted as a hit, stale or a miss. */
  isCounted: boolean;
}

interface Found {
  readonly value: unknown;
}

/** Values that one caller of all processes loads and all callers use. */
export class Cache implements AsyncDisposable {
  readonly #locks: Locks;
  readonly #options: OptionsReader;
  readonly #store: CacheStore;
  readonly #memoryTier: MemoryTier | undefined;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #events = new EventPublisher();
  readonly #sharedLoads = new Map<string, SharedLoad>();
  readonly #detach: () => void;
  readonly #unsubscribe: () => void;
  readonly #timeouts: WaitTimeouts;
  #isClosed = false;

  constructor(locks: Locks, defaults: Defaults, memory?: boolean | CacheLimits) {
    const limits = memoryLimits(memory);
    const { store, clock, random, detach, isClosed } = attachCache(locks, this);
    this.#locks = locks;
    this.#options = new OptionsReader(defaults);
    const { changes } = store;
    if (limits !== undefined && changes !== undefined)
      this.#memoryTier = new MemoryTier(store, changes, clock, limits);
    this.#store = this.#memoryTier ?? store;
    this.#clock = clock;
    this.#timeouts = new WaitTimeouts(clock);
    this.#random = random;
    this.#detach = detach;
    this.#unsubscribe = store.onMessage((message) => {
      if (message !== undefined) this.#sharedLoads.get(message.key)?.onMessage(message);
      else for (const sharedLoad of this.#sharedLoads.values()) sharedLoad.onMessage(undefined);
    });
    if (isClosed) this.#close();
    else void observeCaches();
  }

  /**
   * Returns the value of a key. If it is missing, one caller of all processes loads it and the others wait for
   * that value; if it is stale, callers get the stale value while one loads.
   *
   * @throws CacheError, or the error of `load`.
   * @example const user = await cache.get('user:7', { fresh: '10s' }, () => database.user(7));
   */
  get<Value>(key: string, options: Partial<CacheOptions>, load: Load<Value>): Promise<Value> {
    return this.#get(key, options, { load }) as Promise<Value>;
  }

  /**
   * Returns the values of many keys. `load` is called once, with all keys that this process has to load, and
   * returns a Map of their values.
   *
   * @throws CacheError, or the error of `load`.
   */
  async getMany<Value>(
    keys: readonly string[],
    options: Partial<CacheOptions>,
    load: LoadMany<Value>,
  ): Promise<Map<string, Value>> {
    const distinct = checkKeys(keys);
    const [name = ''] = distinct;
    checkLoad(name, load);
    const batch = new BatchLoad(load, distinct, () => this.#isClosed);
    const values = distinct.map(async (key): Promise<[string, Value]> => {
      const decided = (): void => batch.decided(key);
      const source = { load: (context: LoadContext) => batch.load(key, context), decided };
      const value = this.#get(key, options, source);
      // The other keys do not wait for a key whose call has failed.
      value.catch(decided);
      return [key, (await value) as Value];
    });
    return new Map(await Promise.all(values));
  }

  /**
   * Sets the value of a key, in all processes. A load that is under way is not kept: its callers get this value.
   *
   * @throws CacheError (`unavailable`, or `aborted` if the cache is closed), or the error of the serializer.
   * @example await cache.set('user:7', user, { fresh: '10s' });
   */
  async set(key: string, value: unknown, options: SetOptions = {}): Promise<void> {
    checkKey(key);
    const { tags, freshMs, staleMs, serializer } = this.#options.read(key, options);
    if (this.#isClosed) throw closedError(key);
    const data = encodeWith(serializer, value);
    await this.#storeCall(key, () => this.#store.set(key, tags, { data, freshMs, staleMs }));
    this.#events.publish('set', { key });
  }

  /**
   * Returns true if there is a fresh or stale value. Does not load.
   *
   * @throws CacheError (`unavailable`)
   */
  async has(key: string, options: HasOptions = {}): Promise<boolean> {
    checkKey(key);
    const tags = this.#options.tagsOf(options);
    const { entry } = await this.#storeCall(key, () => this.#store.lookup(key, tags));
    return entry !== undefined;
  }

  /**
   * Deletes values, in all processes. A load that is under way is not kept. Returns how many keys had a value.
   *
   * @throws CacheError (`unavailable`)
   */
  async delete(keys: string | readonly string[]): Promise<number> {
    const distinct = checkKeys(typeof keys === 'string' ? [keys] : keys);
    const count = await this.#storeCall(distinct[0] ?? '', () => this.#store.delete(distinct));
    this.#events.publish('delete', { keys: distinct });
    return count;
  }

  /**
   * Deletes all values that carry one of the tags, in all processes. Takes the same time for any number of values.
   *
   * @throws CacheError (`unavailable`)
   */
  async invalidate(tags: string | readonly string[]): Promise<void> {
    const distinct = checkTags(typeof tags === 'string' ? [tags] : tags);
    await this.#storeCall(distinct.join(), () => this.#store.invalidate(distinct));
    this.#events.publish('invalidate', { tags: distinct });
  }

  /**
   * Returns a part of this cache with keys of its own, which `clear()` deletes in one step.
   *
   * @throws LockArgumentError if the name is empty or contains `:`.
   * @example await cache.namespace('users').clear();
   */
  namespace(name: string): CacheNamespace {
    return new CacheNamespace(this, name, {
      prefix: '',
      tags: [],
      defaults: this.#options.tagsOf({}),
    });
  }

  /** How often each event has happened in this cache. */
  get counts(): Readonly<CacheCounts> {
    return { ...this.#events.counts };
  }

  /** Rejects waiting callers. The locks stay open, and loads that are under way go on. */
  async close(): Promise<void> {
    this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #close(): void {
    this.#isClosed = true;
    this.#timeouts.end(new Error(CLOSED));
    for (const sharedLoad of this.#sharedLoads.values()) sharedLoad.close();
    this.#unsubscribe();
    this.#memoryTier?.close();
    this.#detach();
  }

  async #get(key: string, given: Partial<CacheOptions>, source: Source): Promise<unknown> {
    checkKey(key);
    checkLoad(key, source.load);
    const options = this.#options.read(key, given);
    const signal = checkSignal(key, given.signal);
    const call = { key, options, source, signal, beganMs: undefined, isCounted: false };
    this.#throwIfOver(call);
    for (;;) {
      const answer = this.#store.lookup(key, options.tags);
      const lookup = answer instanceof Promise ? await this.#waitForLookup(call, answer) : answer;
      const found = decoded(lookup.entry, options);
      if (found !== undefined && lookup.entry!.freshLeftMs > 0) {
        this.#hit(call, lookup.entry!);
        return found.value;
      }
      const renewed = await this.#renew(call, lookup, found);
      if (renewed !== undefined) return renewed.value;
    }
  }

  /** Without a soft timeout, so the result is a lookup or an error. */
  #waitForLookup(call: GetCall, answer: Promise<CacheLookup>): Promise<CacheLookup> {
    const lookup = this.#timeouts.wait(answer, this.#limits(call), unavailableError);
    return lookup as Promise<CacheLookup>;
  }

  #hit(call: GetCall, entry: Entry): void {
    if (this.#isEarly(entry, call.options)) this.#sharedLoadOf(call, entry, 0);
    else call.source.decided?.();
    this.#count(call, 'hit');
  }

  /** Returns a new value, or the stale one as the options say. Undefined: look up the key again. */
  async #renew(
    call: GetCall,
    lookup: CacheLookup,
    stale: Found | undefined,
  ): Promise<Found | undefined> {
    const { options } = call;
    if (stale === undefined) this.#count(call, 'miss');
    const staleUntilMs = this.#clock.monotonicMs() + (lookup.entry?.leftMs ?? 0);
    const isGone = (): boolean => this.#clock.monotonicMs() >= staleUntilMs;
    try {
      const softMs = stale === undefined ? Number.POSITIVE_INFINITY : options.softMs;
      const found = await this.#load(call, lookup, softMs);
      if (found === null) return undefined;
      if (found !== undefined) {
        this.#count(call, 'miss');
        return found;
      }
    } catch (error) {
      const mayBeStale = stale !== undefined && options.isStaleOnError && !isGone();
      if (!mayBeStale || this.#isOver(call)) {
        this.#count(call, 'miss');
        throw error;
      }
    }
    // The stale value has ended while the caller waited for a new one.
    if (isGone()) return undefined;
    this.#count(call, 'stale');
    return stale;
  }

  /** Null: the load ended without a value for this caller. Undefined: the soft timeout has passed. */
  async #load(
    call: GetCall,
    lookup: CacheLookup,
    softMs: number,
  ): Promise<Found | null | undefined> {
    const { key, source } = call;
    if (lookup.failure !== undefined) {
      source.decided?.();
      throw loadError(key, lookup.failure);
    }
    const sharedLoad = this.#sharedLoadOf(call, lookup.entry, softMs);
    // A load that has sent its requests may have read its value before a deletion that this caller follows.
    const mayBeOld = sharedLoad.hasSentRequests;
    const isOld = (version: string | undefined): boolean =>
      mayBeOld && version !== undefined && version !== lookup.version;
    sharedLoad.compare(lookup);
    if (softMs === 0) return undefined;
    try {
      const entry = await this.#waitForLoad(call, sharedLoad, softMs);
      if (entry === undefined || entry === null) return entry;
      return isOld(entry.version) ? null : decodedLoad(entry, call.options, sharedLoad);
    } catch (error) {
      if (!isOld(sharedLoad.failedVersion) || this.#isOver(call)) throw error;
      return null;
    }
  }

  async #waitForLoad(
    call: GetCall,
    sharedLoad: SharedLoad,
    softMs: number,
  ): Promise<Entry | null | undefined> {
    const limits = this.#limits(call, softMs);
    const leave = sharedLoad.enter();
    let outcome: CacheEvents['waited']['outcome'] = 'error';
    try {
      const entry = await this.#timeouts.wait(sharedLoad.result, limits);
      outcome = entry === undefined ? 'stale' : 'value';
      return entry;
    } finally {
      leave();
      const waitedMs = this.#clock.monotonicMs() - limits.beganMs;
      this.#events.publish('waited', { key: call.key, waitedMs, outcome });
    }
  }

  #limits(call: GetCall, softMs = Number.POSITIVE_INFINITY): WaitLimits {
    const { key, signal } = call;
    call.beganMs ??= this.#clock.monotonicMs();
    return { key, beganMs: call.beganMs, softMs, hardMs: call.options.hardMs, signal };
  }

  #count(call: GetCall, name: 'hit' | 'stale' | 'miss'): void {
    if (call.isCounted) return;
    call.isCounted = true;
    this.#events.publishKey(name, call.key);
  }

  /**
   * Returns the load of this key that is under way in this process, or begins one. A load that the caller does
   * not wait for is not part of the run() that the caller is in: it would share the locks of that run() while the
   * callback of that run() goes on.
   */
  #sharedLoadOf(call: GetCall, seen: Entry | undefined, softMs: number): SharedLoad {
    this.#throwIfOver(call);
    const { key, options, source } = call;
    const underWay = this.#sharedLoads.get(key);
    if (underWay !== undefined) {
      source.decided?.();
      return underWay;
    }
    const plan = {
      key,
      options,
      seen,
      load: source.load,
      onDecided: source.decided,
      locks: this.#locks,
      mutex: this.#mutexOf(key),
      store: this.#store,
      clock: this.#clock,
      events: this.#events,
    };
    const scope = softMs === Number.POSITIVE_INFINITY ? currentRunContext() : undefined;
    const sharedLoad = withRunContext(scope, () => new SharedLoad(plan));
    this.#sharedLoads.set(key, sharedLoad);
    const ended = (): void => void this.#sharedLoads.delete(key);
    sharedLoad.result.then(ended, ended);
    return sharedLoad;
  }

  /** The name is the hash tag of all keys of a value, so that a cluster keeps them in one slot. */
  #mutexOf(key: string): Lock {
    return this.#locks.mutex(`cache:${key}`);
  }

  /**
   * Whether this caller loads before the value is stale (Vattani, Chierichetti, Lowenstein: Optimal
   * Probabilistic Cache Stampede Prevention). Each caller draws how much earlier, in units of the load's duration.
   */
  #isEarly({ loadMs, freshLeftMs }: Entry, { beta }: ResolvedCacheOptions): boolean {
    const reachMs = loadMs * beta;
    // The draw exceeds 40 once in 10^17 times.
    if (freshLeftMs > reachMs * 40) return false;
    return -Math.log(1 - this.#random.next()) * reachMs >= freshLeftMs;
  }

  #throwIfOver({ key, signal }: GetCall): void {
    if (signal?.aborted) throw abortedError(key, signal.reason);
    if (this.#isClosed) throw closedError(key);
  }

  /** The caller has aborted, or the cache is closed. The error of a load may be an abort of something else. */
  #isOver({ signal }: GetCall): boolean {
    return this.#isClosed || signal?.aborted === true;
  }

  async #storeCall<Result>(key: string, call: () => Result | Promise<Result>): Promise<Result> {
    try {
      return await call();
    } catch (error) {
      throw unavailableError(key, error);
    }
  }
}

/** Undefined: there is no value, or it was encoded by another program and has to be loaded again. */
function decoded(entry: Entry | undefined, options: ResolvedCacheOptions): Found | undefined {
  if (entry === undefined) return undefined;
  try {
    return { value: options.serializer.decode(entry.data) };
  } catch {
    return undefined;
  }
}

/** Null: another program has loaded a value that this one cannot decode. Throws for a value loaded here. */
function decodedLoad(
  entry: Entry,
  { serializer }: ResolvedCacheOptions,
  sharedLoad: SharedLoad,
): Found | null {
  try {
    return { value: serializer.decode(entry.data) };
  } catch (error) {
    if (sharedLoad.hasLoaded(entry)) throw error;
    return null;
  }
}
