import { systemClock, systemRandom } from '../clock/index.ts';
import {
  LockArgumentError,
  type LockStore,
  Locks,
  type LocksOptions,
  type WorkerRenewals,
} from '../lock/index.ts';
import { setCacheBackend } from './backend.ts';
import { type Cache, createCache } from './cache.ts';
import { type CacheLimits, checkCacheLimits } from './limits.ts';
import { memoryCacheStore } from './memory-cache-store.ts';
import type { CacheOptions } from './options.ts';
import { RedisCacheStore, type ScriptedServer } from './redis-cache-store.ts';
import type { Load } from './shared-load.ts';
import type { CacheStore } from './store.ts';

export interface CachingLocksOptions extends LocksOptions {
  /** The lock store is the memory of this process, and cached values are kept there too. */
  readonly isInMemory?: boolean;
  /** Limits for values that are kept in this process. */
  readonly cacheLimits?: CacheLimits;
}

/** Locks with a cache on the same store. */
export class CachingLocks extends Locks {
  readonly #closeCaches: (locksClosed: Promise<void>) => Promise<void>;
  #cache: Cache | undefined;

  constructor(options: CachingLocksOptions, worker?: WorkerRenewals) {
    super(options, worker);
    const { cacheLimits, isInMemory = false } = options;
    if (cacheLimits !== undefined) checkCacheLimits(cacheLimits, isInMemory);
    const { clock = systemClock, random = systemRandom } = options;
    const make = () => ({ store: cacheStoreOf(options), clock, random });
    this.#closeCaches = setCacheBackend(this, make);
  }

  /**
   * Returns the value of a key. If it is missing, one caller of all processes loads it and the others wait for
   * that value; if it is stale, callers get the stale value while one loads. `createCache` of `holdfast/cache`
   * has more calls and defaults for the options.
   *
   * @throws CacheError, or the error of `load`.
   * @example const user = await locks.cache('user:7', { fresh: '10s' }, () => database.user(7));
   */
  cache<Value>(key: string, options: CacheOptions, load: Load<Value>): Promise<Value> {
    this.#cache ??= createCache({ locks: this });
    return this.#cache.get(key, options, load);
  }

  /**
   * Closes the locks and the caches. Loads of this process are given up: their mutexes are released first, and then
   * their waiters are notified, so that one of them can load.
   */
  override close(): Promise<void> {
    return this.#closeCaches(super.close());
  }
}

function cacheStoreOf(options: CachingLocksOptions): CacheStore {
  const { store, clock = systemClock, isInMemory = false, cacheLimits } = options;
  if (isInMemory) return memoryCacheStore(clock, cacheLimits);
  if (runsScripts(store)) return new RedisCacheStore(store, clock);
  throw new LockArgumentError(
    '',
    'this store keeps locks only. A cache needs createLocks(), an address at redis://, or redisStore(client).',
  );
}

/** Whether the server of a lock store can keep values. */
function runsScripts(store: LockStore): store is LockStore & ScriptedServer {
  return 'scripts' in store;
}
