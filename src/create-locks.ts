import { CachingLocks, type CachingLocksOptions } from './cache/index.ts';
import { type ClientOptions, parseAddress } from './client/index.ts';
import { systemClock } from './clock/index.ts';
import {
  LockArgumentError,
  type LocksOptions,
  memoryStore,
  type UnfencedLocks,
  type UnfencedStore,
  WorkerRenewals,
} from './lock/index.ts';
import {
  findStoreUrl,
  type KeyOptions,
  redisUrlStore,
  type Session,
  type StoreUrl,
  startRenewalWorker,
  URL_FORMS,
} from './stores/index.ts';

/** The locks of one store, and a cache beside them. An interface, so that editors show this name. */
export interface Locks extends CachingLocks {}

/** Options of createLocks(). Without `url` and `store`, the locks live in this process. */
export interface CreateLocksOptions
  extends AddressOptions,
    Partial<Omit<LocksOptions, 'store'>>,
    Pick<CachingLocksOptions, 'cacheLimits'> {
  /**
   * Where the locks live: `redis://`, `rediss://` or `unix:` for Redis, Valkey or `holdfast serve`; `memcached://`. The
   * code of a store other than Redis is loaded by the first request.
   */
  readonly url?: string;
  /** A store for the locks, such as `redisStore(client)`. */
  readonly store?: LocksOptions['store'];
}

/** Options for locks at an address. All of them are for Redis; `memcached://` takes `prefix` only. */
export interface AddressOptions extends KeyOptions {
  /**
   * `worker`: a worker thread with a connection of its own renews leases while the event loop is blocked. A program
   * that hangs then keeps its locks too, unless `maxHold` caps that. Default `main`.
   */
  readonly renewFrom?: 'main' | 'worker';
  /**
   * On `holdfast serve`: locks end at once when this process ends, however it ends, and not only with their lease.
   * `true` opens a session for them; or pass one that openSession() returned. Default false.
   */
  readonly session?: boolean | Session;
  /** With `rediss://`: CA, client certificate and key, as Node's `tls.connect` takes them. */
  readonly tls?: ClientOptions['tls'];
}

/**
 * Creates locks. Without an argument they live in this process; with an address they live in that Redis, Valkey,
 * `holdfast serve` or memcached; with `{ store }` wherever the store keeps them.
 *
 * @throws LockArgumentError for an address or an option that cannot be right, also for an address that is undefined.
 *
 * @example
 * const locks = createLocks(process.env.REDIS_URL ?? 'redis://127.0.0.1:6379');
 * await locks.mutex('orders:42').run(async (lease) => {
 *   await ship(order, { signal: lease.signal });
 * });
 */
export function createLocks(
  options: CreateLocksOptions & { readonly store: UnfencedStore },
): UnfencedLocks;
export function createLocks(options?: CreateLocksOptions): Locks;
export function createLocks(
  url: `memcached://${string}`,
  options?: Omit<CreateLocksOptions, 'url' | 'store'>,
): UnfencedLocks;
export function createLocks(
  url: string,
  options?: Omit<CreateLocksOptions, 'url' | 'store'>,
): Locks;
export function createLocks(...given: [(CreateLocksOptions | string)?, object?]): CachingLocks {
  const options = optionsOf(given);
  if ('url' in options) return locksAt(options);
  for (const name of ADDRESS_OPTIONS) if (isGiven(options, name)) throw needsUrl(name);
  const { store, ...others } = options;
  if ('store' in options) return new CachingLocks({ ...others, store: checkStore(store) });
  const inMemory = memoryStore(options.clock ?? systemClock);
  return new CachingLocks({ ...others, store: inMemory, isInMemory: true });
}

/** One object of options that are all known. */
function optionsOf(given: readonly [(CreateLocksOptions | string)?, object?]): CreateLocksOptions {
  const [where = {}, more = {}] = given;
  if (given.length > 0 && given[0] === undefined) throw unsetUrl();
  const options = typeof where === 'string' ? withUrl(where, more) : where;
  if (!isPlainObject(options)) throw unknownOption(kindOf(options));
  refuseClient(options);
  if (given.length > 1 && typeof where !== 'string') throw unknownOption('a second argument');
  for (const name in options) if (!OPTIONS.includes(name)) throw unknownOption(`'${name}'`);
  for (const [name, { is, what }] of Object.entries(TYPES)) {
    const { [name]: value } = options as Record<string, unknown>;
    if (value !== undefined && !is(value)) {
      throw new LockArgumentError('', `${name} must be ${what}; got ${kindOf(value)}`);
    }
  }
  return options;
}

