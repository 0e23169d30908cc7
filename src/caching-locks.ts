import {
  type Cache,
  type CacheLimits,
  type CacheOptions,
  type CacheStore,
  checkCacheLimits,
  createCache,
  type Load,
  memoryCacheStore,
  setCacheHome,
} from './cache/index.ts';
import { systemClock, systemRandom } from './clock/index.ts';
import { LockArgumentError, Locks, type LocksOptions, type WorkerRenewals } from './lock/index.ts';
import { cacheStoreBeside } from './stores/index.ts';

export interface CachingLocksOptions extends LocksOptions {
  /** The store is that of this process, and so are the values. */
  readonly isInMemory?: boolean;
  /** How much of the process's memory its cached values may take. */
  readonly cacheLimits?: CacheLimits;
}

/** Locks with a cache beside them, for the use that most locks are taken for. */
export class CachingLocks extends Locks {
  readonly #closeCaches: (locksClosed: Promise<void>) => Promise<void>;
  #cache: Cache | undefined;

  constructor(options: CachingLocksOptions, worker?: WorkerRenewals) {
    super(options, worker);
    const { cacheLimits, isInMemory = false } = options;
    if (cacheLimits !== undefined) checkCacheLimits(cacheLimits, isInMemory);
    const { clock = systemClock, random = systemRandom } = options;
    this.#closeCaches = setCacheHome(this, () => ({ store: cacheStoreOf(options), clock, random }));
  }

  /**
   * The value of a key. If there is none, one caller of all processes loads it and the others wait for it;
   * if it is stale, they get it as it is meanwhile. See `holdfast/cache` for more than this.
   */
  cache<Value>(key: string, options: CacheOptions, load: Load<Value>): Promise<Value> {
    this.#cache ??= createCache({ locks: this });
    return this.#cache.get(key, options, load);
  }

  /** What is loaded is given up before the others hear of it: they must find its mutex free. */
  override close(): Promise<void> {
    return this.#closeCaches(super.close());
  }
}

function cacheStoreOf(options: CachingLocksOptions): CacheStore {
  const { store, clock = systemClock, isInMemory = false, cacheLimits } = options;
  const beside = isInMemory ? memoryCacheStore(clock, cacheLimits) : cacheStoreBeside(store, clock);
  if (beside !== undefined) return beside;
  throw new LockArgumentError(
    '',
    'this store keeps locks only. A cache needs createLocks(), an address, or redisStore(client).',
  );
}
