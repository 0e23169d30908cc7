import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createLocks, redisStore } from '../src/index.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';
import { CLUSTER_CLIENTS } from './redis-clients.ts';

/**
 * A rolling migration: processes with the old library and processes with Holdfast run at the same time, and use the
 * same key. A counter shows whether two of them are ever inside at once.
 */

interface Redlock {
  using<T>(resources: string[], durationMs: number, routine: () => Promise<T>): Promise<T>;
}

/** The package keeps its types where the compiler cannot find them. */
const { default: Redlock } = (await import('redlock' as string)) as {
  default: new (clients: Redis[], settings: object) => Redlock;
};

type Guard = (work: () => Promise<void>) => Promise<unknown>;

const OLD = {
  redlock: {
    key: (name: string) => name,
    guard(client: Redis): Guard {
      const redlock = new Redlock([client], { retryCount: -1, retryDelay: 2, retryJitter: 2 });
      return (work) => redlock.using(['job'], 10_000, work);
    },
  },
  'redis-semaphore': {
    key: (name: string) => `mutex:${name}`,
    guard(client: Redis): Guard {
      return async (work) => {
        const mutex = new Mutex(client, 'job', { retryInterval: 2, acquireTimeout: 60_000 });
        await mutex.acquire();
        await work();
        await mutex.release();
      };
    },
  },
} as const;

let servers: Record<'redis-server' | 'holdfast serve', RunningServer>;
let cluster: RealCluster;

beforeAll(async () => {
  servers = { 'redis-server': await startRealRedis(), 'holdfast serve': await startHoldfast() };
  cluster = await startRealCluster();
});
afterAll(async () => {
  await Promise.all(Object.values(servers).map((server) => server.stop()));
  await cluster.stop();
});

const cases = (Object.keys(OLD) as (keyof typeof OLD)[]).flatMap((library) =>
  (['redis-server', 'holdfast serve'] as const).map((server) => ({ library, server })),
);

describe.each(cases)('$library and Holdfast on $server', ({ library, server }) => {
  it('exclude each other by the same key', async () => {
    const { port } = servers[server];
    const { key, guard } = OLD[library];
    const client = new Redis(port);
    onTestFinished(() => client.disconnect());
    await using here = createLocks({ url: `redis://127.0.0.1:${port}`, key });
    await using there = createLocks({ url: `redis://127.0.0.1:${port}`, key });
    const guards: Guard[] = [
      guard(client),
      guard(client),
      ...[here, there].map(
        (locks): Guard =>
          (work) =>
            locks.mutex('job').run(work, { wait: '1m' }),
      ),
    ];
    let inside = 0;
    let most = 0;
    const turns = guards.map(() => 0);
    const worker = async (own: Guard, index: number): Promise<void> => {
      while (turns[index]! < 8) {
        await own(async () => {
          most = Math.max(most, ++inside);
          await pause(2);
          inside--;
          turns[index]!++;
        });
      }
    };
    await Promise.all(guards.map(worker));
    expect(most).toBe(1);
    expect(turns).toEqual([8, 8, 8, 8]);
  });
});

describe('a key without a hash tag', () => {
  it('has all keys of its lock in one slot of a cluster', async () => {
    const { client, close } = await CLUSTER_CLIENTS['ioredis Cluster'](cluster, '');
    onTestFinished(() => void close());
    await using locks = createLocks({
      store: redisStore(client, { key: (name) => `mutex:${name}` }),
    });
    for (const name of ['a', 'b', 'c', 'd']) {
      const lease = await locks.mutex(name).acquire();
      const waiting = locks.mutex(name).acquire({ wait: '5s' });
      while ((await locks.mutex(name).inspect()).waiters.length === 0);
      await lease.release();
      await (await waiting).release();
    }
  });
});