/** A promise, a map or a client in the place of the options would give locks of this process alone, unnoticed. */
function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || isStoreOrClient(value);
}

/** Never the value itself: it may hold a password. */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (typeof value !== 'object') return `a ${typeof value}`;
  return Array.isArray(value) ? 'an array' : `a ${value.constructor?.name ?? 'object'}`;
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

const TYPES: Readonly<Record<string, { is(value: unknown): boolean; readonly what: string }>> = {
  url: { is: (value) => typeof value === 'string', what: 'a string' },
  defaults: { is: isObject, what: 'an object: { wait, lease, label }' },
  clock: { is: (value) => isObject(value) && 'setTimer' in (value as object), what: 'a Clock' },
  random: { is: (value) => isObject(value) && 'bytes' in (value as object), what: 'a Random' },
  telemetry: { is: (value) => typeof value === 'boolean', what: 'true or false' },
  cacheLimits: { is: isObject, what: 'an object: { entries, bytes }' },
  session: { is: (value) => value !== null, what: 'true, false, or the result of openSession()' },
  tls: { is: isObject, what: "an object, as Node's tls.connect takes it" },
};

function withUrl(url: string, more: object): CreateLocksOptions {
  if (!isPlainObject(more)) throw unknownOption(`${kindOf(more)} beside an address`);
  if ('url' in more || 'store' in more) throw unknownOption("'url' or 'store' beside an address");
  return { ...more, url };
}

function locksAt(options: CreateLocksOptions): CachingLocks {
  const { url, store, clock, renewFrom = 'main', session = false, tls, prefix, key } = options;
  if (url === undefined) throw unsetUrl();
  if (store !== undefined) throw new LockArgumentError('', 'use url or store, not both');
  if (clock !== undefined) throw new LockArgumentError('', CLOCK_AT_URL);
  const other = findStoreUrl(url);
  if (other !== undefined) return locksAtOther(other, options);
  checkUrl(url);
  // A redis:// connection would ignore tls and send the password in the clear.
  if (tls !== undefined && !/^rediss:/i.test(url.trim()))
    throw new LockArgumentError('', TLS_AT_PLAIN);
  const locksOptions = {
    ...commonOptions(options),
    store: redisUrlStore(url, { session, tls, prefix, key }),
  };
  if (renewFrom === 'main') return new CachingLocks(locksOptions);
  if (renewFrom !== 'worker') throw wrongRenewFrom(renewFrom);
  if (key !== undefined) throw new LockArgumentError('', KEY_IN_WORKER);
  const start = () => startRenewalWorker({ url, tls, prefix });
  return new CachingLocks(locksOptions, new WorkerRenewals(start));
}

/** Locks at the address of a store other than Redis. */
function locksAtOther(store: StoreUrl, options: CreateLocksOptions): CachingLocks {
  const taken: readonly string[] = store.options;
  for (const name of ADDRESS_OPTIONS) {
    if (isGiven(options, name) && !taken.includes(name)) throw unfitOption(name, store);
  }
  const { prefix, tls } = options;
  return new CachingLocks({ ...commonOptions(options), store: store.open({ prefix, tls }) });
}

function unfitOption(
  name: (typeof ADDRESS_OPTIONS)[number],
  { scheme }: StoreUrl,
): LockArgumentError {
  const forms = name === 'tls' ? 'rediss://' : 'redis://';
  return new LockArgumentError(
    '',
    `${name} is for ${forms} addresses: leave it out with ${scheme}://, or use another store`,
  );
}

