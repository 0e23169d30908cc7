import { type Duration, durationMs, LockArgumentError } from '../lock/index.ts';
import { jsonSerializer, type Serializer } from './serializer.ts';
import type { Tags } from './store.ts';

/** Options of a call. Durations are milliseconds or text such as `'30s'`. */
export interface CacheOptions {
  /** How long a value is fresh: callers get it without a load. */
  readonly fresh: Duration;
  /** How long after that callers may get it while one of them loads the next. Default 0. */
  readonly stale?: Duration;
  /**
   * How long a caller waits for the new value while there is a stale one. Default 0: it gets the stale one at
   * once. Infinity: it gets the stale one only if the load fails.
   */
  readonly softTimeout?: Duration;
  /** How long a caller waits in total. The load goes on without it. Default 30 s. */
  readonly hardTimeout?: Duration;
  /** What callers get when the load fails and there is a stale value. Default `stale`. */
  readonly onError?: 'stale' | 'throw';
  /** Pause after a failed load; doubles with each further failure, up to 30 times. Default 1 s. */
  readonly backoff?: Duration;
  /**
   * How early a caller may load before the value is stale, at random, in units of the load's duration. Default 1;
   * larger is earlier; 0 is never.
   */
  readonly beta?: number;
  /** Lease of the loader, which renews it. After a loader dies, waiters wait for its end. Default 10 s. */
  readonly lease?: Duration;
  /** After this another caller loads although the first load is still under way. Default 5 min. */
  readonly maxLoad?: Duration;
  /** What `invalidate` names. Give the same tags at each call for a key. Default none. */
  readonly tags?: readonly string[];
  /** Default `jsonSerializer`. */
  readonly serializer?: Serializer;
  /** Aborts waiting. The load goes on. */
  readonly signal?: AbortSignal;
}

/** Options of `set`. */
export interface SetOptions
  extends Partial<Pick<CacheOptions, 'fresh' | 'stale' | 'tags' | 'serializer'>> {}

/** Options of `has`. */
export interface HasOptions extends Pick<CacheOptions, 'tags'> {}

export interface ResolvedCacheOptions {
  readonly freshMs: number;
  readonly staleMs: number;
  readonly softMs: number;
  readonly hardMs: number;
  readonly isStaleOnError: boolean;
  readonly pauseMs: number;
  readonly beta: number;
  readonly leaseMs: number;
  readonly maxLoadMs: number;
  readonly tags: Tags;
  readonly serializer: Serializer;
}

const MIN_LEASE_MS = 10;
const NO_TAGS: Tags = [];

/** Resolved options are memoized: most calls come from a few places, with the same options each time. */
const MAX_MEMOIZED = 16;

