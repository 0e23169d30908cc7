import diagnostics from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, expectTypeOf, it, onTestFinished } from 'vitest';
import { CachingLocks } from '../src/cache/caching-locks.ts';
import {
  bytesSerializer,
  type Cache,
  CacheError,
  type CacheOptions,
  createCache,
  type Load,
  type LoadContext,
} from '../src/cache/index.ts';
import { type Random, seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine } from '../src/engine/index.ts';
import { LockArgumentError, Locks, memoryStore } from '../src/lock/index.ts';
import { RedisStore } from '../src/stores/index.ts';
import { engineRunner } from '../src/stores/redis/engine-runner.ts';

let clock: VirtualClock;
let engine: Engine;
let closers: (() => Promise<unknown>)[];
/** Never triggers an early load, unless a test sets another. */
let random: Random;
let clients = 0;

const LATEST: Random = { next: () => 0, bytes: (count) => seededRandom(++clients).bytes(count) };

/** Each `open` is a cache of another process, as far as the store allows that. */
const SCENES = {
  'in memory': () => {
    const store = memoryStore(clock);
    const locks = new CachingLocks({ store, clock, random, isInMemory: true });
    closers.push(() => locks.close());
    return () => createCache({ locks });
  },
  'by the script': () => () => {
    const options = { clock, clientId: `client${++clients}`, requestTimeoutMs: 5000 };
    const store = new RedisStore(engineRunner(engine), options);
    const locks = new CachingLocks({ store, clock, random });
    closers.push(() => locks.close());
    return createCache({ locks });
  },
} as const satisfies Record<string, () => () => Cache>;

beforeEach(() => {
  clock = virtualClock();
  random = LATEST;
  engine = createEngine({ clock, random: seededRandom(1) });
  closers = [];
});
afterEach(async () => {
  for (const close of closers) await close();
  engine.close();
  expect(clock.pendingTimers).toBe(0);
});

/** Waits until all that can happen without time has happened. */
const turn = (): Promise<void> => new Promise(setImmediate);

async function elapse(durationMs: number): Promise<void> {
  await turn();
  clock.advance(durationMs);
  await turn();
}

interface Loading<Value> extends LoadContext {
  resolve(value: Value): void;
  reject(error: unknown): void;
}

/** A load that the test ends. */
function heldLoad<Value>(): { load: Load<Value>; loads: Loading<Value>[] } {
  const loads: Loading<Value>[] = [];
  const load: Load<Value> = (context) =>
    new Promise((resolve, reject) => {
      loads.push({ ...context, resolve, reject });
    });
  return { load, loads };
}

const KEPT: CacheOptions = { fresh: '10s', stale: '60s' };

function settled<Value>(work: Promise<Value>): Promise<Value | Error> {
  return work.catch((error: Error) => error);
}

function listen(name: string): unknown[] {
  const events: unknown[] = [];
  const listener = (event: unknown): number => events.push(event);
  diagnostics.subscribe(`holdfast:cache:${name}`, listener);
  onTestFinished(() => void diagnostics.unsubscribe(`holdfast:cache:${name}`, listener));
  return events;
}

