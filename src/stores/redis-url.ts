import type { LockStore } from '../lock/index.ts';
import { LazyStore } from './lazy.ts';
import { type IoredisClient, redisStore } from './redis.ts';

/** A store at `redis://…`, `rediss://…` or `unix:/path`, with a client of its own that it closes. */
export function redisUrlStore(url: string): LockStore {
  return new LazyStore(async () => {
    const client = await connect(url);
    const store = redisStore(client);
    const closeStore = store.close.bind(store);
    store.close = async () => {
      await closeStore();
      client.disconnect();
    };
    return store;
  });
}

/** The client is an optional peer, so that who needs no Redis need not install one. */
async function connect(url: string): Promise<IoredisClient> {
  const { Redis } = await import('ioredis').catch((cause: unknown) => {
    throw new Error('locks in Redis need a client: npm install ioredis', { cause });
  });
  const options = { lazyConnect: true, maxRetriesPerRequest: 1 };
  const path = /^unix:(?:\/\/)?(\/.+)$/.exec(url)?.[1];
  const client = path === undefined ? new Redis(url, options) : new Redis({ path, ...options });
  client.on('error', () => {});
  return client as unknown as IoredisClient;
}
