import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { Redis as IovalkeyRedis, type RedisOptions as IovalkeyRedisOptions } from 'iovalkey';
import {
  BasicClientSideCache,
  createClient,
  createClientPool,
  createCluster,
  createSentinel,
  RESP_TYPES,
  type RedisClientOptions,
} from 'redis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import {
  LockArgumentError,
  Locks,
  LockTimeoutError,
  LockUnavailableError,
} from '../src/lock/index.ts';
import { nodeRedisLink } from '../src/stores/clients/node-redis-link.ts';
import { type IoredisClient, type NodeRedisClient, redisStore } from '../src/stores/redis.ts';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';
import { withinMs } from './within.ts';

type IoredisOptions = Omit<RedisOptions, 'replyMapping'>;
/** The options that both libraries have. */
type SharedOptions = IovalkeyRedisOptions & IoredisOptions;
type NodeRedisOptions = Omit<RedisClientOptions, 'RESP'> & { RESP?: 2 | 3 };

const host = '127.0.0.1';
const BUFFERS = { [RESP_TYPES.BLOB_STRING]: Buffer, [RESP_TYPES.SIMPLE_STRING]: Buffer };
const TEXTS = { [RESP_TYPES.NUMBER]: String };

let server: RunningServer;
const closers: (() => unknown)[] = [];

beforeAll(async () => {
  server = await startRealRedis();
  const admin = new Redis(server.port, host);
  await admin.call('ACL', 'SETUSER', 'shy', 'on', '>secret', '~*', '&*', '+@all', '-info');
  await admin.call('ACL', 'SETUSER', 'deaf', 'on', '>secret', '~*', 'resetchannels', '+@all');
  await admin.call('ACL', 'SETUSER', 'weak', 'on', '>secret', '~*', '&*', '+@all', '-evalsha');
  admin.disconnect();
});
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
afterAll(() => server.stop());

function ioredis(options: IoredisOptions = {}): Redis {
  const client = new Redis({ host, port: server.port, ...options });
  client.on('error', () => {});
  closers.push(() => client.disconnect());
  return client;
}

function iovalkey(options: IovalkeyRedisOptions = {}): IovalkeyRedis {
  const client = new IovalkeyRedis({ host, port: server.port, ...options });
  client.on('error', () => {});
  closers.push(() => client.disconnect());
  return client;
}

async function nodeRedis(options: NodeRedisOptions = {}): Promise<NodeRedisClient> {
  const client = createClient({ socket: { host, port: server.port }, ...options });
  client.on('error', () => {});
  await client.connect();
  closers.push(() => client.destroy());
  return client;
}

function locksOf(client: IoredisClient | NodeRedisClient): Locks {
  const locks = new Locks({ store: redisStore(client) });
  closers.push(() => locks.close());
  return locks;
}

/** Checks what the options of a client could break: the arguments sent, the replies, the messages to waiters. */
async function handsOver(client: IoredisClient | NodeRedisClient): Promise<void> {
  const [holders, waiters] = [locksOf(client), locksOf(client)];
  const lease = await holders.mutex('锁').acquire({ lease: '60s', label: 'first', wait: '5s' });
  const waiting = waiters.mutex('锁').acquire({ wait: '20s' });
  while ((await holders.mutex('锁').inspect()).waiters.length === 0);
  const [holder] = (await holders.mutex('锁').inspect()).holders;
  expect(holder).toMatchObject({
    label: 'first',
    pid: process.pid,
    fence: lease.fence,
    permits: 1,
  });
  const releasedMs = performance.now();
  expect(await lease.release()).toBe('released');
  const next = await waiting;
  expect(next.fence).toBeGreaterThan(lease.fence);
  // Faster than without a message.
  expect(performance.now() - releasedMs).toBeLessThan(withinMs(4500, 5000));
  expect(await next.release()).toBe('released');
}

