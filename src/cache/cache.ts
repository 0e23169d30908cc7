import type { Clock, Random } from '../clock/index.ts';
import { currentRunContext, type Lock, type Locks, withRunContext } from '../lock/index.ts';
import { abortedError, CLOSED, closedError, loadError, unavailableError } from './errors.ts';
import { Announcer, type CacheCounts, type CacheEvents } from './events.ts';
import { Flight, type Load, type LoadContext } from './flight.ts';
import { Gathering, type LoadMany } from './gathering.ts';
import { moveIn } from './home.ts';
import {
  type CacheOptions,
  checkKey,
  checkKeys,
  checkLoad,
  checkSignal,
  checkTags,
  OptionsReader,
  type ResolvedCacheOptions,
} from './options.ts';
import { Patience, type PatienceLimits } from './patience.ts';
import type { CacheStore, Entry, Stamped } from './store.ts';
import { observeCaches } from './telemetry.ts';

/** Options of all calls, which a call may change. */
export interface CreateCacheOptions extends Partial<Omit<CacheOptions, 'signal'>> {
  readonly locks: Locks;
}

/** A cache beside these locks: in this process, or in the same Redis. */
export function createCache({ locks, ...defaults }: CreateCacheOptions): Cache {
  return new Cache(locks, defaults);
}

type Defaults = Omit<CreateCacheOptions, 'locks'>;

/** Where a value comes from, and who wants to know as soon as it is clear whether it is asked. */
interface Source {
  readonly load: Load<unknown>;
  readonly decided?: () => void;
}

/** One call of `get`. */
interface Call {
  readonly key: string;
  readonly options: ResolvedCacheOptions;
  readonly source: Source;
  readonly signal: AbortSignal | undefined;
  /** Set when it first has to wait for anything. */
  beganMs: number | undefined;
  /** Whether it has been counted as a hit, stale or a miss. */
  isCounted: boolean;
}

interface Found {
  readonly value: unknown;
}

/** Where one caller loads what all need. */
export class Cache implements AsyncDisposable {
  readonly #locks: Locks;
  readonly #options: OptionsReader;
  readonly #store: CacheStore;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #announcer = new Announcer();
  readonly #flights = new Map<string, Flight>();
  readonly #leave: () => void;
  readonly #unhear: () => void;
  readonly #patience: Patience;
  #isClosed = false;

