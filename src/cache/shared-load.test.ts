import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished } from 'vitest';
import { seededRandom, virtualClock } from '../clock/index.ts';
import { Locks, memoryStore } from '../lock/index.ts';
import { setCacheBackend } from './backend.ts';
import { type Cache, createCache } from './cache.ts';
import { memoryCacheStore } from './memory-cache-store.ts';
import type { CacheStore } from './store.ts';

/** A cache whose store has the methods of `change`. */
function cacheOn(change: (store: CacheStore) => Partial<CacheStore>): Cache {
  const clock = virtualClock();
  const locks = new Locks({ store: memoryStore(clock), clock });
  const plain: CacheStore = memoryCacheStore(clock);
  const changes = change(plain);
  const store = new Proxy(plain, {
    get: (target, name: Exclude<keyof CacheStore, 'changes'>) =>
      changes[name] ?? target[name]?.bind(target),
  });
  setCacheBackend(locks, () => ({ store, clock, random: seededRandom(1) }));
  onTestFinished(() => locks.close());
  return createCache({ locks, fresh: '1m' });
}

/** Waits until all that can happen without time has happened. */
const turn = (): Promise<void> => new Promise(setImmediate);

it('does not load a value that was written between the lookup and the grant', async () => {
  let goOn = (): void => {};
  const slowly = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let looks = 0;
  const cache = cacheOn((store) => ({
    async lookup(key, tags) {
      const lookup = await store.lookup(key, tags);
      if (++looks === 1) await slowly;
      return lookup;
    },
  }));
  const overtaken = cache.get('a', {}, () => 'second');
  expect(await cache.get('a', {}, () => 'first')).toBe('first');
  await turn();
  goOn();
  expect(await overtaken).toBe('first');
  expect(cache.counts).toMatchObject({ miss: 2, load: 1 });
});

it('returns the loaded value when the store fails to keep it', async () => {
  const cache = cacheOn(() => ({ write: () => Promise.reject(new Error('full')) }));
  expect(await cache.get('a', {}, () => 1)).toBe(1);
  expect(await cache.get('a', {}, () => 2)).toBe(2);
});

it('returns a loaded value after its write was refused three times', async () => {
  let loads = 0;
  const cache = cacheOn(() => ({ write: () => false }));
  expect(await cache.get('a', {}, () => ++loads)).toBe(3);
});

it.each(['lookup', 'open'] as const)('rejects with unavailable when %s fails', async (name) => {
  const cache = cacheOn(() => ({ [name]: () => Promise.reject(new Error('gone')) }));
  await expect(cache.get('a', {}, () => 1)).rejects.toMatchObject({
    code: 'unavailable',
    key: 'a',
    cause: new Error('gone'),
  });
});

it('keeps no more of a long error message than it reports', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const cache = cacheOn(() => ({}));
  const failing = (index: number): Promise<void> =>
    cache
      .get(`key ${index}`, {}, () => {
        throw new Error(Buffer.alloc(1_000_000, 97 + index).toString());
      })
      .catch(() => {});
  await failing(0);
  await turn();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let index = 1; index <= 20; index++) await failing(index);
  await turn();
  collectGarbage();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10_000_000);
});
