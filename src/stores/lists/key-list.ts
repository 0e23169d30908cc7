import { parseToken } from '../redis/lock-keys.ts';
import { KEY_PAGE_SCRIPT, KEYS_PER_PAGE, MAX_VALUE_BYTES } from './key-list-script.ts';
import type { RunScript } from './lock-list.ts';
import { numberIn, parseUnreadable, scanPages, type Unreadable } from './scan-pages.ts';

/** A key that may be a lock of another program, as an operator sees it. */
export interface ListedKey {
  /** The first 4096 bytes of the key, one char a byte. */
  readonly keyBytes: string;
  /** Bytes of the whole key. */
  readonly keySize: number;
  /** As TYPE says. */
  readonly type: string;
  readonly guess: KeyGuess;
  /** The first bytes of a string; up to three fields of a hash, with commas; else empty. */
  readonly valueBytes: string;
  /** Bytes of a string, members of anything else. */
  readonly size: number;
  /** Undefined: the key has no TTL. */
  readonly leftMs: number | undefined;
  /**
   * How long no client had used the key. Undefined: the server does not know, as with an LFU policy, and for small
   * integers, which keys share.
   */
  readonly idleMs: number | undefined;
}

/** What a key probably is, by its name, type, value and TTL. */
export type KeyGuess =
  /** A lock of Holdfast, or a helper key of one. */
  | { readonly kind: 'holdfast' }
  /** A string with any other value: SETNX, or SET … NX. */
  | { readonly kind: 'token' }
  /** A string with a Unix time and no TTL: its clients treat the lock as free after that time. */
  | { readonly kind: 'timestamp'; readonly endMs: number; readonly hasEnded: boolean }
  /** A hash of owners as Redisson names them: a UUID, a colon, the number of a thread. */
  | { readonly kind: 'redisson' }
  | { readonly kind: 'other' };

interface KeyPage extends Unreadable {
  readonly keys: readonly ListedKey[];
}

/**
 * Lists the keys of one server that match a glob, page by page, in no order. Uses SCAN: a key that is added or deleted
 * meanwhile may be missing, and a key may appear twice. Writes nothing, but reading a value resets its idle time.
 * `endless`: only keys without a TTL; no other values are read.
 *
 * @throws Error if a reply does not have the form that the script returns.
 */
export async function* scanKeys(
  run: RunScript,
  pattern: string,
  which: 'all' | 'endless' = 'all',
): AsyncGenerator<KeyPage> {
  const args = [pattern, String(KEYS_PER_PAGE), which];
  for await (const reply of scanPages(run, KEY_PAGE_SCRIPT, args)) {
    const [, nowMs, keys, unreadable, failure] = reply as PageReply;
    const now = numberIn(nowMs);
    yield {
      keys: keys.map((key) => parseKey(key, now)),
      ...parseUnreadable(unreadable, failure),
    };
  }
}

type PageReply = [
  cursor: string,
  nowMs: string,
  keys: KeyReply[],
  unreadable: string,
  failure: string,
];

type KeyReply = [
  key: string,
  keySize: string,
  type: string,
  left: string,
  idle: string,
  size: string,
  isOurs: string,
  ...values: string[],
];

function parseKey(
  [keyBytes, keySize, type, left, idle, size, isOurs, ...values]: KeyReply,
  nowMs: number,
): ListedKey {
  const ms = numberIn(left);
  const leftMs = ms < 0 ? undefined : ms;
  const facts = { keyBytes, type, values, size: numberIn(size), hasEnd: leftMs !== undefined };
  return {
    keyBytes: String(keyBytes),
    keySize: numberIn(keySize),
    type: String(type),
    guess: guessOf({ ...facts, hasOurForm: isOurs === '1' }, nowMs),
    valueBytes: values.join(','),
    size: facts.size,
    leftMs,
    idleMs: idle === '' ? undefined : numberIn(idle) * 1000,
  };
}

interface KeyFacts {
  readonly keyBytes: string;
  readonly type: string;
  readonly values: readonly string[];
  readonly size: number;
  readonly hasEnd: boolean;
  /** Whether the whole value has the form of a token of Holdfast; see IS_OURS. */
  readonly hasOurForm: boolean;
}

const REDISSON_OWNER = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+$/;

function guessOf(facts: KeyFacts, nowMs: number): KeyGuess {
  const { keyBytes, type, values, hasEnd } = facts;
  if (isHelper(keyBytes) || (type === 'zset' && isSharedLock(keyBytes)) || isMutex(facts)) {
    return { kind: 'holdfast' };
  }
  if (type === 'hash' && values.some((field) => REDISSON_OWNER.test(field))) {
    return { kind: 'redisson' };
  }
  if (type !== 'string') return { kind: 'other' };
  const endMs = hasEnd ? undefined : unixTimeMs(values[0] ?? '');
  if (endMs === undefined) return { kind: 'token' };
  return { kind: 'timestamp', endMs, hasEnded: endMs <= nowMs };
}

/** If the reply has only a part of the value, the script's check of the whole value decides. */
function isMutex({ hasOurForm, values, size }: KeyFacts): boolean {
  if (!hasOurForm) return false;
  return size > MAX_VALUE_BYTES || parseToken(values[0]!) !== undefined;
}

/**
 * Whether a key has the name of a helper key. It may begin with the key prefix of a client. Not a regular expression:
 * that would take quadratic time for long names that almost match.
 */
function isHelper(keyBytes: string): boolean {
  const end = keyBytes.lastIndexOf('}:');
  if (end < 0 || !HELPER_NAME.test(keyBytes.slice(end + 2))) return false;
  return HOLDER_NAMES.some((name) => keyBytes.lastIndexOf(name, end) >= 0);
}

const HELPER_NAME = /^(?:fence|queue|queue:.*|state|clock|forced|watchers|holds)$/s;
const SHARED_NAMES = ['semaphore:{', 'rw:{'] as const;
const HOLDER_NAMES = ['lock:{', ...SHARED_NAMES] as const;

function isSharedLock(keyBytes: string): boolean {
  return keyBytes.endsWith('}') && SHARED_NAMES.some((name) => keyBytes.includes(name));
}

/** From 2001 to 2100: seconds, maybe with a fraction, or milliseconds. A random number may look the same. */
function unixTimeMs(value: string): number | undefined {
  if (!/^\d{10}(?:\d{3}|\.\d+)?$/.test(value)) return undefined;
  const ms = /^\d{13}$/.test(value) ? Number(value) : Number(value) * 1000;
  return ms >= 1e12 && ms < 4_102_444_800_000 ? ms : undefined;
}
