import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemClock, type VirtualClock, virtualClock } from '../clock/index.ts';
import { LockArgumentError } from '../lock/index.ts';
import type { CacheLimits } from './limits.ts';
import { memoryCacheStore } from './memory-cache-store.ts';
import type { CacheLookup, CacheStore } from './store.ts';

const TIMES = { maxLoadMs: 1000, keepMs: 10_000 };
const NO_TAGS: readonly string[] = [];

let clock: VirtualClock;
let store: CacheStore;
let fences = 0;

beforeEach(() => {
  clock = virtualClock();
  store = memoryCacheStore(clock);
});

function limited(limits: CacheLimits): void {
  store = memoryCacheStore(clock, limits);
}

const lookup = (key: string, tags = NO_TAGS): CacheLookup => store.lookup(key, tags) as CacheLookup;
const has = (key: string, tags = NO_TAGS): boolean => lookup(key, tags).entry !== undefined;

/** Writes as a load that takes no time. */
function keep(key: string, data: string | Uint8Array = 'x', tags = NO_TAGS): boolean {
  const { version } = store.open(key, tags, TIMES, fences + 1) as CacheLookup;
  const times = { freshMs: 5000, staleMs: 5000, loadMs: 0 };
  return store.write(key, tags, { data, fence: ++fences, version, ...times }) as boolean;
}

/** Fails as a load that takes no time. */
function fail(key: string): void {
  const { version } = store.open(key, NO_TAGS, TIMES, fences + 1) as CacheLookup;
  const limits = { pauseMs: 10_000, maxPauseMs: 300_000 };
  store.fail(key, { name: 'Error', message: 'no', fence: ++fences, version, ...limits });
}

const hasFailed = (key: string): boolean => lookup(key).failure !== undefined;

