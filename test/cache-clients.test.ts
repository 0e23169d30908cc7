import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { bytesSerializer, type Cache, type CacheOptions, createCache } from '../src/cache/index.ts';
import { createLocks, redisStore } from '../src/index.ts';
import { slotOf } from '../src/stores/clients/slot.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';
import { type RunningServer, startRealRedis } from './real-redis.ts';
import { CLUSTER_CLIENTS, type OpenClient, SINGLE_CLIENTS } from './redis-clients.ts';

const KEPT: CacheOptions = { fresh: '1m', stale: '1m', lease: '5s' };

let redis: RunningServer;
let cluster: RealCluster;
let observers: Redis[];
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  [redis, cluster] = await Promise.all([startRealRedis(), startRealCluster()]);
  const single = new Redis(redis.port, redis.host);
  observers = [single, ...cluster.masters.map(({ client }) => client)];
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(async () => {
  observers[0]!.disconnect();
  await Promise.all([redis.stop(), cluster.stop()]);
});

type Connect = (keyPrefix: string) => Promise<OpenClient>;

const CLIENTS: Record<string, Connect> = {
  ...Object.fromEntries(
    Object.entries(SINGLE_CLIENTS).map(([name, connect]): [string, Connect] => [
      name,
      (keyPrefix) => connect(redis, keyPrefix),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(CLUSTER_CLIENTS).map(([name, connect]): [string, Connect] => [
      name,
      (keyPrefix) => connect(cluster, keyPrefix),
    ]),
  ),
};

/** A load that the test ends, with a promise for its beginning. */
function heldLoad<Value>() {
  let begin = (): void => {};
  let end: (value: Value) => void = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const value = new Promise<Value>((resolve) => {
    end = resolve;
  });
  let count = 0;
  const load = (): Promise<Value> => {
    count++;
    begin();
    return value;
  };
  return { load, begun, end: (result: Value) => end(result), count: () => count };
}

describe.each(Object.keys(CLIENTS))('a cache through %s', (kind) => {
  const prefix = `${kind.replaceAll(' ', '-')}:`;

  async function open(memory = false): Promise<Cache> {
    const { client, close } = await CLIENTS[kind]!(prefix);
    closers.push(close);
    const locks = createLocks({ store: redisStore(client) });
    closers.push(() => locks.close());
    return createCache({ locks, memory });
  }

  /** The clients that wait for a key, as the servers know them. */
  async function waiting(key: string, count: number): Promise<void> {
    const name = `${prefix}value:{cache:${key}}:waiters`;
    for (;;) {
      const counts = await Promise.all(observers.map((each) => each.scard(name).catch(() => 0)));
      if (counts.includes(count)) return;
    }
  }

  it('loads once for many clients, and all of them get the value', async () => {
    const [here, there, third] = [await open(), await open(), await open()];
    const { load, begun, end, count } = heldLoad<string>();
    const first = here.get('a', KEPT, load);
    await begun;
    const others = [there, third].map((cache) => cache.get('a', KEPT, load));
    await waiting('a', 2);
    end('十 €\r\n');
    expect(await Promise.all([first, ...others])).toEqual(['十 €\r\n', '十 €\r\n', '十 €\r\n']);
    expect(count()).toBe(1);
    expect(await (await open()).get('a', KEPT, load)).toBe('十 €\r\n');
  });

  it('keeps bytes', async () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const options = { ...KEPT, serializer: bytesSerializer };
    await (await open()).get('bytes', options, () => bytes);
    const kept = await (await open()).get('bytes', options, () => Uint8Array.of(1));
    expect([...kept]).toEqual([...bytes]);
  });

  it('keeps all keys of a value in one slot, each with a TTL', async () => {
    const cache = await open();
    const failing = { ...KEPT, backoff: '1h' } as const;
    await cache.get('slot', KEPT, () => 1);
    await cache.delete('slot');
    await cache.get('slot', failing, () => Promise.reject(new Error('x'))).catch(() => {});
    const all = await Promise.all(observers.map((each) => each.keys(`${prefix}*{cache:slot}*`)));
    const names = all.flat();
    expect(names.length).toBeGreaterThanOrEqual(3);
    expect(new Set(names.map(slotOf)).size).toBe(1);
    const place = observers[all.findIndex((each) => each.length > 0)]!;
    for (const name of names) expect(await place.pttl(name), name).not.toBe(-1);
  });

  it('deletes by key and by tag, over all slots', async () => {
    const [here, there] = [await open(), await open()];
    const keys = Array.from({ length: 20 }, (_, index) => `forget ${index}`);
    const options = { ...KEPT, tags: ['red', 'big'] };
    const loadAll = (value: number) => (missing: readonly string[]) =>
      new Map(missing.map((key) => [key, value]));
    const valuesOf = async (cache: Cache, value: number): Promise<Set<number>> =>
      new Set((await cache.getMany(keys, options, loadAll(value))).values());
    expect(await valuesOf(here, 1)).toEqual(new Set([1]));
    expect(await valuesOf(there, 2)).toEqual(new Set([1]));
    await there.invalidate('red');
    expect(await valuesOf(here, 3)).toEqual(new Set([3]));
    expect(await there.delete(keys)).toBe(20);
    expect(await valuesOf(here, 4)).toEqual(new Set([4]));
  });

  it('returns the value to a waiter whose subscription was cut', async () => {
    const [here, there] = [await open(), await open()];
    const { load, begun, end, count } = heldLoad<string>();
    const first = here.get('cut', KEPT, load);
    await begun;
    const second = there.get('cut', KEPT, load);
    await waiting('cut', 1);
    await Promise.all(observers.map((each) => each.call('CLIENT', 'KILL', 'TYPE', 'pubsub')));
    end('value');
    // The lease would keep it for longer than the test may take.
    expect(await Promise.all([first, second])).toEqual(['value', 'value']);
    expect(count()).toBe(1);
  });

  it('returns no copy of its memory tier after a set, nor after its subscription was cut', async () => {
    const [here, there] = [await open(true), await open()];
    const options = { fresh: '1h' } as const;
    const get = (): Promise<number> => here.get('copy', options, () => 0);
    const calls = async (): Promise<number> => {
      const infos = await Promise.all(observers.map((each) => each.info('commandstats')));
      const counts = infos.map((text) =>
        Number(/cmdstat_evalsha:calls=(\d+)/.exec(text)?.[1] ?? 0),
      );
      return counts.reduce((sum, count) => sum + count, 0);
    };
    /** Until a get needs no call of the server. */
    const untilCopied = async (): Promise<void> => {
      for (;;) {
        const before = await calls();
        await get();
        if ((await calls()) === before) return;
      }
    };
    await there.set('copy', 1, options);
    await untilCopied();
    await there.set('copy', 2, options);
    while ((await get()) !== 2) await new Promise(setImmediate);
    await untilCopied();
    await Promise.all(observers.map((each) => each.call('CLIENT', 'KILL', 'TYPE', 'pubsub')));
    await there.set('copy', 3, options);
    while ((await get()) !== 3) await new Promise(setImmediate);
    await untilCopied();
    expect(await get()).toBe(3);
  });

  it('sends its scripts again after SCRIPT FLUSH', async () => {
    const cache = await open();
    await cache.get('script', KEPT, () => 1);
    await Promise.all(observers.map((each) => each.script('FLUSH')));
    expect(await cache.get('script', KEPT, () => 2)).toBe(1);
  });
});

/** A load is followed by a release and a wake, which one connection sends before later requests. */
async function quiet(cache: Cache): Promise<void> {
  for (let round = 0; round < 2; round++) await cache.delete('nothing');
}

describe('a cache', () => {
  it('reads many keys in one call, and one key once for many callers', async () => {
    await using locks = createLocks(`redis://127.0.0.1:${redis.port}`);
    const cache = createCache({ locks, ...KEPT });
    const keys = Array.from({ length: 50 }, (_, index) => `many ${index}`);
    await cache.getMany(keys, {}, (missing) => new Map(missing.map((key) => [key, key])));
    await quiet(cache);
    const [observer] = observers as [Redis];
    await observer.config('RESETSTAT');
    await Promise.all([
      cache.getMany(keys, {}, () => new Map()),
      ...Array.from({ length: 1000 }, () => cache.get('many 1', {}, () => 'x')),
    ]);
    const stats = await observer.info('commandstats');
    expect(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]).toBe('1');
    expect(/cmdstat_get:calls=(\d+)/.exec(stats)?.[1]).toBe('50');
  });

  it('reads the versions of tags once for all callers of a turn', async () => {
    await using locks = createLocks(`redis://127.0.0.1:${redis.port}`);
    const cache = createCache({ locks, ...KEPT, tags: ['red', 'big'] });
    await cache.get('tagged', {}, () => 'x');
    await quiet(cache);
    const [observer] = observers as [Redis];
    await observer.config('RESETSTAT');
    await Promise.all(Array.from({ length: 1000 }, () => cache.get('tagged', {}, () => 'y')));
    const stats = await observer.info('commandstats');
    expect(/cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]).toBe('1');
  });

  it('opens one subscription for all keys, and none for a client that only loads', async () => {
    const url = `redis://127.0.0.1:${redis.port}` as const;
    await using here = createLocks(url);
    await using there = createLocks(url);
    const [observer] = observers as [Redis];
    const channels = (): Promise<unknown[]> =>
      observer.pubsub('CHANNELS', 'holdfast:*') as Promise<unknown[]>;
    const before = (await channels()).length;
    const loads = Array.from({ length: 10 }, () => heldLoad<number>());
    const loading = loads.map(({ load }, index) => here.cache(`one ${index}`, KEPT, load));
    await Promise.all(loads.map(({ begun }) => begun));
    expect((await channels()).length).toBe(before);
    const waits = loads.map(({ load }, index) => there.cache(`one ${index}`, KEPT, load));
    while ((await channels()).length === before);
    for (const { end } of loads) end(1);
    await Promise.all([...loading, ...waits]);
    expect((await channels()).length).toBe(before + 1);
  });

  it('rejects with unavailable when the store is unreachable', async () => {
    await using locks = createLocks('redis://127.0.0.1:1');
    await expect(locks.cache('a', KEPT, () => 1)).rejects.toMatchObject({
      name: 'CacheError',
      code: 'unavailable',
      key: 'a',
    });
  });
});
