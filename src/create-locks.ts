import { systemClock } from './clock/index.ts';
import { LockArgumentError, Locks, type LocksOptions, memoryStore } from './lock/index.ts';
import { redisUrlStore } from './stores/index.ts';

type Url = `redis://${string}` | `rediss://${string}` | `unix:${string}`;

/**
 * Locks. Without an argument they live in this process; with an address they live in that Redis, Valkey
 * or `holdfast serve`; with `{ store }` wherever the store says.
 */
export function createLocks(where: Url | LocksOptions | Omit<LocksOptions, 'store'> = {}): Locks {
  if (typeof where === 'string') return new Locks({ store: redisUrlStore(checkUrl(where)) });
  if ('store' in where) return new Locks(where);
  return new Locks({ ...where, store: memoryStore(where.clock ?? systemClock) });
}

function checkUrl(url: string): string {
  if (/^(rediss?:\/\/|unix:\/)/.test(url)) return url;
  throw new LockArgumentError(
    '',
    `'${url}' is not an address of locks. Use redis://host:port, rediss://host:port or unix:/path.`,
  );
}
