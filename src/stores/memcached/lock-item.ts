import { createHash } from 'node:crypto';
import {
  type Holder,
  type HolderInfo,
  LockArgumentError,
  type LockRequest,
  type LockTarget,
} from '../../lock/index.ts';

/**
 * The layout of a mutex in memcached: one item, `lock:name`, whose value is `owner time ["host",pid,"label"]` with the
 * time of the grant, in milliseconds since 1970. Another program takes part in the lock with `add` and `delete` on that
 * key.
 */
export interface LockItem {
  readonly value: Buffer;
  /** Changes with every write. Unique until the server restarts. */
  readonly cas: string;
  readonly leftSeconds: number;
  readonly connectionId: number;
}

/**
 * The key of a mutex. A key has at most 250 bytes, without spaces and control characters: a name that does not fit is
 * replaced by its hash, with another prefix, so that no other name has this key.
 */
export function itemKey(prefix: string, { name }: LockTarget): string {
  const key = `${prefix}lock:${name}`;
  if (PLAIN.test(key) && key.length <= MAX_KEY_BYTES) return key;
  return `${prefix}lock#${createHash('sha256').update(name).digest('base64url')}`;
}

const PLAIN = /^[!-~]+$/;
const MAX_KEY_BYTES = 250;
/** Leaves enough of a key for `lock#` and a hash. */
const MAX_PREFIX_BYTES = 200;

/** @throws LockArgumentError if keys cannot begin with it. */
export function checkPrefix(prefix: unknown): string {
  if (prefix === '') return prefix;
  if (typeof prefix === 'string' && PLAIN.test(prefix) && prefix.length <= MAX_PREFIX_BYTES)
    return prefix;
  throw new LockArgumentError(
    '',
    `prefix must be at most ${MAX_PREFIX_BYTES} ASCII characters without spaces, such as 'shop:'`,
  );
}

/**
 * The expiry of an item whose lease is `leaseMs`. memcached counts whole seconds, on a clock that is up to two seconds
 * late: an item with an expiry of n seconds ends between n - 2 and n seconds later. Two more seconds make sure that the
 * lease ends first.
 *
 * @throws LockArgumentError if memcached would take the expiry for a date.
 */
export function expirySeconds({ name, leaseMs }: LockRequest): number {
  const seconds = Math.ceil(leaseMs / 1000) + CLOCK_ERROR_SECONDS;
  if (seconds <= MAX_EXPIRY_SECONDS) return seconds;
  throw new LockArgumentError(
    name,
    'a lease in memcached has at most 30 days less 2 seconds. Use a shorter lease, which is renewed.',
  );
}

const CLOCK_ERROR_SECONDS = 2;
/** memcached takes a larger number for seconds since 1970. */
const MAX_EXPIRY_SECONDS = 30 * 24 * 60 * 60;

export function itemValue({ owner, info }: LockRequest, nowMs: number): Buffer {
  let text = infoTexts.get(info);
  if (text === undefined) {
    const { host, pid, label } = info;
    text = JSON.stringify([host, pid, label]);
    infoTexts.set(info, text);
  }
  return Buffer.from(`${owner} ${Math.round(nowMs)} ${text}`);
}

/** Cached: most requests of a process share one info object. */
const infoTexts = new WeakMap<HolderInfo, string>();

export function isOwnedBy({ value }: LockItem, owner: string): boolean {
  return value.toString('latin1', 0, owner.length + 1) === `${owner} `;
}

/** The wall clock of the holder gives the age: it is as exact as the clocks of both hosts are equal. */
export function holderOf({ value, leftSeconds }: LockItem, nowMs: number): Holder {
  const leftMs = leftSeconds < 0 ? Number.POSITIVE_INFINITY : leftSeconds * 1000;
  const parsed = parseValue(value);
  if (parsed === undefined) {
    const text = value.toString('utf8', 0, MAX_FOREIGN_BYTES);
    return { foreign: true, type: 'string', value: text, permits: 1, leftMs };
  }
  const { grantedMs, ...holder } = parsed;
  return {
    foreign: false,
    ...holder,
    permits: 1,
    fence: 0,
    ageMs: Math.max(0, nowMs - grantedMs),
    leftMs,
  };
}

const MAX_FOREIGN_BYTES = 1024;

interface ParsedValue extends HolderInfo {
  readonly owner: string;
  readonly grantedMs: number;
}

function parseValue(value: Buffer): ParsedValue | undefined {
  const [, owner, grantedMs, json] = /^(\S+) (\d{1,15}) (\[.*\])$/s.exec(value.toString()) ?? [];
  if (owner === undefined) return undefined;
  try {
    const [host, pid, label, ...others]: unknown[] = JSON.parse(json!);
    const isOurs =
      typeof host === 'string' &&
      typeof pid === 'number' &&
      typeof label === 'string' &&
      others.length === 0;
    return isOurs ? { owner, host, pid, label, grantedMs: Number(grantedMs) } : undefined;
  } catch {
    return undefined;
  }
}