const keys = (count: number, prefix = 'key'): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix} ${index}`);

describe('a store with limits', () => {
  it('evicts unused values first', () => {
    limited({ entries: 3 });
    for (const key of ['a', 'b', 'c']) keep(key);
    lookup('a');
    keep('d');
    expect(['a', 'b', 'c', 'd'].filter((key) => has(key))).toEqual(['a', 'c', 'd']);
  });

  it('evicts one value when all were used', () => {
    limited({ entries: 3 });
    for (const key of ['a', 'b', 'c']) keep(key);
    for (const key of ['a', 'b', 'c']) lookup(key);
    keep('d');
    expect(has('d')).toBe(true);
    expect(['a', 'b', 'c'].filter((key) => has(key))).toHaveLength(2);
  });

  it('counts the bytes of text in UTF-8', () => {
    limited({ bytes: 10 });
    keep('a', '十十');
    keep('b', Uint8Array.of(1, 2, 3, 4));
    expect([has('a'), has('b')]).toEqual([true, true]);
    keep('c', 'x');
    expect([has('a'), has('b'), has('c')].filter(Boolean)).toHaveLength(2);
  });

  it('evicts nothing for a value that is larger than the limit', () => {
    limited({ bytes: 10 });
    keep('a', 'small');
    const received: unknown[] = [];
    store.onMessage((message) => received.push(message?.entry?.data));
    expect(keep('b', 'x'.repeat(11))).toBe(true);
    expect([has('a'), has('b')]).toEqual([true, false]);
    expect(received, 'the message has the value').toEqual(['x'.repeat(11)]);
  });

  it('has room again after deletions, replacements and expiry', () => {
    limited({ entries: 2, bytes: 10 });
    keep('a', 'xxxxx');
    keep('a', 'xxxxxxxx');
    store.delete(['a']);
    keep('b', 'xxxxx');
    keep('c', 'xxxxx');
    expect([has('b'), has('c')]).toEqual([true, true]);
    clock.advance(10_000);
    expect([has('b'), has('c')]).toEqual([false, false]);
    keep('d', 'xxxxx');
    keep('e', 'xxxxx');
    expect([has('d'), has('e')]).toEqual([true, true]);
  });

  it('counts a failure as a value, and a value with a failure once', () => {
    limited({ entries: 2 });
    keep('a');
    fail('a');
    fail('b');
    expect([has('a'), hasFailed('a'), hasFailed('b')]).toEqual([true, true, true]);
    store.delete(['a', 'b']);
    for (const key of ['c', 'd', 'e']) fail(key);
    expect(['c', 'd', 'e'].filter(hasFailed)).toEqual(['d', 'e']);
    clock.advance(20_000);
    keep('d');
    keep('f');
    expect([has('d'), has('f'), hasFailed('d')]).toEqual([true, true, false]);
  });

  it('keeps the failure when the value expires', () => {
    limited({ entries: 2 });
    keep('a');
    clock.advance(9999);
    fail('a');
    clock.advance(1);
    expect([has('a'), hasFailed('a')]).toEqual([false, true]);
    keep('b');
    expect([has('b'), hasFailed('a')]).toEqual([true, true]);
    for (const key of ['c', 'd']) keep(key);
    expect(hasFailed('a')).toBe(false);
  });

  it('accepts the write of a load whose key was evicted', () => {
    limited({ entries: 1 });
    const { version } = store.open('slow', NO_TAGS, TIMES, fences + 1) as CacheLookup;
    for (const key of keys(100)) keep(key);
    const times = { freshMs: 5000, staleMs: 0, loadMs: 0 };
    expect(store.write('slow', NO_TAGS, { data: 'x', fence: ++fences, version, ...times })).toBe(
      true,
    );
  });

  it('accepts the write of a load after a late write of an older load', () => {
    const { version } = store.open('slow', NO_TAGS, TIMES, 1) as CacheLookup;
    store.open('slow', NO_TAGS, TIMES, 2);
    const write = { data: 'x', version, freshMs: 10, staleMs: 0, loadMs: 0 };
    expect(store.write('slow', NO_TAGS, { ...write, fence: 1 })).toBe(true);
    clock.advance(500);
    for (const key of keys(2000)) keep(key);
    expect(store.write('slow', NO_TAGS, { ...write, fence: 2 })).toBe(true);
    clock.advance(500);
    for (const key of keys(5000)) keep(key);
    expect(store.write('slow', NO_TAGS, { ...write, fence: 3 }), 'no open load').toBe(false);
  });

  it('evicts about as fast as it inserts', () => {
    const fillMs = (entries: number): number => {
      limited({ entries });
      for (const key of keys(50_000)) keep(key);
      const beganMs = systemClock.monotonicMs();
      for (const key of keys(20_000, 'more')) keep(key);
      return systemClock.monotonicMs() - beganMs;
    };
    const rounds = Array.from({ length: 3 }, () => [fillMs(Infinity), fillMs(50_000)] as const);
    const roomyMs = Math.min(...rounds.map(([ms]) => ms));
    const fullMs = Math.min(...rounds.map(([, ms]) => ms));
    // A Map that keeps the order of use is many times slower.
    expect(fullMs / roomyMs).toBeLessThan(3);
  });

  it.each([
    [{ entries: 0 }, 'cacheLimits.entries must be a number of at least 1'],
    [{ bytes: Number.NaN }, 'cacheLimits.bytes must be a number of at least 1'],
  ])('rejects %j', (limits, message) => {
    expect(() => limited(limits)).toThrow(LockArgumentError);
    expect(() => limited(limits)).toThrow(message);
  });
});

/** Rounds of keys or tags that are never used again: the store must remove them. */
describe('a store after many keys', () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;

  function heapBytes(): number {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  }

  const PER_ROUND = 10_000;
  const MAX_BYTES = 5_000_000;

  function growth(round: (number: number) => void): number {
    for (let number = 0; number < 3; number++) round(number);
    const before = heapBytes();
    for (let number = 3; number < 12; number++) round(number);
    return heapBytes() - before;
  }

  it('removes keys whose values have expired, or that were never loaded', () => {
    const grown = growth((number) => {
      for (const key of keys(PER_ROUND, `round ${number}`)) {
        keep(key);
        store.open(`${key} opened`, NO_TAGS, TIMES, 1);
        lookup(`${key} seen`);
        store.delete([`${key} deleted`]);
      }
      clock.advance(20_000);
    });
    expect(grown).toBeLessThan(MAX_BYTES);
  });

  it('evicts failures above the limit', () => {
    limited({ entries: 1000 });
    const grown = growth((number) => {
      for (const key of keys(PER_ROUND, `round ${number}`)) fail(key);
    });
    expect(grown).toBeLessThan(MAX_BYTES);
  });

  it('removes tags that no value carries', () => {
    const grown = growth((number) => {
      for (const tag of keys(PER_ROUND, `round ${number}`)) {
        keep('the same', 'x', [tag]);
        lookup('other', [`${tag} seen`]);
        store.invalidate([`${tag} invalidated`]);
      }
    });
    expect(grown).toBeLessThan(MAX_BYTES);
  });

  it('keeps the tags of the values that it keeps', () => {
    keep('a', 'x', ['red', 'big']);
    for (const tag of keys(5000)) keep('other', 'x', [tag]);
    expect(has('a', ['red', 'big'])).toBe(true);
    store.invalidate(['red']);
    expect(has('a', ['red', 'big'])).toBe(false);
  });
});
