import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Locks, LockTimeoutError } from '../src/lock/index.ts';
import { CONFORMANCE } from '../src/stores/conformance.ts';
import { type IoredisClient, type NodeRedisClient, redisStore } from '../src/stores/redis.ts';
import { startHoldfast, startRealRedis } from './real-redis.ts';

const SERVERS = {
  'redis-server 7': () => startRealRedis(),
  'holdfast serve': () => startHoldfast(),
};

describe.each(Object.entries(SERVERS))('on %s', (_name, start) => {
  let server: Awaited<ReturnType<typeof start>>;
  const closers: (() => unknown)[] = [];

  beforeAll(async () => {
    server = await start();
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });
  afterAll(() => server.stop());

  function ioredis(): Redis {
    const client = new Redis({ port: server.port, host: '127.0.0.1' });
    closers.push(() => client.disconnect());
    return client;
  }

  async function nodeRedis(): Promise<NodeRedisClient> {
    const client = createClient({ url: `redis://127.0.0.1:${server.port}` });
    client.on('error', () => {});
    await client.connect();
    closers.push(() => client.destroy());
    return client as unknown as NodeRedisClient;
  }

  const clients = {
    ioredis: async () => ioredis() as unknown as IoredisClient,
    'node-redis': nodeRedis,
  };

  describe.each(Object.entries(clients))('through %s', (_client, connect) => {
    // Leases end by the server's own clock, so that here time has to pass.
    it.each(CONFORMANCE)('$name', async (example) => {
      const client = await connect();
      const flush = new Redis({ port: server.port, host: '127.0.0.1' });
      await flush.flushall();
      flush.disconnect();
      await example.run({
        open: async () => redisStore(client),
        elapse: (durationMs) => new Promise((resolve) => setTimeout(resolve, durationMs)),
      });
    });
  });

  it('excludes, and is excluded by, SET NX PX with compare-and-delete', async () => {
    const client = ioredis();
    const locks = new Locks({ store: redisStore(client as unknown as IoredisClient) });
    closers.push(() => locks.close());
    await client.set('lock:{shared}', 'foreign', 'PX', 60_000, 'NX');
    expect(await locks.mutex('shared').tryAcquire()).toBe(null);
    const waiting = locks.mutex('shared').acquire({ wait: '5s' });
    await client.del('lock:{shared}');
    const lease = await waiting;
    expect(await client.set('lock:{shared}', 'foreign', 'PX', 60_000, 'NX')).toBe(null);
    await lease.release();
    expect(await client.set('lock:{shared}', 'foreign', 'PX', 60_000, 'NX')).toBe('OK');
    await expect(locks.mutex('shared').acquire({ wait: 50 })).rejects.toThrow(LockTimeoutError);
  });

  it('sends the requests of one turn in one call, and survives SCRIPT FLUSH', async () => {
    const client = ioredis();
    const locks = new Locks({ store: redisStore(client as unknown as IoredisClient) });
    closers.push(() => locks.close());
    await client.flushall();
    await client.script('FLUSH');
    await client.config('RESETSTAT');
    const names = Array.from({ length: 50 }, (_, index) => `name:${index}`);
    const leases = await Promise.all(names.map((name) => locks.mutex(name).acquire()));
    await Promise.all(leases.map((lease) => lease.release()));
    const stats = await client.info('commandstats');
    const calls = (name: string): number =>
      Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
    // One for the acquisitions (not known: sent again as text), one for the releases.
    expect([calls('eval'), calls('evalsha')]).toEqual([1, 2]);
    expect(await client.dbsize()).toBeGreaterThan(0);
  });
});
