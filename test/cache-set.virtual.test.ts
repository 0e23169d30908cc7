import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest';
import { CachingLocks } from '../src/cache/caching-locks.ts';
import { type Cache, type CacheOptions, createCache } from '../src/cache/index.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine } from '../src/engine/index.ts';
import { LockArgumentError, memoryStore } from '../src/lock/index.ts';
import { elapse, heldLoad, neverEarly, openProgram, settled, turn } from './cache-scene.ts';

let clock: VirtualClock;
let engine: Engine;
let closers: (() => Promise<void>)[];

/** Each `open` is a cache of another process, as far as the store allows that. */
const STORES = {
  'in memory': () => {
    const store = memoryStore(clock);
    const locks = new CachingLocks({ store, clock, random: neverEarly(1), isInMemory: true });
    closers.push(() => locks.close());
    return () => createCache({ locks });
  },
  'in Redis': () => () => {
    const { cache, locks } = openProgram(engine, clock, closers.length);
    closers.push(() => locks.close());
    return cache;
  },
} as const satisfies Record<string, () => () => Cache>;

const KEPT: CacheOptions = { fresh: '10s', stale: '60s' };
const notLoaded = (): never => {
  throw new Error('the value was loaded');
};

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
  closers = [];
});
afterEach(async () => {
  for (const close of closers) await close();
  engine.close();
  expect(clock.pendingTimers).toBe(0);
});