describe.each(Object.keys(SCENES) as (keyof typeof SCENES)[])('a cache %s', (kind) => {
  let open: () => Cache;
  beforeEach(() => {
    open = SCENES[kind]();
  });

  describe('that has no value', () => {
    it('loads once for all callers of all processes', async () => {
      const caches = [open(), open(), open()];
      const { load, loads } = heldLoad<string>();
      const calls = caches.flatMap((cache) =>
        Array.from({ length: 10 }, () => cache.get('price:7', KEPT, load)),
      );
      await turn();
      expect(loads).toHaveLength(1);
      loads[0]!.resolve('十 €');
      expect(new Set(await Promise.all(calls))).toEqual(new Set(['十 €']));
      expect(await open().get('price:7', KEPT, load)).toBe('十 €');
      expect(loads).toHaveLength(1);
      const waits = caches.map(({ counts }) => counts.wait);
      expect(waits.sort()).toEqual([0, 1, 1]);
    });

    it('notifies waiters of the value without polling', async () => {
      const { load, loads } = heldLoad<number>();
      const first = open().get('a', KEPT, load);
      await turn();
      const second = open().get('a', KEPT, load);
      await turn();
      loads[0]!.resolve(1);
      await turn();
      // No time has passed: nothing was polled.
      expect(await Promise.all([first, second])).toEqual([1, 1]);
    });

    it('returns to each caller its own copy, of the type that the load returned', async () => {
      const cache = open();
      const load = async () => ({ at: new Date(0), list: [1] });
      const [one, two] = await Promise.all([
        cache.get('a', KEPT, load),
        cache.get('a', KEPT, load),
      ]);
      expectTypeOf(one).toEqualTypeOf<{ at: Date; list: number[] }>();
      expect(one).toEqual({ at: new Date(0), list: [1] });
      one.list.push(2);
      one.at.setTime(7);
      expect(two).toEqual({ at: new Date(0), list: [1] });
    });

    it.each([null, undefined, 0, '', false, 'x y\n€', { a: [1] }])('keeps %j', async (value) => {
      const cache = open();
      const { load, loads } = heldLoad<unknown>();
      const first = cache.get('a', KEPT, load);
      await turn();
      loads[0]!.resolve(value);
      expect(await first).toEqual(value);
      expect(await open().get('a', KEPT, load)).toEqual(value);
    });

    it('keeps bytes', async () => {
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
      const options = { ...KEPT, serializer: bytesSerializer };
      const { load, loads } = heldLoad<Uint8Array>();
      const [first, second] = [open().get('a', options, load), open().get('a', options, load)];
      await turn();
      loads[0]!.resolve(bytes);
      for (const value of [await first, await second, await open().get('a', options, load)]) {
        expect([...value]).toEqual([...bytes]);
      }
    });

    it('passes the fence of its lock, which rises, to each load', async () => {
      const cache = open();
      const fences: number[] = [];
      for (let round = 0; round < 3; round++) {
        await cache.get('a', { fresh: 100 }, ({ fence }) => fences.push(fence));
        await elapse(100);
      }
      expect(fences).toHaveLength(3);
      expect([...fences].sort((a, b) => a - b)).toEqual(fences);
      expect(new Set(fences).size).toBe(3);
    });
  });

  describe('whose value is stale', () => {
    async function staleCache(): Promise<Cache> {
      const cache = open();
      await cache.get('a', KEPT, () => 'old');
      await elapse(10_001);
      return cache;
    }

    it('gives it at once while one caller loads in the background', async () => {
      const caches = [await staleCache(), open()];
      const { load, loads } = heldLoad<string>();
      for (const cache of caches) {
        expect(await cache.get('a', KEPT, load)).toBe('old');
        expect(await cache.get('a', KEPT, load)).toBe('old');
      }
      await turn();
      expect(loads).toHaveLength(1);
      loads[0]!.resolve('new');
      await turn();
      for (const cache of caches) expect(await cache.get('a', KEPT, load)).toBe('new');
      expect(loads).toHaveLength(1);
      expect(caches[0]!.counts).toMatchObject({ hit: 1, stale: 2, miss: 1 });
    });

    it('waits for the new one with softTimeout: Infinity', async () => {
      const cache = await staleCache();
      const { load, loads } = heldLoad<string>();
      const options = { ...KEPT, softTimeout: Number.POSITIVE_INFINITY };
      const calls = [cache.get('a', options, load), open().get('a', options, load)];
      await turn();
      loads[0]!.resolve('new');
      expect(await Promise.all(calls)).toEqual(['new', 'new']);
    });

    it('waits for so long, and then gives the stale one', async () => {
      const cache = await staleCache();
      const { load, loads } = heldLoad<string>();
      const calls = cache.get('a', { ...KEPT, softTimeout: 200 }, load);
      await elapse(200);
      expect(await calls).toBe('old');
      loads[0]!.resolve('new');
      await turn();
      expect(await cache.get('a', KEPT, load)).toBe('new');
    });

    it('loads again after fresh and stale have passed', async () => {
      const cache = await staleCache();
      await elapse(60_000);
      expect(await cache.get('a', KEPT, () => 'new')).toBe('new');
    });
  });

  describe('whose load fails', () => {
    const failure = new TypeError('no database');
    const STRICT: CacheOptions = { ...KEPT, backoff: '1s' };

    it('throws the error to all waiters, and does not load during the backoff', async () => {
      const [here, there] = [open(), open()];
      const { load, loads } = heldLoad<number>();
      const calls = [here, here, there].map((cache) => settled(cache.get('a', STRICT, load)));
      await turn();
      loads[0]!.reject(failure);
      const [own, sibling, other] = await Promise.all(calls);
      expect([own, sibling]).toEqual([failure, failure]);
      expect(other).toMatchObject({ code: 'load', key: 'a' });
      expect(String(other)).toContain('TypeError: no database');
      for (const cache of [here, there]) {
        expect(await settled(cache.get('a', STRICT, load))).toBeInstanceOf(CacheError);
      }
      expect(loads).toHaveLength(1);
      await elapse(1000);
      const again = there.get('a', STRICT, load);
      await turn();
      expect(loads).toHaveLength(2);
      loads[1]!.resolve(1);
      expect(await again).toBe(1);
    });

    it('doubles the backoff with each failure in a row, and resets it with a success', async () => {
      const cache = open();
      const pauses: number[] = [];
      const events = listen('fail') as { pauseMs: number }[];
      for (let round = 0; round < 7; round++) {
        await settled(cache.get('a', STRICT, () => Promise.reject(failure)));
        pauses.push(events.at(-1)!.pauseMs);
        await elapse(events.at(-1)!.pauseMs);
      }
      expect(pauses).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
      await cache.get('a', STRICT, () => 1);
      await cache.delete('a');
      await settled(cache.get('a', STRICT, () => Promise.reject(failure)));
      expect(events.at(-1)!.pauseMs).toBe(1000);
    });

    it('returns the stale value, or throws with onError: throw', async () => {
      const cache = open();
      await cache.get('a', STRICT, () => 'old');
      await elapse(10_001);
      const patient = { ...STRICT, softTimeout: Number.POSITIVE_INFINITY } as const;
      const load = () => Promise.reject(failure);
      expect(await cache.get('a', patient, load)).toBe('old');
      expect(await settled(cache.get('a', { ...patient, onError: 'throw' }, load))).toMatchObject({
        code: 'load',
      });
      await elapse(1000);
      expect(await settled(cache.get('a', { ...patient, onError: 'throw' }, load))).toBe(failure);
      expect(await cache.get('a', STRICT, load)).toBe('old');
    });

    it('fails for a value that cannot be encoded', async () => {
      const calls = open().get('a', KEPT, () => () => 1);
      expect(String(await settled(calls))).toContain('a function cannot be kept as JSON');
    });
  });

  describe('whose loader is lost', () => {
    const SHORT: CacheOptions = { ...KEPT, lease: '1s', maxLoad: '1s', hardTimeout: '1h' };

    it('loads in another process when the lease ends', async () => {
      const { load, loads } = heldLoad<string>();
      const dead = open().get('a', SHORT, load);
      await turn();
      const calls = [open(), open()].map((cache) => cache.get('a', SHORT, load));
      await turn();
      expect(loads).toHaveLength(1);
      await elapse(999);
      await elapse(5);
      expect(loads).toHaveLength(2);
      expect(loads[0]!.signal.aborted).toBe(true);
      expect(loads[1]!.fence).toBeGreaterThan(loads[0]!.fence);
      loads[1]!.resolve('second');
      await turn();
      expect(await Promise.all([dead, ...calls])).toEqual(['second', 'second', 'second']);
    });

    it('refuses its late value and its late error', async () => {
      for (const end of ['resolve', 'reject'] as const) {
        const key = `late ${end}`;
        const { load, loads } = heldLoad<string>();
        const lost = open().get(key, SHORT, load);
        await turn();
        const next = open().get(key, SHORT, load);
        await turn();
        await elapse(1010);
        expect(loads).toHaveLength(2);
        loads[1]!.resolve('newer');
        expect(await next).toBe('newer');
        loads[0]![end]('older');
        expect(await lost).toBe('newer');
        await turn();
        expect(await open().get(key, SHORT, load)).toBe('newer');
        expect(loads).toHaveLength(2);
      }
    });
  });

  describe('and callers', () => {
    it('are rejected after hardTimeout, and the load goes on', async () => {
      const cache = open();
      const { load, loads } = heldLoad<string>();
      const calls = settled(cache.get('a', { ...KEPT, hardTimeout: '2s' }, load));
      await elapse(2000);
      expect(await calls).toMatchObject({ code: 'timeout', key: 'a' });
      loads[0]!.resolve('late');
      await turn();
      expect(await cache.get('a', KEPT, load)).toBe('late');
    });

    it('are rejected when their own signal aborts', async () => {
      const cache = open();
      const { load, loads } = heldLoad<string>();
      const controller = new AbortController();
      const options = { ...KEPT, signal: controller.signal };
      const [one, other] = [settled(cache.get('a', options, load)), cache.get('a', KEPT, load)];
      await turn();
      controller.abort('enough');
      expect(await one).toMatchObject({ code: 'aborted', cause: 'enough' });
      expect(loads[0]!.signal.aborted).toBe(false);
      loads[0]!.resolve('value');
      expect(await other).toBe('value');
      expect(await settled(cache.get('a', options, load))).toMatchObject({ code: 'aborted' });
    });

    it('are rejected when the cache is closed', async () => {
      const [loader, waiter] = [open(), open()];
      const { load, loads } = heldLoad<string>();
      const first = loader.get('a', KEPT, load);
      await turn();
      const second = settled(waiter.get('a', KEPT, load));
      await turn();
      await waiter.close();
      expect(await second).toMatchObject({ code: 'aborted' });
      loads[0]!.resolve('value');
      expect(await first).toBe('value');
    });

    it('are rejected with deadlock when a load gets its own key', async () => {
      const cache = open();
      const outer = (): Promise<number> => cache.get('a', KEPT, () => cache.get('b', KEPT, inner));
      const inner = (): Promise<number> => cache.get('a', KEPT, () => 1);
      expect(await settled(outer())).toMatchObject({ code: 'deadlock', key: 'a' });
    });
  });

  describe('that loads early', () => {
    it('loads at random, more likely as the value comes to its end', async () => {
      const cache = open();
      const slow = async (): Promise<string> => {
        clock.advance(1000);
        return 'old';
      };
      await cache.get('a', KEPT, slow);
      const { load, loads } = heldLoad<string>();
      random.next = () => 1 - Math.exp(-4);
      await elapse(5999);
      expect(await cache.get('a', KEPT, load)).toBe('old');
      expect(loads).toHaveLength(0);
      await elapse(2);
      expect(await cache.get('a', { ...KEPT, beta: 0 }, load)).toBe('old');
      await turn();
      expect(loads).toHaveLength(0);
      expect(await cache.get('a', KEPT, load)).toBe('old');
      expect(await open().get('a', KEPT, load)).toBe('old');
      await turn();
      expect(loads).toHaveLength(1);
      loads[0]!.resolve('new');
      await turn();
      expect(await cache.get('a', KEPT, load)).toBe('new');
      expect(loads).toHaveLength(1);
    });
  });

  describe('whose values are deleted', () => {
    it('by key, for all processes', async () => {
      const [here, there] = [open(), open()];
      await here.get('a', KEPT, () => 1);
      await here.get('b', KEPT, () => 1);
      expect(await there.delete(['a', 'c'])).toBe(1);
      expect(await here.get('a', KEPT, () => 2)).toBe(2);
      expect(await here.get('b', KEPT, () => 2)).toBe(1);
    });

    it('while they are loaded: the load is not kept', async () => {
      const [here, there] = [open(), open()];
      const { load, loads } = heldLoad<string>();
      const first = here.get('a', KEPT, load);
      await turn();
      await there.delete('a');
      const second = there.get('a', KEPT, load);
      await turn();
      loads[0]!.resolve('before');
      await turn();
      expect(loads).toHaveLength(2);
      loads[1]!.resolve('after');
      expect(await Promise.all([first, second])).toEqual(['after', 'after']);
    });

    it('by tag, for all processes', async () => {
      const [here, there] = [open(), open()];
      const of = (...tags: string[]): CacheOptions => ({ ...KEPT, tags });
      await here.get('a', of('red', 'big'), () => 1);
      await here.get('b', of('big'), () => 1);
      await here.get('c', of('green'), () => 1);
      expect(await there.get('a', of('big', 'red'), () => 2)).toBe(1);
      await there.invalidate('red');
      expect(await here.get('a', of('red', 'big'), () => 2)).toBe(2);
      expect(await here.get('b', of('big'), () => 2)).toBe(1);
      await there.invalidate(['big', 'never used']);
      expect(await here.get('a', of('red', 'big'), () => 3)).toBe(3);
      expect(await here.get('b', of('big'), () => 3)).toBe(3);
      expect(await here.get('c', of('green'), () => 3)).toBe(1);
    });

    it('by tag, while they are loaded', async () => {
      const [here, there] = [open(), open()];
      const options = { ...KEPT, tags: ['red'] };
      const { load, loads } = heldLoad<string>();
      const first = here.get('a', options, load);
      await turn();
      await there.invalidate('red');
      const second = there.get('a', options, load);
      await turn();
      loads[0]!.resolve('before');
      await turn();
      expect(loads).toHaveLength(2);
      loads[1]!.resolve('after');
      expect(await Promise.all([first, second])).toEqual(['after', 'after']);
    });
  });

  describe('with many keys', () => {
    it('loads in one call the keys that no process has or loads', async () => {
      const [here, there] = [open(), open()];
      const { load, loads } = heldLoad<string>();
      await here.get('a', KEPT, () => 'A');
      const single = there.get('b', KEPT, load);
      await turn();
      const calls: (readonly string[])[] = [];
      const many = here.getMany(['a', 'b', 'c', 'd', 'c'], KEPT, async (keys, { fences }) => {
        calls.push(keys);
        expect([...fences.keys()]).toEqual(keys);
        return new Map(keys.map((key) => [key, key.toUpperCase()]));
      });
      await turn();
      expect(calls).toEqual([['c', 'd']]);
      loads[0]!.resolve('B');
      expect([...(await many)]).toEqual([
        ['a', 'A'],
        ['b', 'B'],
        ['c', 'C'],
        ['d', 'D'],
      ]);
      expect(await single).toBe('B');
      expect(await there.get('d', KEPT, load)).toBe('D');
      expect([...(await here.getMany([], KEPT, () => new Map()))]).toEqual([]);
    });

    it('fails for a key that the load left out, and keeps the others', async () => {
      const cache = open();
      const many = cache.getMany(['a', 'b'], KEPT, () => new Map([['a', 1]]));
      expect(String(await settled(many))).toContain("the batch load returned no value for 'b'");
      expect(await cache.get('a', KEPT, () => 2)).toBe(1);
    });
  });

  it('publishes its events', async () => {
    const [hits, loads, writes] = [listen('hit'), listen('load'), listen('write')];
    const cache = open();
    await cache.get('a', KEPT, () => 1);
    await cache.get('a', KEPT, () => 1);
    expect(hits).toEqual([{ key: 'a' }]);
    expect(loads).toEqual([{ key: 'a', fence: expect.any(Number) }]);
    expect(writes).toMatchObject([{ key: 'a', isKept: true }]);
    expect(cache.counts).toMatchObject({ hit: 1, miss: 1, load: 1, write: 1, stale: 0, wait: 0 });
  });

  it('rejects wrong arguments', async () => {
    const cache = open();
    const load = (): number => 1;
    const wrong: [Promise<unknown>, string][] = [
      [cache.get('', KEPT, load), 'not empty'],
      [cache.get('x'.repeat(1001), KEPT, load), 'at most 1000 bytes'],
      [cache.get('\ud800', KEPT, load), 'well-formed'],
      [cache.get('a', undefined as never, load), 'a cache needs options'],
      [cache.get('a', load as never, undefined as never), 'load must be a function'],
      [cache.get('a', {}, load), 'fresh must be a duration'],
      [cache.get('a', { fresh: 0 }, load), 'fresh must be a duration'],
      [cache.get('a', { ...KEPT, stale: -1 }, load), 'stale must be a duration'],
      [cache.get('a', { ...KEPT, beta: Number.NaN }, load), 'beta must be a number'],
      [cache.get('a', { ...KEPT, onError: 'x' as 'stale' }, load), "onError is 'stale' or 'throw'"],
      [cache.get('a', { ...KEPT, tags: 'x' as never }, load), 'array of strings'],
      [cache.get('a', { ...KEPT, serializer: {} as never }, load), 'encode and decode'],
      [cache.get('a', KEPT, undefined as never), 'load must be a function'],
      [cache.getMany('a' as never, KEPT, () => new Map()), 'array of strings'],
      [cache.delete([1 as never]), 'not empty'],
    ];
    for (const [call, message] of wrong) {
      await expect(call).rejects.toBeInstanceOf(LockArgumentError);
      await expect(call).rejects.toThrow(message);
    }
  });
});

describe('createCache', () => {
  it('throws without locks, and names what it needs', async () => {
    const locks = new Locks({ store: memoryStore(clock), clock });
    expect(() => createCache({ locks })).toThrow('createCache({ locks: createLocks() })');
    const others = new CachingLocks({ store: memoryStore(clock), clock });
    expect(() => createCache({ locks: others })).toThrow('this store keeps locks only');
  });
});