/** The options that do not depend on the store. */
function commonOptions({
  defaults,
  random,
  telemetry,
  cacheLimits,
}: CreateLocksOptions): Omit<CachingLocksOptions, 'store'> {
  return {
    ...(defaults && { defaults }),
    ...(random && { random }),
    ...(telemetry !== undefined && { telemetry }),
    ...(cacheLimits && { cacheLimits }),
  };
}

const CLOCK_AT_URL =
  'clock is for locks of this process, in tests: the locks at an address end by the time of its server';
const TLS_AT_PLAIN = 'tls is for rediss:// addresses: write rediss://host:port, or leave tls out';
const KEY_IN_WORKER =
  "key is a function, which a worker thread cannot have. Leave out key, or renewFrom: 'worker'.";

/** Only for locks at an address: with a store, or in this process, each would be ignored. */
const ADDRESS_OPTIONS = ['renewFrom', 'session', 'tls', 'prefix', 'key'] as const;
const OPTIONS: readonly string[] = [
  'url',
  'store',
  ...ADDRESS_OPTIONS,
  'defaults',
  'clock',
  'random',
  'telemetry',
  'cacheLimits',
];

function isGiven(options: CreateLocksOptions, name: (typeof ADDRESS_OPTIONS)[number]): boolean {
  const { [name]: value } = options;
  // Without an address, the default value changes nothing.
  return value !== undefined && value !== false && value !== 'main';
}

function needsUrl(name: (typeof ADDRESS_OPTIONS)[number]): LockArgumentError {
  return new LockArgumentError(
    '',
    `${name} needs an address: ${NEEDS_URL[name]} Use createLocks({ url: 'redis://host:port', ${name} })` +
      `${STORE_OPTIONS.has(name) ? `, or redisStore(client, { ${name} })` : ''}.`,
  );
}

const STORE_OPTIONS: ReadonlySet<string> = new Set(['session', 'prefix', 'key']);

const NEEDS_URL = {
  renewFrom: 'a worker thread has a connection of its own.',
  session: 'it is opened on a server.',
  tls: 'it is for connections.',
  prefix: 'it is for keys in Redis.',
  key: 'it is for keys in Redis.',
} as const satisfies Record<(typeof ADDRESS_OPTIONS)[number], string>;

function wrongRenewFrom(renewFrom: unknown): LockArgumentError {
  return new LockArgumentError('', `renewFrom is 'main' or 'worker'; got '${String(renewFrom)}'`);
}

/** As from an environment variable that is not set: the locks would live in this process alone, unnoticed. */
function unsetUrl(): LockArgumentError {
  return new LockArgumentError(
    '',
    'the address of the locks is undefined. Is an environment variable not set? Use createLocks() for locks of this ' +
      'process alone.',
  );
}

/** A store or a client in the place of the options. */
function isStoreOrClient(options: object): boolean {
  return ['acquireAll', 'evalsha', 'evalSha'].some((name) => name in options);
}

function refuseClient(options: object): void {
  if (!isStoreOrClient(options)) return;
  throw new LockArgumentError(
    '',
    'a store, or a client, is given by its name. Use createLocks({ store: redisStore(client) }).',
  );
}

/** A client in the place of a store would fail only at the first request. */
function checkStore(store: CreateLocksOptions['store']): LocksOptions['store'] {
  if (typeof store?.acquire === 'function') return store;
  throw new LockArgumentError(
    '',
    'store: that is no store. Use createLocks({ store: redisStore(client) }).',
  );
}

function unknownOption(what: string): LockArgumentError {
  return new LockArgumentError(
    '',
    `createLocks does not know ${what}. Use createLocks(), createLocks('redis://host:port') or ` +
      `createLocks({ … }) with ${OPTIONS.join(', ')}.`,
  );
}

function checkUrl(url: string): void {
  try {
    parseAddress(url);
  } catch {
    throw new LockArgumentError(
      '',
      `'${schemeOf(url)}…' is not an address of locks. Use redis://host:port, redis://host:port/database, ` +
        `rediss://host:port, unix:/path, ${URL_FORMS.join(', ')}.`,
    );
  }
}

/** All that is shown of a wrong address: a password may be anywhere in the rest. */
function schemeOf(url: string): string {
  return /^[a-z+]+:\/*/i.exec(url)?.[0] ?? '';
}
