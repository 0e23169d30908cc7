import { randomUUID } from 'node:crypto';
import { systemClock } from '../clock/index.ts';
import { type Duration, durationMs, LockArgumentError, type LockStore } from '../lock/index.ts';
import { type IoredisClient, ioredisLink, isIoredis } from './ioredis-link.ts';
import { linkRunner } from './link-runner.ts';
import { isNodeRedis, type NodeRedisClient, nodeRedisLink } from './node-redis-link.ts';
import type { RedisLink } from './redis-link.ts';
import { type ScriptRunner, ScriptStore } from './script-store.ts';

export type { IoredisClient, NodeRedisClient };

/**
 * Locks in the Redis that a client is connected to: ioredis (single, Sentinel, Cluster) or node-redis
 * (client, Sentinel, Cluster, pool). The client stays the caller's: it is neither changed nor closed. A
 * second connection is opened when somebody first has to wait, to be called on.
 */
export function redisStore(
  client: IoredisClient | NodeRedisClient,
  options: RedisStoreOptions = {},
): LockStore {
  return scriptStore(linkRunner(linkTo(client)), options);
}

export interface RedisStoreOptions {
  /** How long one request may take. Default 5 s. */
  readonly requestTimeout?: Duration;
}

/** A store on a Redis, however it is reached. */
export function scriptStore(
  runner: ScriptRunner,
  { requestTimeout = '5s' }: RedisStoreOptions = {},
): LockStore {
  const requestTimeoutMs = durationMs(requestTimeout, 'requestTimeout', '', { leastMs: 1 });
  return new ScriptStore(runner, { clientId: randomUUID(), clock: systemClock, requestTimeoutMs });
}

function linkTo(client: unknown): RedisLink {
  if (typeof client === 'object' && client !== null) {
    if (isNodeRedis(client)) return nodeRedisLink(client);
    if (isIoredis(client)) return ioredisLink(client);
  }
  throw new LockArgumentError(
    '',
    'redisStore needs a client: of ioredis new Redis() (also with sentinels) or new Cluster(), or of ' +
      'node-redis createClient(), createSentinel(), createCluster() or createClientPool().',
  );
}