describe.each(Object.keys(STORES) as (keyof typeof STORES)[])('values %s', (kind) => {
  let here: Cache;
  let there: Cache;
  beforeEach(() => {
    const open = STORES[kind]();
    [here, there] = [open(), open()];
  });

  describe('set', () => {
    it('keeps a value that get returns without a load, in all processes', async () => {
      await here.set('a', { at: new Date(5) }, KEPT);
      expect(await here.get('a', KEPT, notLoaded)).toEqual({ at: new Date(5) });
      expect(await there.get('a', KEPT, notLoaded)).toEqual({ at: new Date(5) });
    });

    it('replaces a value, and the failure of a load', async () => {
      await here.get('a', KEPT, () => 'loaded');
      await settled(here.get('b', KEPT, () => Promise.reject(new Error('no'))));
      await there.set('a', 'set', KEPT);
      await there.set('b', 'set', KEPT);
      expect(await here.get('a', KEPT, notLoaded)).toBe('set');
      expect(await here.get('b', KEPT, notLoaded)).toBe('set');
    });

    it('keeps the value for the times of its own options', async () => {
      await here.set('a', 'first', { fresh: '1s', stale: '1s' });
      await elapse(clock, 1000);
      expect(await there.get('a', KEPT, () => 'second')).toBe('first');
      await turn();
      expect(await there.get('a', KEPT, notLoaded)).toBe('second');
      await here.set('a', 'third', { fresh: '1s' });
      await elapse(clock, 1000);
      expect(await there.get('a', KEPT, () => 'fourth')).toBe('fourth');
    });

    it('during a load: the load is not kept, and its callers get the set value', async () => {
      const { load, loads } = heldLoad<string>();
      const callers = [here.get('a', KEPT, load), there.get('a', KEPT, load)];
      await turn();
      await there.set('a', 'set', KEPT);
      expect(await there.get('a', KEPT, notLoaded)).toBe('set');
      loads[0]!.resolve('loaded before');
      expect(await Promise.all(callers)).toEqual(['set', 'set']);
      expect(await here.get('a', KEPT, notLoaded)).toBe('set');
      expect(loads).toHaveLength(1);
    });

    it('during a load that fails: the failure is not remembered', async () => {
      const { load, loads } = heldLoad<string>();
      const failed = settled(here.get('a', KEPT, load));
      await turn();
      await there.set('a', 'set', KEPT);
      loads[0]!.reject(new Error('no'));
      expect(await failed).toMatchObject({ message: 'no' });
      expect(await here.get('a', KEPT, notLoaded)).toBe('set');
    });

    it('gives waiting callers the value at once, before the load ends', async () => {
      const { load, loads } = heldLoad<string>();
      const first = here.get('a', KEPT, load);
      await turn();
      const second = there.get('a', KEPT, load);
      await turn();
      await there.set('a', 'set', KEPT);
      expect(await second).toBe('set');
      loads[0]!.resolve('loaded before');
      expect([await first, await second]).toEqual(['set', 'set']);
    });

    it('twice in a row keeps the second value, and a delete removes it', async () => {
      await here.set('a', 1, KEPT);
      await there.set('a', 2, KEPT);
      expect(await here.get('a', KEPT, notLoaded)).toBe(2);
      expect(await here.delete('a')).toBe(1);
      expect(await there.get('a', KEPT, () => 3)).toBe(3);
    });

    it('gives its value to callers that wait for the load that replaces an earlier set', async () => {
      const short = { fresh: 100, stale: '1m', softTimeout: '1m', lease: '1m' } as const;
      await here.set('a', 'stale', short);
      await elapse(clock, 100);
      const { load, loads } = heldLoad<string>();
      const first = here.get('a', short, load);
      await turn();
      const second = there.get('a', short, load);
      await turn();
      await here.set('a', 'set', short);
      expect(await second).toBe('set');
      loads[0]!.resolve('loaded before');
      expect(await first).toBe('set');
    });

    it('with tags is invalidated by them', async () => {
      const tagged = { ...KEPT, tags: ['red'] };
      await here.set('a', 1, tagged);
      expect(await there.get('a', tagged, notLoaded)).toBe(1);
      await there.invalidate('red');
      expect(await here.get('a', tagged, () => 2)).toBe(2);
    });

    it('counts as set, and neither as a load nor as a write of one', async () => {
      await here.set('a', 1, KEPT);
      expect(here.counts).toMatchObject({ set: 1, load: 0, write: 0 });
    });

    it.each([
      ['an empty key', '', KEPT, /is a string that is not empty/],
      ['options that are no object', 'a', null, /a cache needs options: at least { fresh: '10s' }/],
      ['no options and no default', 'a', undefined, /fresh must be a duration/],
      ['no time', 'a', {}, /fresh must be a duration/],
    ])('rejects %s', async (_, key, options, message) => {
      const work = here.set(key, 1, options as CacheOptions);
      await expect(work).rejects.toThrow(LockArgumentError);
      await expect(work).rejects.toThrow(message);
    });

    it('rejects a value that the serializer cannot encode, and keeps the value before it', async () => {
      await here.set('a', 1, KEPT);
      await expect(here.set('a', () => {}, KEPT)).rejects.toThrow(/cannot be kept as JSON/);
      expect(await here.get('a', KEPT, notLoaded)).toBe(1);
    });

    it('rejects when the cache is closed', async () => {
      await here.close();
      await expect(here.set('a', 1, KEPT)).rejects.toMatchObject({ code: 'aborted' });
    });
  });

  describe('has', () => {
    it('is true for a fresh and a stale value, and false without one', async () => {
      expect(await here.has('a')).toBe(false);
      await there.set('a', 1, { fresh: 1000, stale: 1000 });
      expect(await here.has('a')).toBe(true);
      await elapse(clock, 1000);
      expect(await here.has('a')).toBe(true);
      await elapse(clock, 1000);
      expect(await here.has('a')).toBe(false);
    });

    it('is false after a delete, and with other tags than the value has', async () => {
      await here.set('a', 1, { ...KEPT, tags: ['red'] });
      expect(await here.has('a')).toBe(false);
      expect(await here.has('a', { tags: ['red'] })).toBe(true);
      await there.delete('a');
      expect(await here.has('a', { tags: ['red'] })).toBe(false);
    });

    it('uses the tags that the cache was created with', async () => {
      const { cache, locks } = openProgram(engine, clock, 9);
      closers.push(() => locks.close());
      await cache.set('a', 1, { ...KEPT, tags: ['red'] });
      expect(await createCache({ locks, tags: ['red'] }).has('a')).toBe(true);
    });

    it('counts neither as a hit nor as a miss', async () => {
      await here.has('a');
      expect(here.counts).toMatchObject({ hit: 0, miss: 0 });
    });
  });

  describe('namespace', () => {
    it('keeps its keys apart from those of other namespaces', async () => {
      const [users, carts] = [here.namespace('users'), here.namespace('carts')];
      await users.set('7', 'Ann', KEPT);
      expect(await carts.get('7', KEPT, () => 'cart')).toBe('cart');
      expect(await there.namespace('users').get('7', KEPT, notLoaded)).toBe('Ann');
      expect([await users.has('7'), await users.has('8')]).toEqual([true, false]);
    });

    it('clear removes all its values in all processes, and no others', async () => {
      const users = here.namespace('users');
      for (const key of ['7', '8']) await users.set(key, `user ${key}`, KEPT);
      await here.set('7', 'other', KEPT);
      await there.namespace('users').clear();
      expect([await users.has('7'), await users.has('8')]).toEqual([false, false]);
      expect(await here.get('7', KEPT, notLoaded)).toBe('other');
      expect(await users.get('7', KEPT, () => 'loaded')).toBe('loaded');
    });

    it('clear during a load: the load is not kept', async () => {
      const users = here.namespace('users');
      const { load, loads } = heldLoad<string>();
      const first = users.get('7', KEPT, load);
      await turn();
      await there.namespace('users').clear();
      loads[0]!.resolve('old');
      await turn();
      loads[1]!.resolve('new');
      expect(await first).toBe('new');
      expect(await users.get('7', KEPT, notLoaded)).toBe('new');
    });

    it('inside another one is cleared with it, and not the other way round', async () => {
      const users = here.namespace('users');
      const eu = users.namespace('eu');
      await users.set('7', 1, KEPT);
      await eu.set('7', 2, KEPT);
      await there.namespace('users').namespace('eu').clear();
      expect([await users.has('7'), await eu.has('7')]).toEqual([true, false]);
      await eu.set('7', 2, KEPT);
      await there.namespace('users').clear();
      expect([await users.has('7'), await eu.has('7')]).toEqual([false, false]);
    });

    it('passes its own keys to a batch load and returns them', async () => {
      const users = here.namespace('users');
      await users.set('7', 'Ann', KEPT);
      const values = await users.getMany(['7', '8'], KEPT, (keys, { fences }) => {
        expect([...fences.keys()]).toEqual(['8']);
        return new Map(keys.map((key) => [key, `loaded ${key}`]));
      });
      expectTypeOf(values).toEqualTypeOf<Map<string, string>>();
      expect([...values]).toEqual([
        ['7', 'Ann'],
        ['8', 'loaded 8'],
      ]);
    });

    it('deletes by its own keys', async () => {
      const users = here.namespace('users');
      await users.set('7', 1, KEPT);
      await users.set('8', 1, KEPT);
      expect(await users.delete(['7', '9'])).toBe(1);
      expect(await users.delete('8')).toBe(1);
    });

    it('adds its tag to those of the call, or of the cache', async () => {
      const users = here.namespace('users');
      const tagged = { ...KEPT, tags: ['red'] };
      await users.set('7', 1, tagged);
      expect(await users.get('7', tagged, notLoaded)).toBe(1);
      await there.invalidate('red');
      expect(await users.has('7', tagged)).toBe(false);
    });

    it.each(['', 'a:b', 7])('rejects the name %j', (name) => {
      expect(() => here.namespace(name as string)).toThrow(LockArgumentError);
    });
  });
});
