import { CachingLocks, type CachingLocksOptions } from './caching-locks.ts';
import { systemClock } from './clock/index.ts';
import { LockArgumentError, type LocksOptions, memoryStore, WorkerRenewals } from './lock/index.ts';
import { redisUrlStore, type Session, startRenewalWorker } from './stores/index.ts';

type Url = `redis://${string}` | `rediss://${string}` | `unix:${string}`;

export interface AddressOptions {
  /**
   * `worker`: a worker thread with a connection of its own renews leases while the event loop is blocked.
   * A program that hangs then keeps its locks too, unless `maxHold` ends that. Default `main`.
   */
  readonly renewFrom?: 'main' | 'worker';
  /**
   * At `holdfast serve`: locks end at once when this process does, however that comes about, and not only
   * with their lease. `true` opens a session for them; or one that is open already (see openSession).
   */
  readonly session?: boolean | Session;
}

/**
 * Locks. Without an argument they live in this process; with an address they live in that Redis, Valkey
 * or `holdfast serve`; with `{ store }` wherever the store says.
 */
export function createLocks(
  where: Url | LocksOptions | Omit<CachingLocksOptions, 'store' | 'isInMemory'> = {},
  options: AddressOptions = {},
): CachingLocks {
  if (typeof where === 'string') return locksAt(checkUrl(where), options);
  refuseRenewFrom({ ...where, ...options });
  refuseSession({ ...where, ...options });
  if ('store' in where) return new CachingLocks(where);
  refuseStore(where);
  const store = memoryStore(where.clock ?? systemClock);
  return new CachingLocks({ ...where, store, isInMemory: true });
}

function locksAt(url: string, options: AddressOptions): CachingLocks {
  const { renewFrom = 'main', session = false } = options;
  const store = redisUrlStore(url, { session });
  if (renewFrom === 'main') return new CachingLocks({ store });
  if (renewFrom === 'worker') {
    return new CachingLocks({ store }, new WorkerRenewals(() => startRenewalWorker(url)));
  }
  throw new LockArgumentError('', `renewFrom is 'main' or 'worker'; got '${renewFrom}'`);
}

function refuseRenewFrom(options: object): void {
  if (!('renewFrom' in options) || options.renewFrom === 'main') return;
  throw new LockArgumentError(
    '',
    'renewFrom: a worker thread needs a connection of its own, and so an address. Use ' +
      "createLocks('redis://host:port', { renewFrom: 'worker' }).",
  );
}

function refuseSession(options: object): void {
  if (!('session' in options) || options.session === false) return;
  throw new LockArgumentError(
    '',
    "session: it is opened on a server, and needs an address. Use createLocks('unix:/path', { session: true }), " +
      'or redisStore(client, { session: true }).',
  );
}

/** Its locks would be those of this process alone, and nobody would notice. */
function refuseStore(options: object): void {
  if (!['ask', 'evalsha', 'evalSha'].some((name) => name in options)) return;
  throw new LockArgumentError(
    '',
    'a store, or a client, is given by its name. Use createLocks({ store: redisStore(client) }).',
  );
}

function checkUrl(url: string): string {
  if (/^(rediss?:\/\/|unix:\/)/.test(url)) return url;
  throw new LockArgumentError(
    '',
    `'${url}' is not an address of locks. Use redis://host:port, rediss://host:port or unix:/path.`,
  );
}
