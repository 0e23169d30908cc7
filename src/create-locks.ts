import { CachingLocks, type CachingLocksOptions } from './cache/index.ts';
import { type ClientOptions, parseAddress } from './client/index.ts';
import { systemClock } from './clock/index.ts';
import { LockArgumentError, type LocksOptions, memoryStore, WorkerRenewals } from './lock/index.ts';
import { redisUrlStore, type Session, startRenewalWorker } from './stores/index.ts';

type Url = `redis://${string}` | `rediss://${string}` | `unix:${string}`;

type Where = Url | LocksOptions | Omit<CachingLocksOptions, 'store' | 'isInMemory'>;

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
  /** With `rediss://`: CA, client certificate and key, as Node's `tls.connect` takes them. */
  readonly tls?: ClientOptions['tls'];
}

/**
 * Locks. Without an argument they live in this process; with an address they live in that Redis, Valkey
 * or `holdfast serve`; with `{ store }` wherever the store says.
 */
export function createLocks(where?: Where, options?: AddressOptions): CachingLocks;
export function createLocks(...given: [Where?, AddressOptions?]): CachingLocks {
  const [where = {}, options = {}] = given;
  if (given.length > 0) refuseUnset(given[0]);
  refuseOthers(options, ADDRESS_OPTIONS);
  if (typeof where === 'string') return locksAt(checkUrl(where), options);
  refuseRenewFrom({ ...where, ...options });
  refuseSession({ ...where, ...options });
  if (typeof where === 'object' && where !== null) refuseStore(where);
  refuseOthers(where, LOCKS_OPTIONS);
  if ('store' in where) return new CachingLocks(withStore(where));
  const store = memoryStore(where.clock ?? systemClock);
  return new CachingLocks({ ...where, store, isInMemory: true });
}

function locksAt(url: string, options: AddressOptions): CachingLocks {
  const { renewFrom = 'main', session = false, tls } = options;
  const store = redisUrlStore(url, { session, tls });
  if (renewFrom === 'main') return new CachingLocks({ store });
  if (renewFrom === 'worker') {
    return new CachingLocks({ store }, new WorkerRenewals(() => startRenewalWorker(url, tls)));
  }
  throw new LockArgumentError('', `renewFrom is 'main' or 'worker'; got '${renewFrom}'`);
}

function refuseRenewFrom({ renewFrom = 'main' }: AddressOptions): void {
  if (renewFrom === 'main') return;
  throw new LockArgumentError(
    '',
    'renewFrom: a worker thread needs a connection of its own, and so an address. Use ' +
      "createLocks('redis://host:port', { renewFrom: 'worker' }).",
  );
}

function refuseSession({ session = false }: AddressOptions): void {
  if (session === false) return;
  throw new LockArgumentError(
    '',
    "session: it is opened on a server, and needs an address. Use createLocks('unix:/path', { session: true }), " +
      'or redisStore(client, { session: true }).',
  );
}

/** As from a variable that is not set: its locks would be those of this process alone, and nobody would notice. */
function refuseUnset(where: unknown): void {
  if (where !== undefined) return;
  throw new LockArgumentError(
    '',
    'the address of the locks is undefined. Is a variable of the environment not set? Use createLocks() for locks ' +
      'of this process alone.',
  );
}

/** Its locks would be those of this process alone too. */
function refuseStore(options: object): void {
  if (!['acquireAll', 'evalsha', 'evalSha'].some((name) => name in options)) return;
  throw new LockArgumentError(
    '',
    'a store, or a client, is given by its name. Use createLocks({ store: redisStore(client) }).',
  );
}

/** A client in the place of a store would fail only when it is asked, and then say nothing. */
function withStore(options: LocksOptions): LocksOptions {
  if (typeof options.store?.acquire === 'function') return options;
  throw new LockArgumentError(
    '',
    'store: that is no store. Use createLocks({ store: redisStore(client) }).',
  );
}

const ADDRESS_OPTIONS = ['renewFrom', 'session', 'tls'];
const LOCKS_OPTIONS = [...ADDRESS_OPTIONS, 'store', 'clock', 'random', 'telemetry', 'cacheLimits'];

/** An address in an object, or a store that is misspelt, would be left out: see refuseStore. */
function refuseOthers(options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null)
    throw unknownOption(`'${withoutPassword(String(options))}'`);
  // Inherited ones too: those of a URL are.
  for (const name in options) if (!known.includes(name)) throw unknownOption(`'${name}'`);
}

function unknownOption(what: string): LockArgumentError {
  return new LockArgumentError(
    '',
    `createLocks does not know ${what}. Use createLocks(), createLocks('redis://host:port', { renewFrom, session, tls }) ` +
      'or createLocks({ store: redisStore(client) }).',
  );
}

function checkUrl(url: string): string {
  try {
    parseAddress(url);
    return url;
  } catch {
    throw new LockArgumentError(
      '',
      `'${withoutPassword(url)}' is not an address of locks. Use redis://host:port, redis://host:port/database, ` +
        'rediss://host:port or unix:/path.',
    );
  }
}

/** It may stand in the query too, and an address that is wrong may lack its slashes. */
function withoutPassword(url: string): string {
  return url.replace(/^([a-z+ ]*:\/*)?.*@/is, '$1').replace(/(password=)[^&#]*/gi, '$1…');
}
