/** The address of a server, with the credentials. In user and password, each char is a byte. */
export interface Address {
  /** For messages. Does not include the password. */
  readonly label: string;
  readonly socket: { readonly host: string; readonly port: number } | { readonly path: string };
  readonly isSecure: boolean;
  readonly user: string;
  readonly password: string;
  readonly database: number;
}

/** The text is no address. The message does not repeat the text, which may include a password. */
export class AddressError extends Error {
  override readonly name = 'AddressError';
}

/**
 * Parses `redis://[user:password@]host[:port][/database]`, `rediss://…` for TLS, or `unix:/path`.
 *
 * @throws AddressError
 */
export function parseAddress(text: string): Address {
  const path = /^unix:(?:\/\/)?(\/.+)$/s.exec(text)?.[1];
  if (path !== undefined) return unixAddress(decoded(path));
  // The URL parser ignores spaces around the text and line breaks anywhere: refuse both.
  if (/\s/.test(text) || !URL.canParse(text)) {
    throw new AddressError(`The address cannot be read. ${FORMS}`);
  }
  const url = new URL(text);
  if (url.search !== '') throw new AddressError(`An address has no options after a ?. ${FORMS}`);
  if (url.protocol === 'unix:') throw new AddressError(`A socket has a path: unix:/path. ${FORMS}`);
  if (url.protocol === 'redis:' || url.protocol === 'rediss:') return tcpAddress(url);
  throw new AddressError(`'${url.protocol}' is not known. ${FORMS}`);
}

const FORMS =
  'A store is redis://[user:password@]host[:port][/database], rediss://… for TLS, or unix:/path.';
const DEFAULT_PORT = 6379;

function unixAddress(path: string): Address {
  const isSecure = false;
  return { label: path, socket: { path }, isSecure, user: '', password: '', database: 0 };
}

function tcpAddress(url: URL): Address {
  const host = url.hostname === '' ? '127.0.0.1' : url.hostname;
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
  const database = url.pathname.replace(/^\/$/, '').slice(1);
  if (!/^\d{0,9}$/.test(database)) throw new AddressError(`A database is a number. ${FORMS}`);
  return {
    label: `${host}:${port}`,
    // A URL keeps the brackets of an IPv6 address; a socket does not accept them.
    socket: { host: host.replace(/^\[|\]$/g, ''), port },
    isSecure: url.protocol === 'rediss:',
    user: bytesOf(decoded(url.username)),
    password: bytesOf(decoded(url.password)),
    database: Number(database),
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new AddressError('A % in the user, the password or the path must be written as %25.');
  }
}

function bytesOf(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}
