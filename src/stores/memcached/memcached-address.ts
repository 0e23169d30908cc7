import { LockArgumentError } from '../../lock/index.ts';

export interface MemcachedAddress {
  readonly host: string;
  readonly port: number;
  /** For messages: `memcached://host:port`. */
  readonly label: string;
}

/**
 * Parses `host`, `host:port`, `[::1]:port`, each also after `memcached://`.
 *
 * @throws LockArgumentError for any other text. Its message does not show the text, which may contain a password.
 */
export function parseMemcachedAddress(text: unknown): MemcachedAddress {
  if (typeof text !== 'string') throw wrongAddress(`a string; got ${typeof text}`);
  if (text.includes('@'))
    throw wrongAddress('without user and password: Holdfast does not sign in');
  if (text.includes(','))
    throw wrongAddress('of one server: a lock that moves with a hash ring is lost');
  const match = ADDRESS.exec(text.trim());
  const [, bracketed, plain, digits = '11211'] = match ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port < 1 || port > 65_535) throw wrongAddress('memcached://host:port');
  return { host, port, label: `memcached://${bracketed ? `[${host}]` : host}:${port}` };
}

const ADDRESS = /^(?:memcached:\/\/)?(?:\[([\da-f:.]+)\]|([\w.-]+))(?::(\d{1,5}))?\/?$/i;

function wrongAddress(what: string): LockArgumentError {
  return new LockArgumentError(
    '',
    `the address of memcached must be ${what}. Use memcachedStore('memcached://127.0.0.1:11211').`,
  );
}
