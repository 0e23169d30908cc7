import { AsyncResource } from 'node:async_hooks';
import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CachingLocks } from '../src/cache/caching-locks.ts';
import {
  bytesSerializer,
  type Cache,
  type CacheOptions,
  createCache,
  type Serializer,
} from '../src/cache/index.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { createEngine, type Engine, execute } from '../src/engine/index.ts';
import { memoryStore } from '../src/lock/index.ts';
import { elapse, heldLoad, neverEarly, openProgram, settled, turn } from './cache-scene.ts';

let clock: VirtualClock;
let engine: Engine;
let allLocks: CachingLocks[];

/** Locks whose caches share their values as processes do. */
const SCENES = {
  'in memory': () => {
    const store = memoryStore(clock);
    return new CachingLocks({ store, clock, random: neverEarly(1), isInMemory: true });
  },
  'by the script': () => openProgram(engine, clock, allLocks.length).locks,
} as const satisfies Record<string, () => CachingLocks>;

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
  allLocks = [];
});
afterEach(async () => {
  for (const locks of allLocks) await locks.close();
  engine.close();
  expect(clock.pendingTimers).toBe(0);
});

const KEPT: CacheOptions = { fresh: '10s', stale: '60s' };
const PATIENT: CacheOptions = { ...KEPT, softTimeout: Number.POSITIVE_INFINITY };

/** Errors whose properties throw when they are read. */
function unreadableErrors(): unknown[] {
  const get = (): never => {
    throw new Error('not to be read');
  };
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return [
    Object.defineProperty(new Error(), 'message', { get }),
    Object.defineProperty(new Error(), 'name', { get }),
    proxy,
  ];
}

