import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CachingLocks } from '../src/cache/caching-locks.ts';
import { type Cache, type CacheOptions, createCache } from '../src/cache/index.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine } from '../src/engine/index.ts';
import { memoryStore } from '../src/lock/index.ts';
import { elapse, heldLoad, neverEarly, openProgram, settled, turn } from './cache-scene.ts';

let clock: VirtualClock;
let engine: Engine;
let locks: CachingLocks;

const SCENES = {
  'in memory': () => {
    const store = memoryStore(clock);
    return new CachingLocks({ store, clock, random: neverEarly(1), isInMemory: true });
  },
  'by the script': () => openProgram(engine, clock, 1).locks,
} as const satisfies Record<string, () => CachingLocks>;

/** Both remove the value and the failure of the key. */
const WAYS = {
  delete: (cache: Cache) => cache.delete('a'),
  invalidate: (cache: Cache) => cache.invalidate('red'),
} as const satisfies Record<string, (cache: Cache) => Promise<unknown>>;

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
});
afterEach(async () => {
  await locks.close();
  engine.close();
  expect(clock.pendingTimers).toBe(0);
});

const KEPT: CacheOptions = { fresh: '10s', stale: '60s', tags: ['blue', 'red'] };
const failing = (message: string) => (): never => {
  throw new Error(message);
};

describe.each(Object.keys(SCENES) as (keyof typeof SCENES)[])('a load that fails, %s', (kind) => {
  let cache: Cache;
  beforeEach(() => {
    locks = SCENES[kind]();
    cache = createCache({ locks });
  });

  describe.each(Object.keys(WAYS) as (keyof typeof WAYS)[])('and %s', (way) => {
    const forget = (): Promise<unknown> => WAYS[way](cache);

    it('is not thrown to callers that begin after that, in any cache', async () => {
      const other = createCache({ locks });
      const { load, loads } = heldLoad<number>();
      const before = settled(cache.get('a', KEPT, load));
      await turn();
      const waiting = settled(other.get('a', KEPT, () => 2));
      await turn();
      await forget();
      const after = [cache.get('a', KEPT, () => 2), other.get('a', KEPT, () => 2)];
      await turn();
      loads[0]!.reject(new Error('not found'));
      expect(await before).toMatchObject({ message: 'not found' });
      expect(await Promise.all(after)).toEqual([2, 2]);
      await waiting;
    });

    it('is not remembered when the load began before that', async () => {
      const { load, loads } = heldLoad<number>();
      const before = settled(cache.get('a', KEPT, load));
      await turn();
      await forget();
      loads[0]!.reject(new Error('not found'));
      await before;
      expect(await cache.get('a', KEPT, () => 2)).toBe(2);
    });

    it('is removed, and so is the number of failures in a row', async () => {
      await settled(cache.get('a', KEPT, failing('one')));
      await elapse(clock, 1000);
      await settled(cache.get('a', KEPT, failing('two')));
      await elapse(clock, 1000);
      expect(await settled(cache.get('a', KEPT, () => 0))).toMatchObject({ code: 'load' });
      await forget();
      expect(await settled(cache.get('a', KEPT, failing('three')))).toMatchObject({
        message: 'three',
      });
      await elapse(clock, 1000);
      expect(await cache.get('a', KEPT, () => 4), 'after the shortest pause').toBe(4);
    });
  });

  it('is remembered when another tag is invalidated', async () => {
    await settled(cache.get('a', KEPT, failing('one')));
    await cache.invalidate('green');
    expect(await settled(cache.get('a', KEPT, () => 2))).toMatchObject({ code: 'load' });
  });

  it('is remembered for its backoff, also if that is longer than a value is kept', async () => {
    const options: CacheOptions = { fresh: 1, tags: ['red'], backoff: '1h', maxLoad: 1000 };
    await settled(cache.get('a', options, failing('one')));
    await elapse(clock, 3_599_000);
    expect(await settled(cache.get('a', options, () => 2))).toMatchObject({ code: 'load' });
    await elapse(clock, 1000);
    expect(await cache.get('a', options, () => 2)).toBe(2);
  });

  it('by an abort of its own returns the stale value, as any failure does', async () => {
    const options = { ...KEPT, softTimeout: Number.POSITIVE_INFINITY };
    await cache.get('a', options, () => 'old');
    await elapse(clock, 10_001);
    const signal = AbortSignal.abort();
    const load = (): Promise<string> => cache.get('inner', { ...KEPT, signal }, () => 'new');
    expect(await cache.get('a', options, load)).toBe('old');
  });

  it('rejects a caller that has aborted, instead of returning the stale value', async () => {
    const options = { ...KEPT, softTimeout: Number.POSITIVE_INFINITY };
    await cache.get('a', options, () => 'old');
    await elapse(clock, 10_001);
    const controller = new AbortController();
    const { load, loads } = heldLoad<string>();
    const calls = settled(cache.get('a', { ...options, signal: controller.signal }, load));
    await turn();
    controller.abort('enough');
    expect(await calls).toMatchObject({ code: 'aborted', cause: 'enough' });
    loads[0]!.resolve('new');
  });
});