  constructor(locks: Locks, defaults: Defaults) {
    const { store, clock, random, leave, isClosed } = moveIn(locks, this);
    this.#locks = locks;
    this.#options = new OptionsReader(defaults);
    this.#store = store;
    this.#clock = clock;
    this.#patience = new Patience(clock);
    this.#random = random;
    this.#leave = leave;
    this.#unhear = store.onNews((news) => {
      if (news !== undefined) this.#flights.get(news.key)?.news(news);
      else for (const flight of this.#flights.values()) flight.news(undefined);
    });
    if (isClosed) this.#close();
    else void observeCaches();
  }

  /**
   * The value of a key. If there is none, one caller of all processes loads it and the others wait for it;
   * if it is stale, they get it as it is meanwhile. Throws what `load` throws, or a CacheError.
   */
  get<Value>(key: string, options: Partial<CacheOptions>, load: Load<Value>): Promise<Value> {
    return this.#get(key, options, { load }) as Promise<Value>;
  }

  /**
   * The values of several keys. `load` is called once for all those that this caller has to load, and
   * gives a Map of their values.
   */
  async getMany<Value>(
    keys: readonly string[],
    options: Partial<CacheOptions>,
    load: LoadMany<Value>,
  ): Promise<Map<string, Value>> {
    const distinct = checkKeys(keys);
    const [name = ''] = distinct;
    checkLoad(name, load);
    const gathering = new Gathering(load, distinct, () => this.#isClosed);
    const values = distinct.map(async (key): Promise<[string, Value]> => {
      const decided = (): void => gathering.decided(key);
      const source = { load: (context: LoadContext) => gathering.load(key, context), decided };
      const value = this.#get(key, options, source);
      // Whatever it was, the others do not wait for this one.
      value.catch(decided);
      return [key, (await value) as Value];
    });
    return new Map(await Promise.all(values));
  }

  /** Forgets values, in all processes. What is being loaded now is not kept. How many there were. */
  async delete(keys: string | readonly string[]): Promise<number> {
    const distinct = checkKeys(typeof keys === 'string' ? [keys] : keys);
    const count = await this.#asked(distinct[0] ?? '', this.#store.delete(distinct));
    this.#announcer.announce('delete', { keys: distinct });
    return count;
  }

  /** Forgets all values that carry one of the tags, in all processes, however many there are. */
  async invalidate(tags: string | readonly string[]): Promise<void> {
    const distinct = checkTags(typeof tags === 'string' ? [tags] : tags);
    await this.#asked(distinct.join(), this.#store.invalidate(distinct));
    this.#announcer.announce('invalidate', { tags: distinct });
  }

  /** How often each of the events has happened in this cache. */
  get counts(): Readonly<CacheCounts> {
    return { ...this.#announcer.counts };
  }

  /** Rejects who waits. The locks stay open, and loads that are under way go on. */
  async close(): Promise<void> {
    this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #close(): void {
    this.#isClosed = true;
    this.#patience.end(new Error(CLOSED));
    for (const flight of this.#flights.values()) flight.close();
    this.#unhear();
    this.#leave();
  }

  async #get(key: string, given: Partial<CacheOptions>, source: Source): Promise<unknown> {
    checkKey(key);
    checkLoad(key, source.load);
    const options = this.#options.read(key, given);
    const signal = checkSignal(key, given.signal);
    const call = { key, options, source, signal, beganMs: undefined, isCounted: false };
    this.#throwIfOver(call);
    for (;;) {
      const looked = this.#store.look(key, options.tags);
      const sight = looked instanceof Promise ? await this.#looked(call, looked) : looked;
      const found = decoded(sight.entry, options);
      if (found !== undefined && sight.entry!.freshLeftMs > 0) {
        this.#hit(call, sight.entry!);
        return found.value;
      }
      const renewed = await this.#renewed(call, sight, found);
      if (renewed !== undefined) return renewed.value;
    }
  }

  /** No soft limit, so there is an answer or an error. */
  #looked(call: Call, looked: Promise<Stamped>): Promise<Stamped> {
    const sight = this.#patience.wait(looked, this.#limits(call), unavailableError);
    return sight as Promise<Stamped>;
  }

  #hit(call: Call, entry: Entry): void {
    if (this.#isEarly(entry, call.options)) this.#flightOf(call, entry.fence, 0);
    else call.source.decided?.();
    this.#count(call, 'hit');
  }

  /** A new value, or the stale one, as the options say. Undefined: look again. */
  async #renewed(call: Call, sight: Stamped, stale: Found | undefined): Promise<Found | undefined> {
    const { options } = call;
    if (stale === undefined) this.#count(call, 'miss');
    const staleUntilMs = this.#clock.monotonicMs() + (sight.entry?.leftMs ?? 0);
    const isGone = (): boolean => this.#clock.monotonicMs() >= staleUntilMs;
    try {
      const softMs = stale === undefined ? Number.POSITIVE_INFINITY : options.softMs;
      const found = await this.#loaded(call, sight, softMs);
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
    // Its time has passed while the caller waited for another.
    if (isGone()) return undefined;
    this.#count(call, 'stale');
    return stale;
  }

  /** What comes of a load. Null: nothing that is meant for this caller. Undefined: not soon enough. */
  async #loaded(call: Call, sight: Stamped, softMs: number): Promise<Found | null | undefined> {
    const { key, source } = call;
    if (sight.failure !== undefined) {
      source.decided?.();
      throw loadError(key, sight.failure);
    }
    const flight = this.#flightOf(call, sight.entry?.fence ?? 0, softMs);
    // What it gives may have been read before a deletion that this caller comes after.
    const mayBeOld = flight.hasAsked;
    const isOld = (stamp: string | undefined): boolean =>
      mayBeOld && stamp !== undefined && stamp !== sight.stamp;
    flight.seen(sight);
    if (softMs === 0) return undefined;
    try {
      const entry = await this.#patiently(call, flight, softMs);
      if (entry === undefined || entry === null) return entry;
      return isOld(entry.stamp) ? null : read(entry, call.options, flight);
    } catch (error) {
      if (!isOld(flight.failedStamp) || this.#isOver(call)) throw error;
      return null;
    }
  }

  async #patiently(call: Call, flight: Flight, softMs: number): Promise<Entry | null | undefined> {
    const limits = this.#limits(call, softMs);
    const leave = flight.enter();
    let outcome: CacheEvents['waited']['outcome'] = 'error';
    try {
      const entry = await this.#patience.wait(flight.result, limits);
      outcome = entry === undefined ? 'stale' : 'value';
      return entry;
    } finally {
      leave();
      const waitedMs = this.#clock.monotonicMs() - limits.beganMs;
      this.#announcer.announce('waited', { key: call.key, waitedMs, outcome });
    }
  }

  #limits(call: Call, softMs = Number.POSITIVE_INFINITY): PatienceLimits {
    const { key, signal } = call;
    call.beganMs ??= this.#clock.monotonicMs();
    return { key, beganMs: call.beganMs, softMs, hardMs: call.options.hardMs, signal };
  }

  #count(call: Call, name: 'hit' | 'stale' | 'miss'): void {
    if (call.isCounted) return;
    call.isCounted = true;
    this.#announcer.asked(name, call.key);
  }

  /**
   * The one that is under way in this process, or a new one. None begins for who has given up meanwhile.
   * What the caller does not wait for is no part of the body of a run() that it is in: else it would share
   * the locks of that body, at the same time as the body goes on.
   */
  #flightOf(call: Call, seenFence: number, softMs: number): Flight {
    this.#throwIfOver(call);
    const { key, options, source } = call;
    const underWay = this.#flights.get(key);
    if (underWay !== undefined) {
      source.decided?.();
      return underWay;
    }
    const plan = {
      key,
      options,
      seenFence,
      load: source.load,
      onDecided: source.decided,
      mutex: this.#mutexOf(key),
      store: this.#store,
      clock: this.#clock,
      announcer: this.#announcer,
    };
    const scope = softMs === Number.POSITIVE_INFINITY ? currentRunContext() : undefined;
    const flight = withRunContext(scope, () => new Flight(plan));
    this.#flights.set(key, flight);
    const ended = (): void => void this.#flights.delete(key);
    flight.result.then(ended, ended);
    return flight;
  }

  /** Its name is the hash tag of all keys of a value, so that they live together in a cluster. */
  #mutexOf(key: string): Lock {
    return this.#locks.mutex(`cache:${key}`);
  }

  /**
   * Whether this caller should load before the value is stale (Vattani, Chierichetti, Lowenstein: Optimal
   * Probabilistic Cache Stampede Prevention): each draws how much earlier, in units of the load's time.
   */
  #isEarly({ loadMs, freshLeftMs }: Entry, { beta }: ResolvedCacheOptions): boolean {
    const reachMs = loadMs * beta;
    // The draw exceeds 40 once in 10^17 times.
    if (freshLeftMs > reachMs * 40) return false;
    return -Math.log(1 - this.#random.next()) * reachMs >= freshLeftMs;
  }

  #throwIfOver({ key, signal }: Call): void {
    if (signal?.aborted) throw abortedError(key, signal.reason);
    if (this.#isClosed) throw closedError(key);
  }

  /** The caller itself wants no more. An error of a load may be an abort too, but of something else. */
  #isOver({ signal }: Call): boolean {
    return this.#isClosed || signal?.aborted === true;
  }

  async #asked<Answer>(key: string, answer: Answer | Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } catch (error) {
      throw unavailableError(key, error);
    }
  }
}

/** Undefined: there is none, or it is what another program has kept, which must be loaded anew. */
function decoded(entry: Entry | undefined, options: ResolvedCacheOptions): Found | undefined {
  if (entry === undefined) return undefined;
  try {
    return { value: options.serializer.decode(entry.data) };
  } catch {
    return undefined;
  }
}

/** Null: what another program has loaded, and this one cannot read. Of its own it is told why. */
function read(entry: Entry, { serializer }: ResolvedCacheOptions, flight: Flight): Found | null {
  try {
    return { value: serializer.decode(entry.data) };
  } catch (error) {
    if (flight.hasLoaded(entry)) throw error;
    return null;
  }
}
