import { type EventEmitter, once } from 'node:events';
import { Cluster, Redis } from 'ioredis';
import { Cluster as IovalkeyCluster, Redis as IovalkeyRedis } from 'iovalkey';
import { createClient, createClientPool, createCluster, createSentinel } from 'redis';
import type { IoredisClient, NodeRedisClient } from '../src/stores/redis.ts';
import type { RealCluster } from './real-cluster.ts';
import type { RealSentinel } from './real-sentinel.ts';

/** A connected client of any library. */
export interface OpenClient {
  readonly client: (IoredisClient | NodeRedisClient) & Emitter;
  close(): unknown;
}

interface Emitter {
  eventNames(): (string | symbol)[];
  listenerCount(event: string | symbol): number;
}

/** Tests with different prefixes have different locks, and can run concurrently. */
type Connect<Place> = (place: Place, keyPrefix?: string) => Promise<OpenClient>;

const host = '127.0.0.1';

export const SINGLE_CLIENTS = {
  ioredis: ({ port }, keyPrefix = '') => ioredis(new Redis({ host, port, keyPrefix })),
  iovalkey: ({ port }, keyPrefix = '') => ioredis(new IovalkeyRedis({ host, port, keyPrefix })),
  'node-redis': ({ port }, keyPrefix = '') =>
    nodeRedis(createClient({ socket: { host, port }, keyPrefix })),
  'node-redis pool': ({ port }, keyPrefix = '') =>
    nodeRedis(createClientPool({ socket: { host, port }, keyPrefix })),
} as const satisfies Record<string, Connect<{ readonly port: number }>>;

export const CLUSTER_CLIENTS = {
  'ioredis Cluster'({ masters }, keyPrefix = '') {
    const nodes = masters.map(({ port }) => ({ host, port }));
    return ioredis(new Cluster(nodes, { keyPrefix }));
  },
  'iovalkey Cluster'({ masters }, keyPrefix = '') {
    const nodes = masters.map(({ port }) => ({ host, port }));
    return ioredis(new IovalkeyCluster(nodes, { keyPrefix }));
  },
  'node-redis createCluster'({ masters }, keyPrefix = '') {
    const rootNodes = masters.map(({ port }) => ({ socket: { host, port } }));
    return nodeRedis(createCluster({ rootNodes, keyPrefix }));
  },
} as const satisfies Record<string, Connect<RealCluster>>;

export const SENTINEL_CLIENTS = {
  'ioredis with sentinels'({ name, sentinelPorts }, keyPrefix = '') {
    const sentinels = sentinelPorts.map((port) => ({ host, port }));
    return reconnecting(new Redis({ name, sentinels, failoverDetector: true, keyPrefix }));
  },
  'iovalkey with sentinels'({ name, sentinelPorts }, keyPrefix = '') {
    const sentinels = sentinelPorts.map((port) => ({ host, port }));
    return reconnecting(new IovalkeyRedis({ name, sentinels, failoverDetector: true, keyPrefix }));
  },
  'node-redis createSentinel'({ name, sentinelPorts }, keyPrefix = '') {
    const sentinelRootNodes = sentinelPorts.map((port) => ({ host, port }));
    return nodeRedis(createSentinel({ name, sentinelRootNodes, keyPrefix }));
  },
} as const satisfies Record<string, Connect<RealSentinel>>;

/**
 * The client ends for good if it notices the failover just while it reconnects: then a program has to connect again, as
 * docs/locks.md says.
 */
async function reconnecting(client: Redis | IovalkeyRedis): Promise<OpenClient> {
  const reconnect = (): void => void client.connect().catch(() => {});
  client.on('end', reconnect);
  const opened = await ioredis(client);
  return {
    ...opened,
    close() {
      client.off('end', reconnect);
      return opened.close();
    },
  };
}

/** Ignores errors, which tests cause on purpose. */
async function ioredis(client: ConnectingIoredis): Promise<OpenClient> {
  client.on('error', () => {});
  await once(client, 'ready');
  return { client, close: () => client.disconnect() };
}

async function nodeRedis(client: ConnectableNodeRedis): Promise<OpenClient> {
  client.on('error', () => {});
  await client.connect();
  return { client, close: () => client.destroy() };
}

type ConnectingIoredis = IoredisClient &
  EventEmitter & {
    disconnect(): void;
  };

type ConnectableNodeRedis = NodeRedisClient &
  Emitter & {
    on(event: 'error', listener: () => void): unknown;
    connect(): Promise<unknown>;
    destroy(): unknown;
  };
