import type { Clock, Random } from '../clock/index.ts';
import type { Lock, Locks } from '../lock/index.ts';
import { abortedError, CacheError, loadError, unavailableError } from './errors.ts';
import { Announcer, type CacheCounts } from './events.ts';
import { Flight, type FlightPlan, type Load, type LoadContext } from './flight.ts';
import { Gathering, type LoadMany } from './gathering.ts';
import { moveIn } from './home.ts';
import {
  type CacheOptions,
  checkKey,
  checkKeys,
  checkLoad,
  checkTags,
  OptionsReader,
  type ResolvedCacheOptions,
} from './options.ts';
import { Patience, type PatienceLimits } from './patience.ts';
import type { CacheStore, Entry, Stamped } from './store.ts';

/** Options of all calls, which a call may change. */
export interface CreateCacheOptions extends Partial<Omit<CacheOptions, 'signal'>> {
  readonly locks: Locks;
}

/** A cache beside these locks: in this process, or in the same Redis. */
export function createCache({ locks, ...defaults }: CreateCacheOptions): Cache {
  return new Cache(locks, defaults);
}

type Defaults = Omit<CreateCacheOptions, 'locks'>;

const CLOSED = 'the cache was closed';

/** Where a value comes from, and who wants to know as soon as it is clear whether it is asked. */
interface Source {
  readonly load: Load<unknown>;
  readonly decided?: () => void;
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
    const { store, clock, random, leave } = moveIn(locks, this);
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
    const gathering = new Gathering(load, distinct);
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

  /** Rejects who waits. The locks stay open, and so do loads that are under way. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#patience.end(new Error(CLOSED));
    for (const flight of this.#flights.values()) flight.close();
    this.#unhear();
    this.#leave();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #get(key: string, given: Partial<CacheOptions>, source: Source): Promise<unknown> {
    checkKey(key);
    checkLoad(key, source.load);
    const options = this.#options.read(key, given);
    const { signal } = given;
    this.#throwIfOver(key, signal);
    for (;;) {
      const looked = this.#store.look(key, options.tags);
      const sight = looked instanceof Promise ? await this.#asked(key, looked) : looked;
      if (isFresh(sight.entry))
        return decode(this.#hit(key, options, sight.entry, source), options);
      const entry = await this.#renewed(key, options, sight, { ...source, signal });
      if (entry !== undefined) return decode(entry, options);
    }
  }

  #hit(key: string, options: ResolvedCacheOptions, entry: Entry, source: Source): Entry {
    if (this.#isEarly(entry, options)) this.#flightOf(key, options, entry, source);
    else source.decided?.();
    this.#announcer.asked('hit', key);
    return entry;
  }

  /** A new value, or the stale one, as the options say. Undefined: look again. */

  async #renewed(
    key: string,
    options: ResolvedCacheOptions,
    { entry: stale, failure, stamp }: Stamped,
    source: Source & { readonly signal: AbortSignal | undefined },
  ): Promise<Entry | undefined> {
    if (stale === undefined) this.#announcer.asked('miss', key);
    try {
      if (failure !== undefined) {
        source.decided?.();
        throw loadError(key, failure);
      }
      const isJoining = this.#flights.has(key);
      const flight = this.#flightOf(key, options, stale, source);
      const softMs = stale === undefined ? Number.POSITIVE_INFINITY : options.softMs;
      const limits = { key, softMs, hardMs: options.hardMs, signal: source.signal };
      const entry = softMs > 0 ? await this.#patiently(flight, limits) : undefined;
      // Who joins may have come after a deletion that this value has not heard of.
      if (entry !== undefined) return isJoining && entry.stamp !== stamp ? undefined : entry;
    } catch (error) {
      if (stale === undefined || !options.isStaleOnError || isOver(error)) throw error;
    }
    this.#announcer.asked('stale', key);
    return stale!;
  }

  #patiently(flight: Flight, limits: PatienceLimits): Promise<Entry | undefined> {
    flight.checkDeadlock();
    return this.#patience.wait(flight.result, limits);
  }

  /** The one that is under way in this process, or a new one. */
  #flightOf(
    key: string,
    options: ResolvedCacheOptions,
    seen: Entry | undefined,
    source: Source,
  ): Flight {
    const underWay = this.#flights.get(key);
    if (underWay !== undefined) {
      source.decided?.();
      return underWay;
    }
    const flight = new Flight(this.#plan(key, options, seen, source));
    this.#flights.set(key, flight);
    const ended = (): void => void this.#flights.delete(key);
    flight.result.then(ended, ended);
    return flight;
  }

  #plan(
    key: string,
    options: ResolvedCacheOptions,
    seen: Entry | undefined,
    { load, decided }: Source,
  ): FlightPlan {
    return {
      key,
      options,
      load,
      onDecided: decided,
      mutex: this.#mutexOf(key),
      store: this.#store,
      clock: this.#clock,
      announcer: this.#announcer,
      seenFence: seen?.fence ?? 0,
    };
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

  #throwIfOver(key: string, signal: AbortSignal | undefined): void {
    if (signal?.aborted) throw abortedError(key, signal.reason);
    if (this.#isClosed) throw abortedError(key, new Error(CLOSED));
  }

  async #asked<Answer>(key: string, answer: Answer | Promise<Answer>): Promise<Answer> {
    try {
      return await answer;
    } catch (error) {
      throw unavailableError(key, error);
    }
  }
}

function isFresh(entry: Entry | undefined): entry is Entry {
  return entry !== undefined && entry.freshLeftMs > 0;
}

function decode({ data }: Entry, { serializer }: ResolvedCacheOptions): unknown {
  return serializer.decode(data);
}

/** The caller itself wanted no more. */
function isOver(error: unknown): boolean {
  return error instanceof CacheError && error.code === 'aborted';
}