describe.each([
  ['ioredis', ioredis],
  ['iovalkey', iovalkey],
])('a client of %s', (_library, connect: (options?: SharedOptions) => IoredisClient) => {
  const OPTIONS: Record<string, SharedOptions> = {
    'that connects lazily': { lazyConnect: true },
    'that does not queue while offline': { enableOfflineQueue: false },
    'that connects lazily and does not queue': { enableOfflineQueue: false, lazyConnect: true },
    'with a prefix of its keys': { keyPrefix: 'mine:' },
    'of another database': { db: 3 },
    'with numbers as text': { stringNumbers: true },
    'that pipelines by itself': { enableAutoPipelining: true },
    'that does not subscribe again': { autoResubscribe: false },
    'that never reconnects': { retryStrategy: () => null },
    'of a user without the right to INFO': {
      username: 'shy',
      password: 'secret',
      enableReadyCheck: false,
    },
  };
  it.each(Object.entries(OPTIONS))('%s can use locks', (_name, options) =>
    handsOver(connect(options)),
  );

  it.each([
    ['WRONGPASS', { username: 'shy', password: 'wrong' }],
    ['NOPERM', { username: 'weak', password: 'secret' }],
  ])('that is refused with %s fails at once, with any wait timeout', async (code, options) => {
    const waiting = locksOf(connect(options))
      .mutex('a')
      .acquire({ wait: Number.POSITIVE_INFINITY });
    await expect(waiting).rejects.toThrow(LockUnavailableError);
    const text = new RegExp(`^the store of lock 'a' refused it: ${code} .*Check the client's user`);
    await expect(waiting).rejects.toThrow(text);
  });

  it('keeps the locks under its prefix, in its database', async () => {
    const prefixed = locksOf(connect({ keyPrefix: 'mine:', db: 4 }));
    await prefixed.mutex('a').acquire();
    const keys = await ioredis({ db: 4 }).keys('*');
    expect(keys.length).toBeGreaterThan(0);
    expect(keys.filter((key) => !key.startsWith('mine:lock:{a}'))).toEqual([]);
  });
});

it.each([2, 3] as const)('a client of ioredis with RESP%d can use locks', (protocol) =>
  handsOver(ioredis({ protocol })),
);

describe('a node-redis client', () => {
  const OPTIONS: Record<string, NodeRedisOptions> = {
    'of RESP2': { RESP: 2 },
    'of RESP3': { RESP: 3 },
    'that gives Buffers': { commandOptions: { typeMapping: BUFFERS } },
    'that gives numbers as text': { commandOptions: { typeMapping: TEXTS } },
    'of RESP2 that gives Buffers': { RESP: 2, commandOptions: { typeMapping: BUFFERS } },
    'with a prefix of its keys': { keyPrefix: 'mine:' },
    'of another database': { database: 3 },
    'that does not queue while offline': { disableOfflineQueue: true },
    'with a cache': { RESP: 3, clientSideCache: { maxEntries: 10 } },
    'with a ping': { pingInterval: 1000 },
    'of a user without the right to INFO': { username: 'shy', password: 'secret' },
  };
  it.each(Object.entries(OPTIONS))('%s can use locks', async (_name, options) =>
    handsOver(await nodeRedis(options)),
  );

  it('with an address can use locks', async () => {
    const url = `redis://shy:secret@${host}:${server.port}/2`;
    await handsOver(await nodeRedis({ url, socket: {} }));
  });

  it('of withTypeMapping() can use locks', async () => {
    const client = createClient({ socket: { host, port: server.port } });
    await client.connect();
    closers.push(() => client.destroy());
    await handsOver(client.withTypeMapping(BUFFERS));
  });

  it('returns plain replies to the store with any type mapping of the caller', async () => {
    const typeMapping = { ...BUFFERS, ...TEXTS };
    const link = nodeRedisLink(await nodeRedis({ commandOptions: { typeMapping } }));
    expect(await link.eval("return {1, 'a'}", [], [])).toEqual([1, 'a']);
  });

  it('keeps its cache when the store closes', async () => {
    const cache = new BasicClientSideCache({ maxEntries: 10 });
    const client = createClient({
      socket: { host, port: server.port },
      RESP: 3,
      clientSideCache: cache,
    });
    await client.connect();
    closers.push(() => client.destroy());
    await client.get('cached');
    await handsOver(client);
    for (const close of closers.splice(1)) await close();
    expect(cache.size()).toBe(1);
  });

  it('that is a pool with Buffers can use locks', async () => {
    const pool = createClientPool({
      socket: { host, port: server.port },
      commandOptions: { typeMapping: BUFFERS },
    });
    await pool.connect();
    closers.push(() => pool.destroy());
    await handsOver(pool);
  });
});