describe.each(Object.keys(SCENES) as (keyof typeof SCENES)[])('a cache %s', (kind) => {
  let locks: CachingLocks;
  let cache: Cache;
  beforeEach(() => {
    locks = SCENES[kind]();
    allLocks.push(locks);
    cache = createCache({ locks });
  });

  describe('whose loads wait for each other', () => {
    const deadlock = { code: 'deadlock' };

    it('rejects with deadlock when a batch load gets one of its own keys', async () => {
      const inner = (): Promise<number> => cache.get('a', KEPT, () => 1);
      const many = cache.getMany(['a', 'b'], KEPT, async () => new Map([['b', await inner()]]));
      expect(await settled(many)).toMatchObject(deadlock);
    });

    it("rejects with deadlock when two loads get each other's value", async () => {
      const { load, loads } = heldLoad<number>();
      const hold = async (other: string): Promise<number> => {
        await load({} as never);
        return cache.get(other, KEPT, () => 1);
      };
      const both = [
        settled(cache.get('a', KEPT, () => hold('b'))),
        settled(cache.get('b', KEPT, () => hold('a'))),
      ];
      await turn();
      expect(loads).toHaveLength(2);
      for (const { resolve } of loads) resolve(1);
      expect(await Promise.all(both)).toMatchObject([deadlock, deadlock]);
    });

    it('rejects with deadlock when a load gets its key through another cache of the same locks', async () => {
      const outer = cache.get('a', KEPT, () => locks.cache('a', KEPT, () => 1));
      expect(await settled(outer)).toMatchObject(deadlock);
    });

    it('rejects with deadlock for a cycle through many caches of the same locks', async () => {
      const other = createCache({ locks });
      const third = (): Promise<number> => other.get('a', KEPT, () => 1);
      const second = (): Promise<number> => cache.get('b', KEPT, third);
      expect(await settled(cache.get('a', KEPT, second))).toMatchObject(deadlock);
      const back = (): Promise<number> => cache.get('c', KEPT, () => 1);
      const there = (): Promise<number> => other.get('d', KEPT, back);
      expect(await settled(cache.get('c', KEPT, there))).toMatchObject(deadlock);
    });

    it('rejects with deadlock for a cycle through caches of different locks', async () => {
      const others = SCENES[kind]();
      allLocks.push(others);
      const back = (): Promise<number> => cache.get('a', KEPT, () => 1);
      const there = (): Promise<number> => others.cache('b', KEPT, back);
      expect(await settled(cache.get('a', KEPT, there))).toMatchObject(deadlock);
    });

    it.each(['get', 'getMany'] as const)(
      'does not reject with deadlock in code that outlives a load of %s',
      async (call) => {
        let later = async (): Promise<unknown> => undefined;
        const load = (): number => {
          later = AsyncResource.bind(() => settled(cache.get('a', KEPT, () => 2)));
          return 1;
        };
        if (call === 'get') await cache.get('a', KEPT, load);
        else
          await cache.getMany(
            ['a', 'b'],
            KEPT,
            (keys) => new Map(keys.map((key) => [key, load()])),
          );
        await cache.delete('a');
        expect(await later()).toBe(2);
      },
    );

    it('does not reject with deadlock for a load in the background', async () => {
      await cache.get('b', KEPT, () => 'old');
      await elapse(clock, 10_001);
      const { load, loads } = heldLoad<string>();
      const asksBack = (): Promise<string> => cache.get('a', KEPT, () => 'not called');
      const outer = cache.get('a', KEPT, async (context) => {
        const stale = await cache.get('b', KEPT, asksBack);
        return `${stale} ${await load(context)}`;
      });
      await turn();
      loads[0]!.resolve('and new');
      expect(await outer).toBe('old and new');
      await turn();
      expect(await cache.get('b', KEPT, () => 'not called')).toBe('old and new');
    });
  });

  describe('with a value that is stale', () => {
    const short: CacheOptions = { fresh: '1s', stale: '1s' };
    beforeEach(async () => {
      await cache.get('a', short, () => 'old');
      await elapse(clock, 1500);
    });

    describe.each(['get', 'getMany'] as const)('by %s in the callback of a run()', (way) => {
      const reentrant = { reentrant: true };
      let steps: string[];
      const ask = (options: CacheOptions, load: () => Promise<unknown>): Promise<unknown> =>
        way === 'get'
          ? cache.get('a', options, load)
          : cache.getMany(['a'], options, async () => new Map([['a', await load()]]));
      beforeEach(() => {
        steps = [];
      });

      it.each([{}, reentrant])(
        'loads in the background when the lock is released: %j',
        async (calls) => {
          const lock = locks.mutex('guarded');
          await lock.run(async () => {
            await ask(KEPT, () => lock.run(() => steps.push('load'), calls));
            await turn();
            steps.push('body');
          });
          await turn();
          expect(steps).toEqual(['body', 'load']);
          expect(cache.counts.fail).toBe(0);
        },
      );

      it('shares the lock with a load that the callback waits for', async () => {
        const lock = locks.mutex('guarded');
        const load = () => lock.run(() => steps.push('load'), reentrant);
        await lock.run(() => ask(PATIENT, load));
        expect(steps).toEqual(['load']);
      });
    });

    it('throws the error of a failed load when the stale value has ended', async () => {
      const { load, loads } = heldLoad<string>();
      const options = { ...short, softTimeout: Number.POSITIVE_INFINITY };
      const calls = settled(cache.get('a', options, load));
      await elapse(clock, 500);
      loads[0]!.reject(new Error('too late'));
      expect(await calls).toMatchObject({ message: 'too late' });
      expect(cache.counts).toMatchObject({ stale: 0, miss: 2 });
    });

    it('waits for the load after the soft timeout when the stale value has ended', async () => {
      const { load, loads } = heldLoad<string>();
      const calls = cache.get('a', { ...short, softTimeout: 600 }, load);
      await elapse(clock, 600);
      await elapse(clock, 5000);
      loads[0]!.resolve('new');
      expect(await calls).toBe('new');
      expect(cache.counts).toMatchObject({ stale: 0, miss: 2, load: 2 });
    });
  });

  describe('with a serializer', () => {
    it('fails for a result that is neither text nor bytes, and remembers the failure', async () => {
      const serializer = { encode: () => 1, decode: String } as unknown as Serializer;
      const options = { ...KEPT, serializer };
      expect(String(await settled(cache.get('a', options, () => 1)))).toContain(
        'a serializer encodes to a string or a Uint8Array; got number',
      );
      expect(await settled(cache.get('a', options, () => 1))).toMatchObject({ code: 'load' });
    });

    it('loads again, once, when it cannot decode the kept value', async () => {
      const text: Serializer = { encode: String, decode: String };
      await cache.get('a', { ...KEPT, serializer: text }, () => 'no { JSON');
      const { load, loads } = heldLoad<string>();
      const calls = [cache.get('a', KEPT, load), cache.get('a', KEPT, load)];
      await turn();
      expect(loads).toHaveLength(1);
      loads[0]!.resolve('JSON');
      expect(await Promise.all(calls)).toEqual(['JSON', 'JSON']);
      expect(await cache.get('a', KEPT, load)).toBe('JSON');
      expect(cache.counts).toMatchObject({ miss: 3, hit: 1 });
    });

    it('loads again when it cannot decode what another program has loaded', async () => {
      const text: Serializer = { encode: String, decode: String };
      const { load, loads } = heldLoad<string>();
      const other = createCache({ locks });
      const first = other.get('a', { ...KEPT, serializer: text }, load);
      await turn();
      const waiting = cache.get('a', KEPT, () => 'JSON');
      await turn();
      loads[0]!.resolve('no { JSON');
      expect(await first).toBe('no { JSON');
      expect(await waiting).toBe('JSON');
    });

    it('throws the error of decode for a value that this process has loaded', async () => {
      const decode = (): never => {
        throw new RangeError('unreadable');
      };
      const options = { ...KEPT, serializer: { encode: String, decode } };
      expect(await settled(cache.get('a', options, () => 1))).toBeInstanceOf(RangeError);
      expect(await settled(cache.get('a', options, () => 1))).toBeInstanceOf(RangeError);
    });

    it.each(['\ud800 half a character', '\udc00\ud800', '\0\r\n\u2028 😀', ''])(
      'keeps the text %j',
      async (text) => {
        const options = { ...KEPT, serializer: { encode: String, decode: String } };
        await cache.get('a', options, () => text);
        expect(await cache.get('a', options, () => 'not called')).toBe(text);
      },
    );

    it('keeps bytes as they are when the caller reuses the memory', async () => {
      const options = { ...KEPT, serializer: bytesSerializer };
      const bytes = Uint8Array.of(1, 2, 3);
      await cache.get('a', options, () => bytes);
      bytes.fill(0);
      const kept = await cache.get('a', options, () => bytes);
      expect([...kept]).toEqual([1, 2, 3]);
      kept.fill(0);
      expect([...(await cache.get('a', options, () => bytes))]).toEqual([1, 2, 3]);
    });
  });

  it('counts each call once: as a hit, stale or a miss', async () => {
    const tagged = { ...PATIENT, tags: ['red'] };
    const { load, loads } = heldLoad<number>();
    const first = [1, 2, 3].map(() => cache.get('a', tagged, load));
    await turn();
    const joined = cache.get('a', tagged, load);
    await turn();
    loads[0]!.resolve(1);
    await Promise.all([...first, joined]);
    expect(cache.counts).toMatchObject({ hit: 0, stale: 0, miss: 4, waited: 4 });
    await elapse(clock, 10_001);
    const waits = cache.get('a', tagged, load);
    await turn();
    loads[1]!.resolve(2);
    expect(await waits).toBe(2);
    expect(cache.counts).toMatchObject({ hit: 0, stale: 0, miss: 5 });
    await elapse(clock, 10_001);
    const fails = { ...tagged, onError: 'throw' } as const;
    await settled(cache.get('a', fails, () => Promise.reject(new Error('no'))));
    expect(await cache.get('a', tagged, load)).toBe(2);
    expect(cache.counts).toMatchObject({ hit: 0, stale: 1, miss: 6 });
  });

  it('uses the default of an option that is undefined', async () => {
    const strict = createCache({ locks, ...KEPT, tags: ['red'] });
    const none = { stale: undefined, tags: undefined } as unknown as CacheOptions;
    expect(await strict.get('a', none, () => 'old')).toBe('old');
    await elapse(clock, 10_001);
    expect(await strict.get('a', none, () => 'new')).toBe('old');
    await strict.invalidate('red');
    expect(await strict.get('a', {}, () => 'new')).toBe('new');
  });

  it('ends a load after maxLoad when that is shorter than the lease', async () => {
    const { load, loads } = heldLoad<string>();
    const options = { ...KEPT, maxLoad: 100, lease: '10s' } as const;
    const first = cache.get('a', options, load);
    await elapse(clock, 100);
    await turn();
    expect(loads).toHaveLength(2);
    loads[1]!.resolve('second');
    expect(await first).toBe('second');
  });

  it('reports thrown values that are not errors, and truncates long messages', async () => {
    const others = createCache({ locks });
    const long = Object.assign(new Error('x'.repeat(100_000)), { name: 'y'.repeat(100_000) });
    const odd = [Object.create(null), Symbol('s'), undefined, long, ...unreadableErrors()];
    for (const [index, thrown] of odd.entries()) {
      const { load, loads } = heldLoad<number>();
      const key = `odd ${index}`;
      const own = cache.get(key, KEPT, load).catch((error: unknown) => ({ error }));
      await turn();
      const other = settled(others.get(key, KEPT, load));
      await turn();
      loads[0]!.reject(thrown);
      expect((await own) as { error: unknown }).toSatisfy(({ error }) => Object.is(error, thrown));
      expect(await other).toMatchObject({ code: 'load' });
      expect(String(await other).length).toBeLessThan(1200);
    }
  });

  it('keeps values under any key and tag', async () => {
    const odd = ['}', '{}', '{a}b', 'a b\r\n\0', '十 €', '__proto__', 'x'.repeat(1000)];
    for (const [index, key] of odd.entries()) {
      const options = { ...KEPT, tags: [key, `${key.slice(1)}.`] };
      expect(await cache.get(key, options, () => index), key).toBe(index);
    }
    for (const [index, key] of odd.entries()) {
      const options = { ...KEPT, tags: [key, `${key.slice(1)}.`] };
      expect(await cache.get(key, options, () => 'other'), key).toBe(index);
      await cache.invalidate(key);
      expect(await cache.get(key, options, () => 'other'), key).toBe('other');
    }
    expect(await cache.delete(odd)).toBe(odd.length);
  });

  it('keeps a value for the longest duration', async () => {
    const longest = { fresh: '36500d', stale: '36500d', backoff: '36500d' } as const;
    expect(await cache.get('a', longest, () => 1)).toBe(1);
    expect(await cache.get('a', longest, () => 2)).toBe(1);
    await settled(cache.get('b', longest, () => Promise.reject(new Error('no'))));
    expect(await settled(cache.get('b', longest, () => 2))).toMatchObject({ code: 'load' });
  });

  it('does not depend on the wall clock', async () => {
    const { load, loads } = heldLoad<string>();
    const options = { ...KEPT, stale: 0, lease: '3h' } as const;
    for (const jumpMs of [3_600_000, -7_200_000]) {
      const calls = cache.get('a', options, load);
      await turn();
      clock.jumpWall(jumpMs);
      loads.at(-1)!.resolve(`after ${jumpMs}`);
      expect(await calls).toBe(`after ${jumpMs}`);
      await elapse(clock, 9999);
      expect(await cache.get('a', options, load)).toBe(`after ${jumpMs}`);
      await elapse(clock, 1);
    }
    expect(loads).toHaveLength(2);
  });

  it('rejects all calls when its locks were closed before', async () => {
    await locks.close();
    const late = settled(createCache({ locks }).get('a', KEPT, () => 1));
    expect(await late).toMatchObject({ code: 'aborted' });
    expect(await settled(locks.cache('a', KEPT, () => 1))).toMatchObject({ code: 'aborted' });
  });

  it('adds one listener to a signal that many calls share, and removes it', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const { load, loads } = heldLoad<number>();
    const other = createCache({ locks });
    const ask = (): Promise<number | Error>[] =>
      [cache, other].flatMap((each) =>
        Array.from({ length: 20 }, () => settled(each.get('a', { ...KEPT, signal }, load))),
      );
    const calls = ask();
    await turn();
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    loads[0]!.resolve(1);
    expect(new Set(await Promise.all(calls))).toEqual(new Set([1]));
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);

    await cache.delete('a');
    const given = ask();
    await turn();
    controller.abort('enough');
    for (const error of await Promise.all(given)) expect(error).toMatchObject({ cause: 'enough' });
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
    loads[1]!.resolve(1);
  });

  it.each([{}, null, 'signal', { aborted: true }, new AbortController()])(
    'rejects %o as a signal, and sends nothing',
    async (signal) => {
      const { load, loads } = heldLoad<number>();
      const options = { ...KEPT, signal: signal as unknown as AbortSignal };
      for (const calls of [
        cache.get('a', options, load),
        cache.getMany(['a'], options, () => new Map()),
      ])
        expect(await settled<unknown>(calls)).toMatchObject({
          name: 'LockArgumentError',
          message: expect.stringContaining('signal must be an AbortSignal'),
        });
      expect(loads).toHaveLength(0);
    },
  );
});

it.each([
  ['a foreign holder', '1'],
  ['a holder of Holdfast', 'x ["host",1,"label"]'],
])('waits for %s without a TTL in growing pauses, and loads after it', async (_holder, value) => {
  const session = engine.session();
  const { cache, locks } = openProgram(engine, clock, 1);
  allLocks.push(locks);
  execute(session, ['SET', 'lock:{cache:a}', value]);
  const loaded = cache.get('a', { fresh: '1m' }, () => 'value');
  for (let ms = 0; ms < 300; ms++) await elapse(clock, 1);
  const stats = JSON.stringify(execute(session, ['INFO', 'commandstats']));
  expect(Number(/cmdstat_eval:calls=(\d+)/.exec(stats)![1])).toBeLessThan(60);
  execute(session, ['DEL', 'lock:{cache:a}']);
  await elapse(clock, 300);
  expect(await loaded).toBe('value');
});
