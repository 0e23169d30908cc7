import { KEY_PAGE_SCRIPT, KEYS_PER_PAGE } from './key-list-script.ts';
import type { RunScript } from './lock-list.ts';
import { parseToken } from './lock-reply.ts';

/** A key that may be a lock of another program, as an operator sees it. */
export interface ListedKey {
  /** One char a byte. */
  readonly keyBytes: string;
  /** As TYPE says. */
  readonly type: string;
  readonly guess: KeyGuess;
  /** The first bytes of a string; up to three fields of a hash, with commas; else empty. */
  readonly valueBytes: string;
  /** Bytes of a string, members of anything else. */
  readonly size: number;
  /** Undefined: the key has no TTL. */
  readonly leftMs: number | undefined;
  /** How long nobody had used the key. Undefined: the server does not tell (an LFU policy). */
  readonly idleMs: number | undefined;
}

/** What a key is, as far as its name, type, value and TTL tell. */
export type KeyGuess =
  /** A lock of Holdfast, or a helper of one. */
  | { readonly kind: 'holdfast' }
  /** A string with any other value: SETNX, or SET … NX. */
  | { readonly kind: 'token' }
  /** A string with a Unix time and no TTL: the lock ends then, by agreement of its clients. */
  | { readonly kind: 'timestamp'; readonly endMs: number; readonly hasEnded: boolean }
  /** A hash of owners as Redisson names them: a UUID, a colon, the number of a thread. */
  | { readonly kind: 'redisson' }
  | { readonly kind: 'other' };

/**
 * The keys of one server that match a glob, page by page, without any order. It walks by SCAN: a key that
 * comes or goes meanwhile may be missing, and one may come twice. Nothing is written, but to read a value
 * counts as use: the next list shows these keys as idle since this one. `endless`: only keys without a TTL,
 * and only their values are read.
 */
export async function* scanKeys(
  run: RunScript,
  pattern: string,
  which: 'all' | 'endless' = 'all',
): AsyncGenerator<ListedKey[]> {
  let cursor = '0';
  do {
    const reply = await run(KEY_PAGE_SCRIPT, [], [cursor, pattern, String(KEYS_PER_PAGE), which]);
    const [next, nowMs, keys] = reply as [string, string, KeyReply[]];
    cursor = String(next);
    yield keys.map((key) => parseKey(key, Number(nowMs)));
  } while (cursor !== '0');
}

type KeyReply = [
  key: string,
  type: string,
  left: string,
  idle: string,
  size: string,
  ...values: string[],
];

function parseKey(
  [keyBytes, type, left, idle, size, ...values]: KeyReply,
  nowMs: number,
): ListedKey {
  const leftMs = Number(left) < 0 ? undefined : Number(left);
  return {
    keyBytes,
    type,
    guess: guessOf({ keyBytes, type, values, hasEnd: leftMs !== undefined }, nowMs),
    valueBytes: values.join(','),
    size: Number(size),
    leftMs,
    idleMs: idle === '' ? undefined : Number(idle) * 1000,
  };
}

interface KeyFacts {
  readonly keyBytes: string;
  readonly type: string;
  readonly values: readonly string[];
  readonly hasEnd: boolean;
}

/** With a key prefix of a client, the names of Holdfast's keys begin with that. */
const HELPER = /(?:lock|semaphore|rw):\{.*\}:(?:fence|queue|queue:.*|state|clock|forced)$/s;
const SHARED_LOCK = /(?:semaphore|rw):\{.*\}$/s;
const REDISSON_OWNER = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+$/;

function guessOf({ keyBytes, type, values, hasEnd }: KeyFacts, nowMs: number): KeyGuess {
  if (HELPER.test(keyBytes) || (type === 'zset' && SHARED_LOCK.test(keyBytes))) {
    return { kind: 'holdfast' };
  }
  if (type === 'hash' && values.some((field) => REDISSON_OWNER.test(field))) {
    return { kind: 'redisson' };
  }
  const [value = ''] = values;
  if (type !== 'string') return { kind: 'other' };
  if (parseToken(value.replace(/^\+/, '')) !== undefined) return { kind: 'holdfast' };
  const endMs = hasEnd ? undefined : unixTimeMs(value);
  if (endMs === undefined) return { kind: 'token' };
  return { kind: 'timestamp', endMs, hasEnded: endMs <= nowMs };
}

/** From 2001 to 2100: seconds, maybe with a fraction, or milliseconds. A random number may look the same. */
function unixTimeMs(value: string): number | undefined {
  if (!/^\d{10}(?:\d{3}|\.\d+)?$/.test(value)) return undefined;
  const ms = /^\d{13}$/.test(value) ? Number(value) : Number(value) * 1000;
  return ms >= 1e12 && ms < 4_102_444_800_000 ? ms : undefined;
}
