import { once } from 'node:events';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  createLocks,
  type Lease,
  LockLostError,
  type LockStore,
  redisStore,
} from '../src/index.ts';
import { type RunningServer, startHoldfast } from './real-redis.ts';
import { SINGLE_CLIENTS } from './redis-clients.ts';

let server: RunningServer;
let admin: Redis;

beforeAll(async () => {
  server = await startHoldfast();
  admin = new Redis(server);
});

afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

beforeEach(async () => {
  await admin.flushall();
});

const url = (): `redis://${string}` => `redis://127.0.0.1:${server.port}`;

/** Of INFO clients. */
async function count(field: 'holdfast_sessions' | 'holdfast_wills'): Promise<number> {
  const info = await admin.info('clients');
  return Number(new RegExp(`${field}:(\\d+)`).exec(info)![1]);
}

/** Wills are dropped after whoever released was answered. */
async function untilNoWill(): Promise<void> {
  while ((await count('holdfast_wills')) > 0);
}

/** Kills the connections whose last command began a session, and says how many they were. */
async function killSessions(): Promise<number> {
  const lines = String(await admin.call('CLIENT', ['LIST'])).split('\n');
  const ids = lines
    .filter((line) => line.includes('cmd=holdfast.session'))
    .map((line) => /id=(\d+)/.exec(line)![1]!);
  for (const id of ids) await admin.call('CLIENT', ['KILL', 'ID', id]);
  return ids.length;
}

async function lossOf({ signal }: Lease): Promise<unknown> {
  if (!signal.aborted) await once(signal, 'abort');
  return signal.reason;
}

/** The ways to have locks with a session of their own. */
const WAYS = {
  url: async () => createLocks(url(), { session: true }),
  ioredis: async () => createLocks({ store: await storeOf('ioredis') }),
  'node-redis': async () => createLocks({ store: await storeOf('node-redis') }),
  'ioredis with a prefix': async () => createLocks({ store: await storeOf('ioredis', 'p:') }),
  'node-redis with a prefix': async () => createLocks({ store: await storeOf('node-redis', 'p:') }),
} as const;

const prefixOf = (way: string): string => (way.includes('prefix') ? 'p:' : '');

async function storeOf(library: 'ioredis' | 'node-redis', keyPrefix = ''): Promise<LockStore> {
  const { client, close } = await SINGLE_CLIENTS[library](server, keyPrefix);
  onTestFinished(() => void close());
  return redisStore(client, { session: true });
}

describe.each(Object.entries(WAYS))('locks with a session (%s)', (way, make) => {
  it('have a will while they are held, and none afterwards', async () => {
    await using locks = await make();
    const lease = await locks.mutex('a').acquire();
    expect(await count('holdfast_sessions')).toBe(1);
    expect(await count('holdfast_wills')).toBe(1);
    expect(await lease.release()).toBe('released');
    await untilNoWill();
    const all = await locks.all(['b', 'c', 'd']).acquire();
    expect(await count('holdfast_wills')).toBe(3);
    await all.release();
    await untilNoWill();
    const kept = await locks.mutex('e').acquire();
    expect(await locks.mutex('e').tryAcquire()).toBe(null);
    await kept.release();
    await untilNoWill();
  });

  it('end when the session ends, and the holder is told at once', async () => {
    await using locks = await make();
    const leases = [
      await locks.mutex('a').acquire({ lease: '1h' }),
      await locks.semaphore('b', 3, { take: 2 }).acquire({ lease: '1h' }),
      await locks.readWrite('c').read.acquire({ lease: '1h', renew: false }),
      await locks.all(['d', 'e']).acquire({ lease: '1h' }),
    ];
    const losses = leases.map(lossOf);
    expect(await killSessions()).toBe(1);
    for (const loss of await Promise.all(losses)) {
      expect(loss).toBeInstanceOf(LockLostError);
      expect(loss).toMatchObject({ reason: 'stolen' });
    }
    expect((await locks.semaphore('b', 3).inspect()).holders).toEqual([]);
    // And they go on with another session.
    const lease = await locks.mutex('a').acquire();
    expect(await count('holdfast_sessions')).toBe(1);
    expect(await count('holdfast_wills')).toBe(1);
    expect(lease.isHeld).toBe(true);
  });

  it('give their places in line to who comes next, and those who wait stand in line again', async () => {
    await using here = await make();
    const { client, close } = await SINGLE_CLIENTS.ioredis(server, prefixOf(way));
    onTestFinished(() => void close());
    await using there = createLocks({ store: redisStore(client) });
    const holder = await there.mutex('a').acquire({ lease: '1h' });
    const waiting = here.mutex('a').acquire({ wait: '1h', lease: '1h' });
    while ((await there.mutex('a').inspect()).waiters.length < 1);
    await killSessions();
    while ((await count('holdfast_sessions')) === 0);
    while ((await there.mutex('a').inspect()).waiters.length < 1);
    expect(await count('holdfast_wills')).toBe(1);
    await holder.release();
    // The lease lasts an hour: only the call can have told it.
    await (await waiting).release();
    await untilNoWill();
  });

  it('are handed to those of their own that wait', async () => {
    await using locks = await make();
    const lease = await locks.mutex('a').acquire({ lease: '1h' });
    const waiting = locks.mutex('a').acquire({ wait: '1h', lease: '1h' });
    while ((await locks.mutex('a').inspect()).waiters.length < 1);
    await killSessions();
    expect(await lossOf(lease)).toBeInstanceOf(LockLostError);
    expect((await waiting).fence).toBeGreaterThan(lease.fence);
  });

  it('leave no will behind after much use', async () => {
    await using locks = await make();
    const work = Array.from({ length: 300 }, (_, index) =>
      locks.mutex(`m${index % 7}`).run(async () => {}, { wait: '1h' }),
    );
    await Promise.all(work);
    await untilNoWill();
  });
});
