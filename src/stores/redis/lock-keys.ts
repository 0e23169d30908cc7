import {
  type HeldLock,
  type HolderInfo,
  LockArgumentError,
  type LockKind,
  MAX_HELD,
} from '../../lock/index.ts';

/**
 * The layout of locks in Redis: names of keys and channels, and the form of tokens. docs/key-layout.md describes it for
 * other programs. Only this module names prefixes and suffixes, for TypeScript and for Lua.
 */
const PREFIXES = { mutex: 'lock', semaphore: 'semaphore', rw: 'rw' } as const satisfies Record<
  LockKind,
  string
>;

const KIND_OF: ReadonlyMap<string, LockKind> = new Map([
  ['lock', 'mutex'],
  ['semaphore', 'semaphore'],
  ['rw', 'rw'],
]);

/**
 * The holder key of a lock. All keys of a lock share a hash tag: the name, up to its first closing brace. A name that
 * begins with a closing brace would have an empty hash tag, which Redis ignores: it gets a `%` in front. So does a name
 * that begins with `%`, to keep the two apart.
 */
export function keyOf({ kind, name }: { readonly kind: LockKind; readonly name: string }): string {
  const first = name.charCodeAt(0);
  const isMarked = first === 0x7d || first === 0x25;
  return `${PREFIXES[kind]}:{${isMarked ? '%' : ''}${name}}`;
}

/** Returns the holder key of a lock. */
export type KeyOf = (target: { readonly kind: LockKind; readonly name: string }) => string;

export interface KeyOptions {
  /** Prefix of every key of a lock and of a cached value, so that two applications can share a Redis. Default: none. */
  readonly prefix?: string | undefined;
  /**
   * The key of the mutex of a name, so that programs with another lock library, which uses this key, and programs with
   * Holdfast exclude each other. Default: `lock:{name}`.
   */
  readonly key?: ((name: string) => string) | undefined;
}

/** @throws LockArgumentError if an option is wrong. */
export function keyNames({ prefix = '', key }: KeyOptions): KeyOf {
  if (!isPrefix(prefix)) {
    throw new LockArgumentError('', "prefix is a string without '{', such as 'shop:'");
  }
  if (key === undefined) return prefix === '' ? keyOf : (target) => prefix + keyOf(target);
  if (typeof key !== 'function') {
    throw new LockArgumentError('', 'key is a function from the name of a mutex to its key');
  }
  if (prefix !== '')
    throw new LockArgumentError('', 'use prefix or key, not both: key gives whole keys');
  return (target) => (target.kind === 'mutex' ? checkKey(target.name, key) : keyOf(target));
}

/** A brace would change the hash tag of the keys. */
export function isPrefix(prefix: unknown): boolean {
  return typeof prefix === 'string' && prefix.isWellFormed() && !prefix.includes('{');
}

function checkKey(name: string, keyOfName: (name: string) => unknown): string {
  const key = keyOfName(name);
  if (typeof key === 'string' && key !== '' && key.isWellFormed()) return key;
  throw new LockArgumentError(
    name,
    `the key function must return a string for '${name}'; it returned ${String(key)}`,
  );
}

/** Returns the lock of a holder key without its prefix: the inverse of keyOf(). */
export function lockOfKey(key: string): { readonly kind: LockKind; readonly name: string } {
  const colon = key.indexOf(':');
  return {
    kind: KIND_OF.get(key.slice(0, colon))!,
    name: key.slice(colon + 2, -1).replace(/^%/, ''),
  };
}

/** Suffixes of the helper keys of a lock, added to its holder key. */
export const SUFFIX = {
  fence: ':fence',
  queue: ':queue',
  state: ':state',
  clock: ':clock',
  forced: ':forced',
  watchers: ':watchers',
  holds: ':holds',
} as const;

