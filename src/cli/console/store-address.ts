import { bytesOf } from '../bytes.ts';
import { UsageError } from '../verb.ts';

/** Where a server is and how to sign in there. */
export interface StoreAddress {
  /** For prompts and messages; never holds the password. */
  readonly label: string;
  readonly socket: { readonly host: string; readonly port: number } | { readonly path: string };
  /** Over TLS, with a certificate that Node trusts (NODE_EXTRA_CA_CERTS adds one). */
  readonly isSecure: boolean;
  readonly user: string;
  readonly password: string;
  readonly database: number;
}

/** Reads `redis[s]://[user:password@]host[:port][/database]` or `unix:/path`. Throws UsageError. */
export function parseStoreAddress(text: string): StoreAddress {
  const url = parseUrl(text);
  refuseQuery(url);
  if (url.protocol === 'unix:') return unixAddress(url);
  if (url.protocol === 'redis:' || url.protocol === 'rediss:') return tcpAddress(url);
  throw new UsageError(`'${url.protocol}' is not known. ${FORMS}`);
}

const FORMS =
  'A store is redis://[user:password@]host[:port][/database], rediss://… for TLS, or unix:/path.';
const DEFAULT_PORT = 6379;

function parseUrl(text: string): URL {
  if (URL.canParse(text)) return new URL(text);
  throw new UsageError(`The store cannot be read. ${FORMS}`);
}

/** The library reads a database in it, or a prefix of keys: without them, this would be another store than it says. */
function refuseQuery({ search }: URL): void {
  if (search !== '') throw new UsageError(`A store has no options after a ?. ${FORMS}`);
}

function unixAddress(url: URL): StoreAddress {
  const path = decodeURIComponent(url.pathname);
  const isSecure = false;
  return { label: path, socket: { path }, isSecure, user: '', password: '', database: 0 };
}

function tcpAddress(url: URL): StoreAddress {
  const host = url.hostname === '' ? '127.0.0.1' : url.hostname;
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
  const database = url.pathname.replace(/^\/$/, '').slice(1);
  // What stands there is not repeated: without the slashes before it, it is a password.
  if (!/^\d{0,9}$/.test(database)) throw new UsageError(`A database is a number. ${FORMS}`);
  return {
    label: `${host}:${port}`,
    // A URL keeps the brackets of an IPv6 address, a socket does not take them.
    socket: { host: host.replace(/^\[|\]$/g, ''), port },
    isSecure: url.protocol === 'rediss:',
    user: credential(url.username),
    password: credential(url.password),
    database: Number(database),
  };
}

function credential(encoded: string): string {
  try {
    return bytesOf(decodeURIComponent(encoded));
  } catch {
    throw new UsageError('A % in the user or password must be written as %25.');
  }
}
