import { describe, expect, it } from 'vitest';
import { LockArgumentError, type LockRequest } from '../../lock/index.ts';
import {
  checkPrefix,
  expirySeconds,
  holderOf,
  isOwnedBy,
  itemKey,
  itemValue,
  type LockItem,
} from './lock-item.ts';

const INFO = { host: 'here', pid: 7, label: '锁 "1"' };

function request(name: string, leaseMs = 1000): LockRequest {
  return { kind: 'mutex', name, slots: 1, permits: 1, owner: 'me.1', leaseMs, info: INFO };
}

function item(value: string | Buffer, leftSeconds = 5): LockItem {
  return { value: Buffer.from(value), cas: '1', leftSeconds, connectionId: 1 };
}

describe('itemKey', () => {
  const NAMES = [
    'a',
    'A',
    'a ',
    'a\r\nflush_all',
    '\0',
    '锁',
    '%20',
    'x'.repeat(245),
    'x'.repeat(246),
  ];

  it('returns a key that memcached accepts, and another one for each name', () => {
    const keys = [...NAMES, `#${itemKey('', request('锁')).slice(5)}`].map((name) =>
      itemKey('', request(name)),
    );
    expect(new Set(keys).size).toBe(keys.length);
    for (const key of keys) expect(key).toMatch(/^[!-~]{1,250}$/);
    expect(keys[0]).toBe('lock:a');
  });

  it('fits behind the longest prefix', () => {
    const prefix = checkPrefix('p'.repeat(200));
    for (const name of NAMES) expect(itemKey(prefix, request(name))).toMatch(/^p{200}[!-~]{1,50}$/);
  });

  it.each(['a b', 'ä', 'p'.repeat(201), 7])('refuses the prefix %j', (prefix) => {
    expect(() => checkPrefix(prefix)).toThrow(LockArgumentError);
  });
});

describe('expirySeconds', () => {
  it.each([
    [10, 3],
    [1000, 3],
    [1001, 4],
    [30_000, 32],
    [(30 * 86_400 - 2) * 1000, 30 * 86_400],
  ])('is, for a lease of %d ms, %d s: it ends two seconds later at least', (leaseMs, seconds) => {
    expect(expirySeconds(request('a', leaseMs))).toBe(seconds);
  });

  it('throws for a lease that memcached would take for a date', () => {
    expect(() => expirySeconds(request('a', 30 * 86_400_000))).toThrow(/at most 30 days/);
  });
});

describe('isOwnedBy', () => {
  it('compares the whole owner', () => {
    const own = item(itemValue(request('a'), 5000));
    expect(['me.1', 'me.', 'me.1 ', 'me.11', ''].map((owner) => isOwnedBy(own, owner))).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe('holderOf', () => {
  it('returns the holder of a value of ours', () => {
    const value = itemValue(request('a'), 5000);
    expect(holderOf(item(value), 6500)).toEqual({
      foreign: false,
      ...INFO,
      owner: 'me.1',
      permits: 1,
      fence: 0,
      ageMs: 1500,
      leftMs: 5000,
    });
    expect(holderOf(item(value), 4000)).toMatchObject({ ageMs: 0 });
  });

  it.each([
    '',
    '1',
    'token',
    'a 1 [1]',
    'a ["h",1,"l"]',
    'a x ["h",1,"l"]',
    'a 1 ["h",1,"l",2]',
    'a 1 ["h",1,"l"',
    ' 1 ["h",1,"l"]',
  ])('returns a foreign holder for %j', (value) => {
    const leftMs = Number.POSITIVE_INFINITY;
    expect(holderOf(item(value, -1), 0)).toEqual({
      foreign: true,
      type: 'string',
      value,
      permits: 1,
      leftMs,
    });
  });
});