/** Helper keys, which stay for a while when a lock has neither holders nor waiters. With any prefix. */
export const HELPER_KEY =
  /^[^{]*(?:lock|semaphore|rw):\{.*\}:(?:fence|state|clock|forced|watchers|holds|queue(?::.*)?)$/s;
/** Holder keys of locks with several holders. They outlive the leases: the next request removes expired holders. */
export const SHARED_KEY = /^[^{]*(?:semaphore|rw):\{.*\}$/s;

/** Prefix of the keys in which the lock script records the tokens of a session. */
export const SESSION_KEY_PREFIX = 'holdfast:session:';

/** The channel on which a client is notified. */
export function channelOf(clientId: string): string {
  return `holdfast:${clientId}`;
}

/** Owners of a client begin with this. */
export function ownerPrefixOf(clientId: string): string {
  return `${clientId}.`;
}

/** The token of a holder: its unique owner, a space, and `["host",pid,"label"]`, which `inspect` shows. */
export function tokenOf(owner: string, info: HolderInfo): string {
  let text = infoTexts.get(info);
  if (text === undefined) {
    const { host, pid, label } = info;
    text = ` ${JSON.stringify([host, pid, label])}`;
    infoTexts.set(info, text);
  }
  return owner + text;
}

/** Cached: most requests of a process share one info object. */
const infoTexts = new WeakMap<HolderInfo, string>();

export function ownerOf(token: string): string {
  const end = token.indexOf(' ');
  return end < 0 ? token : token.slice(0, end);
}

/** The parts of a Holdfast token. Undefined: the token of another program. */
export function parseToken(
  token: string,
  textOf: (text: string) => string = String,
): { readonly owner: string; readonly info: HolderInfo } | undefined {
  const [, owner = '', text = ''] = /^(\S+) (\[.*\])$/s.exec(token) ?? [];
  const info = parseInfo(textOf(text));
  return info && { owner, info };
}

/** Checks the types: another program may write any list. */
function parseInfo(text: string): HolderInfo | undefined {
  const [host, pid, label] = parseList(text);
  if (typeof host !== 'string' || typeof pid !== 'number' || typeof label !== 'string') return;
  return { host, pid, label };
}

/** Parses the leases that the callback of a waiter holds. Leaves out what another program may have written there. */
export function parseHeld(text: string): HeldLock[] {
  return parseList(text)
    .slice(0, MAX_HELD)
    .flatMap((entry) => {
      const [kind, name, slots, owner] = Array.isArray(entry) ? (entry as unknown[]) : [];
      if (!isKind(kind) || typeof name !== 'string' || typeof owner !== 'string') return [];
      return typeof slots === 'number' ? [{ kind, name, slots, owner }] : [];
    });
}

/** Maximum size of that text: names of 1,024 bytes, each of which JSON may write as six. */
export const MAX_HELD_BYTES = 2 ** 17;

function isKind(kind: unknown): kind is LockKind {
  return typeof kind === 'string' && Object.hasOwn(PREFIXES, kind);
}

/** Parses a JSON list. Empty if the text is no list. */
export function parseList(text: string): readonly unknown[] {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/** Maximum size of a token: an owner, and JSON in which each byte of host and label may take six bytes. */
const MAX_TOKEN_BYTES = 8192;
/** Index of the last byte that is read of a mutex: one more than a token has, so that a longer value is noticed. */
export const LAST_BYTE_READ = String(MAX_TOKEN_BYTES);
/** Bytes of a foreign value that a reply includes. The value itself may have 512 MB. */
const MAX_FOREIGN_BYTES = 1024;

/** Parses a member of a queue: permits, lease and token of the waiter. */
export function parseQueued(member: string): {
  readonly permits: number;
  readonly leaseMs: number;
  readonly token: string;
} {
  const [, permits, leaseMs, token = ''] = /^(\d+) (\d+) (.*)$/s.exec(member) ?? [];
  return { permits: Number(permits), leaseMs: Number(leaseMs), token };
}

/**
 * The prefix of a lock's helper keys: its holder key. If that has no hash tag, as a key of the caller's `key` function,
 * the whole holder key becomes the hash tag, so that all keys of the lock are in one slot of a cluster.
 */
export function baseOf(holder: string): string {
  return holder.includes('{') ? holder : `{${holder}}~`;
}

export const LUA_BASE = `
local function baseOf(holder)
  return string.find(holder, '{', 1, true) and holder or '{' .. holder .. '}~'
end
`;

/** The same in Lua, for every script that reads or writes locks. */
export const LUA_KEYS = `
local FENCE, QUEUE, STATE, CLOCK = '${SUFFIX.fence}', '${SUFFIX.queue}', '${SUFFIX.state}', '${SUFFIX.clock}'
local FORCED, WATCHERS, HOLDS = '${SUFFIX.forced}', '${SUFFIX.watchers}', '${SUFFIX.holds}'
local LAST_BYTE = '${LAST_BYTE_READ}'

local function clientOf(token)
  return string.match(token, '^[^.]*')
end

-- Exists while the client of a waiter is alive.
local function aliveKey(base, token)
  return base .. QUEUE .. ':' .. clientOf(token)
end

-- Parses a member of a queue: permits, lease, token. A member that another program added has an empty token.
local function parseQueued(member)
  local permits, lease, token = string.match(member, '^(%d+) (%d+) (.*)$')
  return permits or '1', lease or '0', token or ''
end

-- Whether a value is a token of Holdfast. The end is compared first: matching the pattern against a long value with
-- another end can take quadratic time.
local function isToken(value)
  return #value <= ${MAX_TOKEN_BYTES} and string.sub(value, -2) == '"]'
    and string.find(value, '^%S+ %[".*",%d+,".*"%]$') ~= nil
end

-- What a reply shows of the value of a mutex: a token, or the start of another program's value.
local function shownToken(value)
  return isToken(value) and value or string.sub(value, 1, ${MAX_FOREIGN_BYTES})
end
`;
