import { type EventEmitter, once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import { Cluster, Redis } from 'ioredis';
import { Cluster as IovalkeyCluster, Redis as IovalkeyRedis } from 'iovalkey';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { Locks } from '../src/lock/index.ts';
import { type IoredisClient, type NodeRedisClient, redisStore } from '../src/stores/redis.ts';
import { FaultProxy, type Link } from './fault-proxy.ts';
import { type RealCluster, startRealCluster } from './real-cluster.ts';
import { type RunningServer, startRealRedis } from './real-redis.ts';
import { type RealSentinel, startRealSentinel } from './real-sentinel.ts';

/**
 * A firewall drops the packets of open connections: neither side gets an error. New connections work. Each client here
 * connects through proxies that do this.
 */
const host = '127.0.0.1';
const RECOVERY_MS = 10_000;

interface Places {
  readonly single: RunningServer;
  readonly cluster: RealCluster;
  readonly sentinel: RealSentinel;
}

/** Runs at the end of a test. */
type Cleanup = (close: () => unknown) => void;

interface SilentClient {
  readonly client: (IoredisClient | NodeRedisClient) &
    Pick<EventEmitter, 'eventNames' | 'listenerCount'>;
  isUsable(): boolean;
  close(): unknown;
}

/** Which servers a client needs, and how to make it: `proxyOf` maps the port of a server to that of its proxy. */
interface Kind {
  readonly ports: (places: Places) => readonly number[];
  readonly connect: (places: Places, proxyOf: ProxyOf) => Promise<SilentClient>;
}

type ProxyOf = (port: number) => number;

const single = ({ single: { port } }: Places): number[] => [port];
const masters = ({ cluster }: Places): number[] => cluster.masters.map(({ port }) => port);
const data = ({ sentinel }: Places): number[] => [sentinel.masterPort, sentinel.replicaPort];

const KINDS: Record<string, Kind> = {
  ioredis: {
    ports: single,
    connect: ({ single: { port } }, proxyOf) => ioredis(new Redis(proxyOf(port), host)),
  },
  'ioredis of RESP2': {
    ports: single,
    connect: ({ single: { port } }, proxyOf) =>
      ioredis(new Redis(proxyOf(port), host, { protocol: 2 })),
  },
  iovalkey: {
    ports: single,
    connect: ({ single: { port } }, proxyOf) => ioredis(new IovalkeyRedis(proxyOf(port), host)),
  },
  'node-redis': {
    ports: single,
    connect: ({ single: { port } }, proxyOf) =>
      nodeRedis(createClient({ socket: { host, port: proxyOf(port) } })),
  },
  'node-redis of RESP2': {
    ports: single,
    connect: ({ single: { port } }, proxyOf) =>
      nodeRedis(createClient({ RESP: 2, socket: { host, port: proxyOf(port) } })),
  },
  'node-redis pool': {
    ports: single,
    connect: ({ single: { port } }, proxyOf) =>
      nodeRedis(createClientPool({ socket: { host, port: proxyOf(port) } })),
  },
  'ioredis Cluster': {
    ports: masters,
    connect: (places, proxyOf) =>
      ioredis(
        new Cluster(nodesOf(places, proxyOf), { natMap: natMapOf(masters(places), proxyOf) }),
      ),
  },
  'iovalkey Cluster': {
    ports: masters,
    connect: (places, proxyOf) =>
      ioredis(
        new IovalkeyCluster(nodesOf(places, proxyOf), {
          natMap: natMapOf(masters(places), proxyOf),
        }),
      ),
  },
  'node-redis createCluster': {
    ports: masters,
    connect: (places, proxyOf) =>
      nodeRedis(
        createCluster({
          rootNodes: nodesOf(places, proxyOf).map((socket) => ({ socket })),
          nodeAddressMap: natMapOf(masters(places), proxyOf),
        }),
      ),
  },
  'ioredis with sentinels': {
    ports: data,
    connect: (places, proxyOf) => ioredis(new Redis(sentinelOptions(places, proxyOf))),
  },
  'iovalkey with sentinels': {
    ports: data,
    connect: (places, proxyOf) => ioredis(new IovalkeyRedis(sentinelOptions(places, proxyOf))),
  },
  'node-redis createSentinel': {
    ports: data,
    connect: (places, proxyOf) => {
      const { name, sentinels, natMap } = sentinelOptions(places, proxyOf);
      return nodeRedis(
        createSentinel({ name, sentinelRootNodes: sentinels, nodeAddressMap: natMap }),
      );
    },
  },
};

function nodesOf(places: Places, proxyOf: ProxyOf) {
  return masters(places).map((port) => ({ host, port: proxyOf(port) }));
}

function natMapOf(ports: readonly number[], proxyOf: ProxyOf) {
  return Object.fromEntries(
    ports.map((port) => [`${host}:${port}`, { host, port: proxyOf(port) }]),
  );
}

function sentinelOptions(places: Places, proxyOf: ProxyOf) {
  const { name, sentinelPorts } = places.sentinel;
  const sentinels = sentinelPorts.map((port) => ({ host, port }));
  return { name, sentinels, natMap: natMapOf(data(places), proxyOf), failoverDetector: true };
}

async function ioredis(
  client: Redis | Cluster | IovalkeyRedis | IovalkeyCluster,
): Promise<SilentClient> {
  const emitter: EventEmitter = client;
  emitter.on('error', () => {});
  await once(emitter, 'ready');
  return {
    client,
    isUsable: () => client.status === 'ready',
    close: () => client.disconnect(),
  };
}

async function nodeRedis(
  client: SilentClient['client'] &
    NodeRedisClient & {
      on(event: 'error', listener: () => void): unknown;
      connect(): Promise<unknown>;
      destroy(): unknown;
    },
): Promise<SilentClient> {
  client.on('error', () => {});
  await client.connect();
  return { client, isUsable: () => client.isOpen, close: () => client.destroy() };
}

let places: Places;

beforeAll(async () => {
  const [server, cluster, sentinel] = await Promise.all([
    startRealRedis(),
    startRealCluster(),
    startRealSentinel(),
  ]);
  places = { single: server, cluster, sentinel };
});
afterAll(async () => {
  for (const place of Object.values(places)) await place.stop();
});

/** A store on a client behind proxies. */
async function open({ ports, connect }: Kind, cleanup: Cleanup) {
  const proxies = new Map<number, FaultProxy>();
  for (const port of ports(places)) {
    const proxy = await FaultProxy.start(port);
    cleanup(() => proxy[Symbol.asyncDispose]());
    proxies.set(port, proxy);
  }
  const { client, isUsable, close } = await connect(places, (port) => proxies.get(port)!.port);
  cleanup(close);
  const locks = new Locks({ store: redisStore(client) });
  cleanup(() => locks.close());
  const links = (): Link[] => [...proxies.values()].flatMap((proxy) => [...proxy.links]);
  const listeners = (): number =>
    client.eventNames().reduce((sum, event) => sum + client.listenerCount(event), 0);
  return { client, locks, links, isUsable, listeners };
}

const isSubscription = (link: Link): boolean => /\bsubscribe\b/i.test(link.requests.text);

async function timeOf(act: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now();
  await act();
  return performance.now() - startMs;
}

/** The tests mostly wait. */
vi.setConfig({ maxConcurrency: 2 * Object.keys(KINDS).length });

describe.concurrent.each(Object.entries(KINDS))('a client of %s', (name, kind) => {
  it('whose subscription died silently is notified of a hand-over within 10 s', async (test) => {
    const cleanup: Cleanup = (close) => test.onTestFinished(async () => void (await close()));
    const holder = await open(kind, cleanup);
    const waiter = await open(kind, cleanup);
    const lock = holder.locks.mutex(`${name} handed over`);
    const first = await lock.acquire({ lease: '10m' });
    const granted = waiter.locks.mutex(lock.name).acquire({ wait: '60s' });
    while ((await lock.inspect()).waiters.length === 0);
    const findSubscriptions = (): Link[] => waiter.links().filter(isSubscription);
    while (findSubscriptions().length === 0) await setImmediate();
    const subscriptions = findSubscriptions();
    for (const link of subscriptions) link.set({ kind: 'swallow' });
    const waitedMs = await timeOf(async () => {
      await first.release();
      await granted;
    });
    expect(waitedMs).toBeLessThan(RECOVERY_MS);
    expect(await (await granted).release()).toBe('released');
  });

  it('whose connections died silently is served within 10 s, and keeps its locks', async (test) => {
    const cleanup: Cleanup = (close) => test.onTestFinished(async () => void (await close()));
    const { locks, links, isUsable, listeners } = await open(kind, cleanup);
    const listenersBefore = listeners();
    const semaphore = locks.semaphore(`${name} silent`, 2);
    const first = await semaphore.acquire();
    const dead = links();
    for (const link of dead) link.set({ kind: 'swallow' });
    const waitedMs = await timeOf(async () => {
      const second = await semaphore.acquire({ wait: '60s' });
      expect(await second.release()).toBe('released');
    });
    expect(waitedMs).toBeLessThan(RECOVERY_MS);
    expect(await first.release()).toBe('released');
    expect([isUsable(), listeners()]).toEqual([true, listenersBefore]);
    await locks.close();
    // A pool has opened new connections, which are its own.
    if (name.includes('pool')) return;
    await vi.waitUntil(() => links().every((link) => dead.includes(link)), { timeout: 5000 });
  });
});

describe.concurrent.each(['ioredis', 'node-redis'])('a client of %s that sent SELECT', (name) => {
  it('finds its locks in the same database after its connections died silently', async (test) => {
    const cleanup: Cleanup = (close) => test.onTestFinished(async () => void (await close()));
    const { client, locks, links } = await open(KINDS[name]!, cleanup);
    await (client as Redis).select(3);
    const lock = locks.mutex(`${name} in database 3`);
    const lease = await lock.acquire({ lease: '60s' });
    for (const link of links()) link.set({ kind: 'swallow' });
    const isBusy = async (): Promise<boolean> => (await lock.tryAcquire()) === null;
    await vi.waitUntil(() => isBusy().catch(() => false), { timeout: RECOVERY_MS });
    expect(await lease.release()).toBe('released');
  });
});
