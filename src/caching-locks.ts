import {
  type Cache,
  type CacheOptions,
  type CacheStore,
  createCache,
  type Load,
  memoryCacheStore,
  setCacheHome,
} from './cache/index.ts';
import { systemClock, systemRandom } from './clock/index.ts';
import { LockArgumentError, Locks, type LocksOptions, type WorkerRenewals } from './lock/index.ts';
import { cacheStoreBeside } from './stores/index.ts';

/** Locks with a cache beside them, for the use that most locks are taken for. */
export class CachingLocks extends Locks {
  readonly #closeCaches: () => void;
  #cache: Cache | undefined;

  /** `isInMemory`: the store is that of this process, and so are the values. */
  constructor(options: LocksOptions & { readonly isInMemory?: boolean }, worker?: WorkerRenewals) {
    super(options, worker);
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

  override async close(): Promise<void> {
    this.#closeCaches();
    await super.close();
  }
}

function cacheStoreOf({
  store,
  clock = systemClock,
  isInMemory = false,
}: CachingOptions): CacheStore {
  const beside = isInMemory ? memoryCacheStore(clock) : cacheStoreBeside(store, clock);
  if (beside !== undefined) return beside;
  throw new LockArgumentError(
    '',
    'this store keeps locks only. A cache needs createLocks(), an address, or redisStore(client).',
  );
}

type CachingOptions = ConstructorParameters<typeof CachingLocks>[0];
