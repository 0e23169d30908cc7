import type { Clock, Random } from '../clock/index.ts';
import { LockArgumentError, type Locks } from '../lock/index.ts';
import type { CacheStore } from './store.ts';

/** What a cache needs besides its locks: a store for the values, time and randomness. */
export interface CacheBackend {
  readonly store: CacheStore;
  readonly clock: Clock;
  readonly random: Random;
}

interface Closable {
  close(): unknown;
}

interface AttachedBackend extends CacheBackend {
  /** The locks were closed before the cache was created. */
  readonly isClosed: boolean;
  /** Called when the cache is closed. */
  detach(): void;
}

const backends = new WeakMap<Locks, (cache: Closable) => AttachedBackend>();

/**
 * Sets the backend of all caches of these locks; `make` is called when the first cache is created. Returns a
 * function that closes these caches, and closes the store after the locks are closed: until then the store
 * notifies the waiters of loads that are given up.
 */
export function setCacheBackend(
  locks: Locks,
  make: () => CacheBackend,
): (locksClosed: Promise<void>) => Promise<void> {
  const caches = new Set<Closable>();
  let backend: CacheBackend | undefined;
  let isClosed = false;
  backends.set(locks, (cache) => {
    backend ??= make();
    caches.add(cache);
    return { ...backend, isClosed, detach: () => caches.delete(cache) };
  });
  return async (locksClosed) => {
    isClosed = true;
    for (const cache of caches) cache.close();
    try {
      await locksClosed;
    } finally {
      backend?.store.close();
    }
  };
}

/** @throws LockArgumentError if the locks do not come from `createLocks`. */
export function attachCache(locks: Locks, cache: Closable): AttachedBackend {
  const attach = backends.get(locks);
  if (attach !== undefined) return attach(cache);
  throw new LockArgumentError(
    '',
    'createCache needs the locks that guard its loads: createCache({ locks: createLocks() })',
  );
}