describe('a client that cannot be used', () => {
  const nowhere = { host, port: 1 };
  const CLOSED: Record<string, () => IoredisClient | NodeRedisClient> = {
    'of ioredis that was disconnected': () => {
      const client = ioredis();
      client.disconnect();
      return client;
    },
    'of ioredis Cluster that was disconnected': () => {
      const client = new Cluster([nowhere], { lazyConnect: true });
      client.disconnect();
      return client;
    },
    'of node-redis that never connected': () => createClient(),
    'of node-redis Cluster that never connected': () => createCluster({ rootNodes: [{}] }),
    'of node-redis Sentinel that never connected': () =>
      createSentinel({ name: 'a', sentinelRootNodes: [nowhere] }),
    'of node-redis pool that never connected': () => createClientPool(),
  };
  it.each(Object.entries(CLOSED))('%s makes requests fail as unavailable', async (_name, make) => {
    const locks = locksOf(make());
    const error = await locks
      .mutex('a')
      .tryAcquire()
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(/closed|Cluster is ended|startup nodes/),
    });
  });

  it('of a user without the right to subscribe makes a wait fail with the reason', async () => {
    const client = ioredis({ username: 'deaf', password: 'secret' });
    const [holders, waiters] = [locksOf(client), locksOf(client)];
    await holders.mutex('deaf').acquire();
    const waiting = waiters.mutex('deaf').acquire({ wait: 500 });
    await expect(waiting).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('NOPERM'),
    });
  });

  const NOT_CLIENTS = {
    nothing: () => undefined,
    null: () => null,
    'an address': () => 'redis://127.0.0.1',
    'an empty object': () => ({}),
    'a transaction of ioredis': () => ioredis({ lazyConnect: true }).multi(),
    'a transaction of iovalkey': () => iovalkey({ lazyConnect: true }).multi(),
    'a transaction of node-redis': () => createClient().multi(),
    'an object with evalsha alone': () => ({ evalsha: async () => 1 }),
    'a class': () => Redis,
  };
  it.each(Object.entries(NOT_CLIENTS))('throws for %s', (_name, make) => {
    const store = (): unknown => redisStore(make() as never);
    expect(store).toThrow(LockArgumentError);
    expect(store).toThrow(
      /ioredis or iovalkey new Redis\(\).*new Cluster\(\).*createClient\(\).*createClientPool\(\)/,
    );
  });
});

describe.each([
  ['redis-server 7', () => startRealRedis()],
  ['holdfast serve', () => startHoldfast()],
])('on %s', (_name, start) => {
  it('a lock excludes, and is excluded by, SET NX PX with compare-and-delete', async () => {
    const other = await start();
    closers.push(() => other.stop());
    const client = ioredis({ port: other.port });
    const locks = locksOf(client);
    const take = (): Promise<unknown> => client.set('lock:{shared}', 'them', 'PX', 60_000, 'NX');
    await take();
    expect(await locks.mutex('shared').tryAcquire()).toBe(null);
    const waiting = locks.mutex('shared').acquire({ wait: '5s' });
    await client.del('lock:{shared}');
    const lease = await waiting;
    expect(await take()).toBe(null);
    await lease.release();
    expect(await take()).toBe('OK');
    await expect(locks.mutex('shared').acquire({ wait: 500 })).rejects.toThrow(LockTimeoutError);
  });
});
