import {
  type Cache,
  type CacheLimits,
  type CacheOptions,
  type CacheStore,
  checkCacheLimits,
  createCache,
  type Load,
  memoryCacheStore,
  RedisCacheStore,
  setCacheHome,
} from './cache/index.ts';
import type { ExitCommands, ScriptRunner } from './client/index.ts';
import { systemClock, systemRandom } from './clock/index.ts';
import {
  LockArgumentError,
  type LockStore,
  Locks,
  type LocksOptions,
  type WorkerRenewals,
} from './lock/index.ts';

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
  if (isInMemory) return memoryCacheStore(clock, cacheLimits);
  if (runsScripts(store)) return new RedisCacheStore(store.scripts, clock, store.session);
  throw new LockArgumentError(
    '',
    'this store keeps locks only. A cache needs createLocks(), an address, or redisStore(client).',
  );
}

/** A store that runs scripts where its locks live: values can live there too. */
interface ScriptedStore extends LockStore {
  readonly scripts: ScriptRunner;
  readonly session: ExitCommands | undefined;
}

function runsScripts(store: LockStore): store is ScriptedStore {
  return 'scripts' in store;
}
