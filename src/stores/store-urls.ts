import type { ClientOptions } from '../client/index.ts';
import { systemRandom } from '../clock/index.ts';
import { LockArgumentError, type LockStore } from '../lock/index.ts';
import { parseEndpoints } from './etcd/etcd-endpoints.ts';
import { LoadedStore } from './loaded-store.ts';
import { parseMemcachedAddress } from './memcached/memcached-address.ts';
import { checkPostgresUrl } from './postgres/check-postgres-url.ts';
import { parseQuorumUrl } from './quorum/quorum-url.ts';

/** Options of a store at a URL. Each store takes some of them: `options` of its row. */
export interface UrlStoreOptions {
  readonly prefix?: string | undefined;
  readonly tls?: ClientOptions['tls'];
  /** The store emits no process warnings: cron sends a mail for each line. Default false. */
  readonly isQuiet?: boolean;
  /** The id of this client, with which its owners begin. Default: the store chooses one. */
  readonly clientId?: string;
}

type AddressOption = 'prefix' | 'tls';

/** A URL whose scheme names a store other than Redis. */
export interface StoreUrl {
  /** For messages. Does not include a password. */
  readonly label: string;
  readonly scheme: string;
  readonly options: readonly AddressOption[];
  readonly isMutexOnly: boolean;
  /** Returns the store at once. Its code is loaded by the first request. */
  open(options: UrlStoreOptions): LockStore;
  /** Loads the code of the store, and opens it. */
  load(options: UrlStoreOptions): Promise<LockStore>;
}

interface StoreScheme {
  /** For messages. */
  readonly form: string;
  /** The options that the store takes. */
  readonly options: readonly AddressOption[];
  /** The store has neither semaphores nor read/write locks. */
  readonly isMutexOnly: boolean;
  /** False: see `LockStore.hasFences`. */
  readonly hasFences?: false;
  /** False: the store has no `list`. */
  readonly canList?: false;
  /**
   * Checks the URL without loading the store.
   *
   * @throws LockArgumentError
   */
  check(url: string): void;
  /** Imports the store: a program loads the code of the store that it uses, and no other. */
  load(): Promise<(url: string, options: UrlStoreOptions) => LockStore>;
}

const POSTGRES = {
  form: 'postgres://user:password@host:port/database',
  options: [],
  isMutexOnly: false,
  check: checkPostgresUrl,
  async load() {
    const { postgresUrlStore } = await import('./postgres/postgres-url.ts');
    return (url) => postgresUrlStore(url);
  },
} as const satisfies StoreScheme;

const ETCD = {
  form: 'etcd://host:port,host:port',
  options: ['prefix'],
  isMutexOnly: false,
  check: (url: string) => void parseEndpoints(url, undefined),
  async load() {
    const { etcdStore } = await import('./etcd/etcd-store.ts');
    return (url, { prefix = '', tls }) =>
      etcdStore(url, { ...(prefix !== '' && { prefix }), ...(tls && { tls }) });
  },
} as const satisfies StoreScheme;

const QUORUM = {
  form: 'redis+quorum://host:port,host:port,host:port',
  options: [],
  isMutexOnly: true,
  check: (url: string) => void parseQuorumUrl(url),
  async load() {
    const { quorumUrlStore } = await import('./quorum/quorum-store.ts');
    return (url, { tls, clientId }) => quorumUrlStore(url, { tls }, clientId);
  },
} as const satisfies StoreScheme;

const SCHEMES = {
  postgres: POSTGRES,
  postgresql: POSTGRES,
  etcd: ETCD,
  etcds: { ...ETCD, form: 'etcds://host:port', options: ['prefix', 'tls'] },
  'redis+quorum': QUORUM,
  'rediss+quorum': { ...QUORUM, options: ['tls'] },
  memcached: {
    form: 'memcached://host:port',
    options: ['prefix'],
    isMutexOnly: true,
    hasFences: false,
    canList: false,
    check: parseMemcachedAddress,
    async load() {
      const { memcachedStore, openMemcached } = await import('./memcached/memcached-store.ts');
      return (url, { prefix = '', isQuiet }) =>
        isQuiet ? openMemcached(url, { prefix }) : memcachedStore(url, { prefix });
    },
  },
} as const satisfies Readonly<Record<string, StoreScheme>>;

/** The forms of the URLs, for messages. */
export const URL_FORMS: readonly string[] = [
  ...new Set(Object.values(SCHEMES).map(({ form }) => form)),
];

/**
 * Finds the store of a URL. Undefined: the scheme is not one of the table, such as `redis:`.
 *
 * @throws LockArgumentError if the rest of the URL is wrong.
 */
export function findStoreUrl(text: string): StoreUrl | undefined {
  const url = text.trim();
  const name = /^([a-z+]+):\/\//i.exec(url)?.[1]?.toLowerCase() ?? '';
  if (!Object.hasOwn(SCHEMES, name)) return undefined;
  const scheme: StoreScheme = SCHEMES[name as keyof typeof SCHEMES];
  scheme.check(url);
  const load = async (options: UrlStoreOptions): Promise<LockStore> => {
    const open = await scheme.load().catch((error: unknown) => {
      throw notLoaded(name, error);
    });
    return open(url, options);
  };
  return {
    label: labelOf(url),
    scheme: name,
    options: scheme.options,
    isMutexOnly: scheme.isMutexOnly,
    open(options) {
      // Owners are made before the store is loaded, and the quorum sends its messages to the client of an owner.
      const clientId = newClientId();
      return new LoadedStore(() => load({ ...options, clientId }), clientId, scheme);
    },
    load,
  };
}

function newClientId(): string {
  return Buffer.from(systemRandom.bytes(12)).toString('base64url');
}

/** The options of a URL may include a password, and a mistyped one may have its password anywhere before an `@`. */
function labelOf(url: string): string {
  return url.replace(/[?#].*$/s, '').replace(/\/\/.*@/s, '//');
}

/** Permanent: Node does not import a module again that has failed. */
function notLoaded(scheme: string, error: unknown): Error {
  if (error instanceof LockArgumentError) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const message = `the code of the store ${scheme}:// cannot be loaded: ${reason}`;
  return Object.assign(new Error(message, { cause: error }), { isFinal: true });
}
