import type { Clock, Random } from '../clock/index.ts';
import { LockArgumentError, type Locks } from '../lock/index.ts';
import type { CacheStore } from './store.ts';

/** What a cache is made of, beside its locks: a store for the values, time and chance. */
export interface CacheHome {
  readonly store: CacheStore;
  readonly clock: Clock;
  readonly random: Random;
}

interface Closable {
  close(): unknown;
}

interface Tenancy extends CacheHome {
  /** The locks were closed already. */
  readonly isClosed: boolean;
  /** The cache is closed by itself. */
  leave(): void;
}

const homes = new WeakMap<Locks, (cache: Closable) => Tenancy>();

/**
 * Says where values live that are guarded by these locks; it is asked when a cache is first made on them.
 * Gives what closes all caches of these locks, and their store as soon as the locks are closed: until then
 * those who load tell the others that they do not.
 */
export function setCacheHome(
  locks: Locks,
  make: () => CacheHome,
): (locksClosed: Promise<void>) => Promise<void> {
  const caches = new Set<Closable>();
  let home: CacheHome | undefined;
  let isClosed = false;
  homes.set(locks, (cache) => {
    home ??= make();
    caches.add(cache);
    return { ...home, isClosed, leave: () => caches.delete(cache) };
  });
  return async (locksClosed) => {
    isClosed = true;
    for (const cache of caches) cache.close();
    try {
      await locksClosed;
    } finally {
      home?.store.close();
    }
  };
}

export function moveIn(locks: Locks, cache: Closable): Tenancy {
  const enter = homes.get(locks);
  if (enter !== undefined) return enter(cache);
  throw new LockArgumentError(
    '',
    'createCache needs the locks that keep its loads apart: createCache({ locks: createLocks() })',
  );
}
