import { Redis } from 'ioredis';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { type Cache, type CacheOptions, createCache } from '../src/cache/index.ts';
import { createLocks } from '../src/index.ts';
import { heldLoad, settled } from './cache-scene.ts';
import { freePort, type RunningServer, startRealRedis } from './real-redis.ts';

const KEPT: CacheOptions = { fresh: '1m', lease: '5s' };

let redis: RunningServer;
let observer: Redis;

beforeEach(async () => {
  redis = await startRealRedis();
  observer = new Redis(redis.port, redis.host);
});
afterEach(async () => {
  observer.disconnect();
  await redis.stop();
});

/** A cache of a program of its own. */
function open(port = redis.port): Cache {
  const locks = createLocks(`redis://127.0.0.1:${port}`);
  onTestFinished(() => locks.close());
  return createCache({ locks });
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise(setImmediate);
}

const waiterOf = (key: string) => async (): Promise<boolean> =>
  (await observer.exists(`value:{cache:${key}}:waiters`)) === 1;

it('refuses the write of a load that began before FLUSHALL', async () => {
  const [here, there] = [open(), open()];
  const { load, loads } = heldLoad<string>();
  const first = here.get('a', KEPT, load);
  await until(() => loads.length === 1);
  await observer.flushall();
  expect(await there.get('a', KEPT, () => 'newer')).toBe('newer');
  loads[0]!.resolve('older');
  expect(await first).toBe('newer');
  expect(await there.get('a', KEPT, () => 'newest')).toBe('newer');
});

it('sends scripts again after SCRIPT FLUSH during a load', async () => {
  const [here, there] = [open(), open()];
  const { load, loads } = heldLoad<string>();
  const calls = [here.get('a', KEPT, load), there.get('a', KEPT, load)];
  await until(waiterOf('a'));
  await observer.script('FLUSH');
  loads[0]!.resolve('value');
  expect(await Promise.all(calls)).toEqual(['value', 'value']);
  expect(loads).toHaveLength(1);
});

it('lets a waiter load after a restart without data', async () => {
  const port = await freePort();
  const before = await startRealRedis('--port', `${port}`);
  const [here, there] = [open(port), open(port)];
  const { load, loads } = heldLoad<string>();
  const first = settled(here.get('a', KEPT, load));
  await until(() => loads.length === 1);
  const second = there.get('a', { ...KEPT, hardTimeout: '20s' }, () => 'second');
  const watcher = new Redis(port, '127.0.0.1');
  await until(async () => (await watcher.exists('value:{cache:a}:waiters')) === 1);
  watcher.disconnect();
  await before.stop();
  const after = await startRealRedis('--port', `${port}`);
  onTestFinished(() => after.stop());
  expect(await second).toBe('second');
  loads[0]!.resolve('first');
  // The loader finds the newer value, or cannot reach the store and returns what it has.
  expect(['first', 'second']).toContain(await first);
  await until(async () => (await settled(here.get('a', KEPT, () => 'third'))) === 'second');
});

it('lets a waiter load at once when the loader closes its locks', async () => {
  const locks = createLocks(`redis://127.0.0.1:${redis.port}`);
  const { load, loads } = heldLoad<string>();
  const options = { ...KEPT, lease: '1m', hardTimeout: '10s' } as const;
  const first = settled(locks.cache('a', options, load));
  await until(() => loads.length === 1);
  const second = open().get('a', options, () => 'second');
  await until(waiterOf('a'));
  await locks.close();
  expect(await first).toMatchObject({ code: 'aborted' });
  expect(await second).toBe('second');
});

it('fails only for a key of another type, and loads over the text of another program', async () => {
  const cache = open();
  await cache.get('right', KEPT, () => 1);
  await observer.rpush('value:{cache:list}', 'x');
  await observer.set('value:{cache:text}', 'a text', 'PX', 60_000);
  await observer.set('value:{cache:number}', '7 8 9 10 11', 'PX', 60_000);
  const calls = ['right', 'list', 'text', 'number'].map((key) =>
    settled(cache.get<unknown>(key, KEPT, () => key)),
  );
  const [right, list, ...others] = await Promise.all(calls);
  expect(right).toBe(1);
  expect(list).toMatchObject({ code: 'unavailable', key: 'list' });
  expect(String(list)).toContain('WRONGTYPE');
  expect(others).toEqual(['text', 'number']);
});

it('loads again when a value has lost its TTL', async () => {
  const cache = open();
  const options = { fresh: 1, stale: '1m', softTimeout: 100 } as const;
  await cache.get('a', options, () => 1);
  await observer.persist('value:{cache:a}');
  expect(await cache.get('a', options, () => 2)).toBe(2);
  expect(await observer.pttl('value:{cache:a}')).toBeGreaterThan(0);
});

it("sends no large value to a waiter's subscription, and the waiter gets it", async () => {
  await observer.config('SET', 'client-output-buffer-limit', 'pubsub 2mb 2mb 1');
  const [here, there] = [open(), open()];
  const { load, loads } = heldLoad<string>();
  const calls = [here.get('a', KEPT, load), there.get('a', KEPT, load)];
  await until(waiterOf('a'));
  const subscribers = async (): Promise<string> =>
    String(await observer.call('CLIENT', 'LIST', 'TYPE', 'pubsub')).replaceAll(/ (?!id=).*/g, '');
  const before = await subscribers();
  loads[0]!.resolve('x'.repeat(5_000_000));
  const values = await Promise.all(calls);
  expect(values.map(({ length }) => length)).toEqual([5_000_000, 5_000_000]);
  expect(await subscribers()).toBe(before);
  expect(loads).toHaveLength(1);
});

it('has only keys with the prefix of createLocks()', async () => {
  const locks = createLocks({ url: `redis://127.0.0.1:${redis.port}`, prefix: 'shop:' });
  onTestFinished(() => locks.close());
  expect(await locks.cache('a', { ...KEPT, tags: ['red'] }, () => 'value')).toBe('value');
  const keys = await observer.keys('*');
  expect(keys).toContain('shop:value:{cache:a}');
  expect(keys).toContain('shop:tag:{cache:red}');
  expect(keys.filter((key) => !key.startsWith('shop:'))).toEqual([]);
});

it('keeps no key much longer than its value, and none of a deleted value', async () => {
  const cache = open();
  const short = { fresh: 1000, maxLoad: '1s', tags: ['red'] } as const;
  await cache.get('a', short, () => 1);
  const names = async (): Promise<string[]> =>
    (await Promise.all(['tag:*', 'value:*'].map((all) => observer.keys(all)))).flat().sort();
  const kept = await names();
  expect(kept).toEqual(['tag:{cache:red}', 'value:{cache:a}', 'value:{cache:a}:guard']);
  for (const name of kept) {
    const leftMs = await observer.pttl(name);
    expect(leftMs, name).toBeGreaterThan(0);
    // A tag: for a load of a second, a minute more, and the longest pause after failures.
    expect(leftMs, name).toBeLessThanOrEqual(name.startsWith('tag') ? 91_000 : 1000);
  }
  await cache.delete(['a', 'b', 'c']);
  await cache.invalidate(['red', 'never used']);
  expect(await names()).toEqual([]);
});