/** Resolves the options of a call, with the options of the cache as defaults. */
export class OptionsReader {
  readonly #defaults: Partial<CacheOptions>;
  readonly #memoized: {
    readonly given: Partial<CacheOptions>;
    readonly used: ResolvedCacheOptions;
  }[] = [];

  constructor(defaults: Partial<CacheOptions>) {
    this.#defaults = defaults;
  }

  /** @throws LockArgumentError */
  tagsOf({ tags = this.#defaults.tags }: HasOptions): Tags {
    return tags === undefined ? NO_TAGS : checkTags(tags);
  }

  read(key: string, given: Partial<CacheOptions>): ResolvedCacheOptions {
    if (typeof given !== 'object' || given === null) {
      throw new LockArgumentError(key, "a cache needs options: at least { fresh: '10s' }");
    }
    for (const each of this.#memoized) if (isSame(each.given, given)) return each.used;
    const used = resolveCacheOptions(key, withDefaults(given, this.#defaults));
    const { tags, signal: _, ...others } = given;
    const kept = tags === undefined ? others : { ...others, tags: [...tags] };
    if (this.#memoized.unshift({ given: kept, used }) > MAX_MEMOIZED) this.#memoized.pop();
    return used;
  }
}

/** An option that is undefined is not given. */
function withDefaults(given: Partial<CacheOptions>, defaults: Partial<CacheOptions>): CacheOptions {
  const said = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(said) } as CacheOptions;
}

function isSame(one: Partial<CacheOptions>, other: Partial<CacheOptions>): boolean {
  return (
    one.fresh === other.fresh &&
    one.stale === other.stale &&
    one.softTimeout === other.softTimeout &&
    one.hardTimeout === other.hardTimeout &&
    one.onError === other.onError &&
    one.backoff === other.backoff &&
    one.beta === other.beta &&
    one.lease === other.lease &&
    one.maxLoad === other.maxLoad &&
    one.serializer === other.serializer &&
    isSameList(one.tags, other.tags)
  );
}

function isSameList(one: Tags | undefined, other: Tags | undefined): boolean {
  if (one === other) return true;
  if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
  return one.every((tag, index) => tag === other[index]);
}

function resolveCacheOptions(key: string, options: CacheOptions): ResolvedCacheOptions {
  const { onError = 'stale', beta = 1, serializer = jsonSerializer } = options;
  if (onError !== 'stale' && onError !== 'throw') {
    throw new LockArgumentError(key, `onError is 'stale' or 'throw'; got '${String(onError)}'`);
  }
  if (!(typeof beta === 'number' && beta >= 0 && beta < Number.POSITIVE_INFINITY)) {
    throw new LockArgumentError(key, `beta must be a number from 0 on; got ${String(beta)}`);
  }
  return {
    ...resolveTimes(key, options),
    isStaleOnError: onError === 'stale',
    beta,
    tags: options.tags === undefined ? NO_TAGS : checkTags(options.tags),
    serializer: checkSerializer(key, serializer),
  };
}

function resolveTimes(key: string, options: CacheOptions) {
  const { stale = 0, softTimeout = 0, hardTimeout = '30s', backoff = '1s' } = options;
  const { lease = '10s', maxLoad = '5m' } = options;
  return {
    freshMs: durationMs(options.fresh, 'fresh', key, { leastMs: 1 }),
    staleMs: durationMs(stale, 'stale', key, { leastMs: 0 }),
    softMs: durationMs(softTimeout, 'softTimeout', key, { leastMs: 0, endless: true }),
    hardMs: durationMs(hardTimeout, 'hardTimeout', key, { leastMs: 0, endless: true }),
    pauseMs: durationMs(backoff, 'backoff', key, { leastMs: 0 }),
    leaseMs: durationMs(lease, 'lease', key, { leastMs: MIN_LEASE_MS }),
    maxLoadMs: durationMs(maxLoad, 'maxLoad', key, { leastMs: MIN_LEASE_MS, endless: true }),
  };
}

const MAX_BYTES = 1000;

export function checkKey(key: string): string {
  return checkText(key, 'the key of a cached value');
}

export function checkKeys(keys: readonly string[]): readonly string[] {
  if (!Array.isArray(keys)) throw new LockArgumentError('', 'keys must be an array of strings');
  return [...new Set(keys.map(checkKey))];
}

export function checkTags(tags: readonly string[]): Tags {
  if (!Array.isArray(tags)) throw new LockArgumentError('', 'tags must be an array of strings');
  return [...new Set(tags.map((tag) => checkText(tag, 'a tag')))].sort();
}

export function checkLoad(key: string, load: unknown): void {
  if (typeof load === 'function') return;
  throw new LockArgumentError(
    key,
    `load must be a function that returns the value; got ${typeof load}`,
  );
}

export function checkSignal(key: string, signal: AbortSignal | undefined): AbortSignal | undefined {
  // Checked by shape: a signal may come from another realm, or be a polyfill.
  if (signal === undefined || isSignal(signal)) return signal;
  throw new LockArgumentError(key, `signal must be an AbortSignal; got ${typeof signal}`);
}

function isSignal(value: unknown): boolean {
  const signal = value as Partial<AbortSignal> | null;
  return (
    typeof signal?.aborted === 'boolean' &&
    typeof signal.addEventListener === 'function' &&
    typeof signal.removeEventListener === 'function'
  );
}

function checkText(text: string, what: string): string {
  if (typeof text !== 'string' || text === '') {
    throw new LockArgumentError(String(text), `${what} is a string that is not empty`);
  }
  // A UTF-16 unit takes at most three bytes.
  if (text.length * 3 > MAX_BYTES && Buffer.byteLength(text) > MAX_BYTES) {
    const start = `${text.slice(0, 32)}…`;
    throw new LockArgumentError(start, `${what} has at most ${MAX_BYTES} bytes. Use a hash of it.`);
  }
  if (/\p{Surrogate}/u.test(text)) {
    throw new LockArgumentError(
      text,
      `${what} must be well-formed: it has half of a surrogate pair`,
    );
  }
  return text;
}

function checkSerializer(key: string, serializer: Serializer): Serializer {
  if (typeof serializer?.encode === 'function' && typeof serializer.decode === 'function') {
    return serializer;
  }
  throw new LockArgumentError(key, 'a serializer has two methods, encode and decode');
}
