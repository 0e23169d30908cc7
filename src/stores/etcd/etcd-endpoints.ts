import type { ConnectionOptions } from 'node:tls';
import { LockArgumentError } from '../../lock/index.ts';

/** A member of the etcd cluster. */
export interface Endpoint {
  /** `http://host:port` or `https://host:port`. */
  readonly url: string;
  /** For messages: `host:port`. */
  readonly label: string;
}

export type EtcdTls = Pick<
  ConnectionOptions,
  'ca' | 'cert' | 'key' | 'passphrase' | 'servername' | 'rejectUnauthorized'
>;

export interface Endpoints {
  readonly endpoints: readonly Endpoint[];
  readonly user: string;
  readonly password: string;
}

/**
 * Parses `etcd://[user:password@]host[:port],host…`, `etcds://…` or `https://…` for TLS, `host:port`, or an array of
 * these. With `tls`, an address without a scheme is one with TLS.
 *
 * @throws LockArgumentError. The message does not repeat an address, which may include a password.
 */
export function parseEndpoints(
  given: string | readonly string[],
  tls: EtcdTls | undefined,
): Endpoints {
  const texts = Array.isArray(given) ? given : [given];
  if (texts.length === 0 || !texts.every((text) => typeof text === 'string' && text !== '')) {
    throw wrong('etcdStore needs the address of at least one member');
  }
  const parsed = texts.flatMap((text) => parseList(text, tls));
  const logins = parsed.filter(({ user }) => user !== '');
  const [login = { user: '', password: '' }] = logins;
  if (logins.some(({ user, password }) => user !== login.user || password !== login.password)) {
    throw wrong('the addresses name different users. All members have the same users: name one');
  }
  const endpoints = parsed.map(({ url, label }) => ({ url, label }));
  return { endpoints, user: login.user, password: login.password };
}

type Parsed = Endpoint & { readonly user: string; readonly password: string };

/** The scheme before the first address of a list counts for the others, unless they have their own. */
function parseList(text: string, tls: EtcdTls | undefined): Parsed[] {
  let scheme = tls === undefined ? 'http' : 'https';
  return text.split(',').map((part) => {
    const [, given, rest] = /^(?:([a-z]+):\/\/)?(.*)$/s.exec(part)!;
    if (given !== undefined) scheme = schemeOf(given, tls);
    return parseOne(scheme, rest!);
  });
}

const SCHEMES: Readonly<Record<string, string>> = {
  etcd: 'http',
  http: 'http',
  etcds: 'https',
  https: 'https',
};

function schemeOf(given: string, tls: EtcdTls | undefined): string {
  const scheme = SCHEMES[given];
  if (scheme === undefined) throw wrong(`'${given}://' is not known`);
  if (scheme === 'http' && tls !== undefined) {
    throw wrong(`'${given}://' is without TLS, but there is the option tls: use etcds://`);
  }
  return scheme;
}

const DEFAULT_PORT = '2379';

function parseOne(scheme: string, rest: string): Parsed {
  // The URL parser ignores spaces around the text and line breaks anywhere: refuse both.
  const text = `${scheme}://${rest}`;
  if (rest === '' || /\s/.test(rest) || !URL.canParse(text)) {
    throw wrong('an address cannot be read');
  }
  const url = new URL(text);
  if (!/^\/?$/.test(url.pathname) || url.search !== '' || url.hash !== '') {
    throw wrong('an address of etcd has no path and no options. Use the option prefix');
  }
  const label = `${url.hostname}:${explicitPort(rest) ?? DEFAULT_PORT}`;
  return {
    url: `${scheme}://${label}`,
    label,
    user: decoded(url.username),
    password: decoded(url.password),
  };
}

/** Read from the text: a URL leaves out the ports 80 and 443. */
function explicitPort(rest: string): string | undefined {
  return /:(\d+)\/?$/.exec(rest)?.[1];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong('a % in the user or the password must be written as %25');
  }
}

function wrong(problem: string): LockArgumentError {
  return new LockArgumentError(
    '',
    `${problem}. Members are 'etcd://[user:password@]host:2379,host:2379', 'etcds://…' for TLS, 'host:2379', or an array.`,
  );
}
