import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Cluster, Redis } from 'ioredis';
import { createClientPool } from 'redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  createLocks,
  type Lease,
  LockLostError,
  type LockStore,
  redisStore,
} from '../src/index.ts';
import { openSession, SessionError } from '../src/stores/index.ts';
import { FaultProxy } from './fault-proxy.ts';
import { LocalClient } from './local-client.ts';
import { freePort, type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';
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

/** A field of INFO clients. */
async function count(field: 'holdfast_sessions' | 'holdfast_wills'): Promise<number> {
  const info = await admin.info('clients');
  return Number(new RegExp(`${field}:(\\d+)`).exec(info)![1]);
}

/** The number of leases and places in queues that are recorded with open sessions. */
async function recorded(): Promise<number> {
  const keys = await admin.keys('holdfast:session:*');
  const counts = await Promise.all(keys.map((key) => admin.hlen(key)));
  // One field of each key says that the session is open.
  return counts.reduce((sum, each) => sum + each - 1, 0);
}

/** Kills the connections whose last command opened a session. Returns their number. */
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

/** The number of timers that keep the process alive. */
function timerCount(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
}

/** The ways to create locks with a session. */
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
  it('are recorded while they are held, and have one exit command together', async () => {
    await using locks = await make();
    const lease = await locks.mutex('a').acquire();
    expect(await count('holdfast_sessions')).toBe(1);
    expect(await recorded()).toBe(1);
    expect(await lease.release()).toBe('released');
    expect(await recorded()).toBe(0);
    const all = await locks.all(['b', 'c', 'd']).acquire();
    expect(await recorded()).toBe(3);
    expect(await count('holdfast_wills')).toBe(1);
    await all.release();
    expect(await recorded()).toBe(0);
    const kept = await locks.mutex('e').acquire();
    expect(await locks.mutex('e').tryAcquire()).toBe(null);
    await kept.release();
    expect(await recorded()).toBe(0);
  });

  it('are lost when the session ends, and the signals of their holders abort at once', async () => {
    await using locks = await make();
    const leases = [
      await locks.mutex('a').acquire({ lease: '1h' }),
      await locks.semaphore('b', 3, { permits: 2 }).acquire({ lease: '1h' }),
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
    // The next request opens another session.
    const lease = await locks.mutex('a').acquire();
    expect(await count('holdfast_sessions')).toBe(1);
    expect(await recorded()).toBe(1);
    expect(lease.isHeld).toBe(true);
  });

  it('leave the queues when the session ends, and waiters enter them again in the next session', async () => {
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
    expect(await recorded()).toBe(1);
    await holder.release();
    // The lease lasts an hour: only a message can have woken the waiter.
    await (await waiting).release();
    expect(await recorded()).toBe(0);
  });

  it('are handed over to a waiter of the same client when the session ends', async () => {
    await using locks = await make();
    const lease = await locks.mutex('a').acquire({ lease: '1h' });
    const waiting = locks.mutex('a').acquire({ wait: '1h', lease: '1h' });
    while ((await locks.mutex('a').inspect()).waiters.length < 1);
    await killSessions();
    expect(await lossOf(lease)).toBeInstanceOf(LockLostError);
    expect((await waiting).fence).toBeGreaterThan(lease.fence);
  });

  it('are not recorded any more after 300 runs', async () => {
    await using locks = await make();
    const work = Array.from({ length: 300 }, (_, index) =>
      locks.mutex(`m${index % 7}`).run(async () => {}, { wait: '1h' }),
    );
    await Promise.all(work);
    expect(await recorded()).toBe(0);
  });
});

describe('a process with a session', () => {
  it('that is killed releases its locks and its places in queues at once', async () => {
    const [holder, waiter] = await Promise.all([startProcess(), startProcess()]);
    await using locks = createLocks(url());
    const { fence } = await holder.acquireAt(url(), 'a', { lease: '1h' });
    waiter.acquireAt(url(), 'a', { lease: '1h', wait: '1h' }).catch(() => {});
    while ((await locks.mutex('a').inspect()).waiters.length < 1);
    const next = locks.mutex('a').acquire({ wait: '1h' });
    while ((await locks.mutex('a').inspect()).waiters.length < 2);
    await waiter.kill();
    while ((await locks.mutex('a').inspect()).waiters.length > 1);
    await holder.kill();
    // The lease lasts an hour: only the end of the session can have released it.
    const lease = await next;
    expect(lease.fence).toBeGreaterThan(fence);
    await lease.release();
    expect(await count('holdfast_sessions')).toBe(0);
  });

  it('releases its locks also when it exits on SIGTERM', async () => {
    const holder = await startProcess();
    await holder.acquireAt(url(), 'a', { lease: '1h' });
    await using locks = createLocks(url());
    const next = locks.mutex('a').acquire({ wait: '1h' });
    while ((await locks.mutex('a').inspect()).waiters.length < 1);
    holder.child.kill('SIGTERM');
    await (await next).release();
  });
});

async function startProcess(): Promise<LocalClient> {
  const client = await LocalClient.start({ environment: {} });
  onTestFinished(() => client.kill());
  return client;
}

describe('a session of openSession()', () => {
  it('can be passed to createLocks(), and its end releases the locks', async () => {
    const session = await openSession(url());
    await using locks = createLocks(url(), { session });
    const lease = await locks.mutex('a').acquire({ lease: '1h' });
    expect(await count('holdfast_sessions')).toBe(1);
    const loss = lossOf(lease);
    await session.close();
    expect(await loss).toMatchObject({ reason: 'stolen', cause: { code: 'ended' } });
    await expect(locks.mutex('b').acquire({ wait: 0 })).rejects.toThrow(
      /the session of these locks has ended/,
    );
    while ((await locks.mutex('a').inspect()).holders.length > 0);
    expect(await count('holdfast_wills')).toBe(0);
  });

  it('makes requests fail at once after it has ended', async () => {
    const session = await openSession(url());
    await using locks = createLocks(url(), { session });
    await session.close();
    const waiting = locks.mutex('a').acquire({ wait: Number.POSITIVE_INFINITY });
    await expect(waiting).rejects.toMatchObject({ code: 'unavailable', cause: { code: 'ended' } });
  });

  it('is not closed with the locks', async () => {
    const session = await openSession(url());
    const locks = createLocks(url(), { session });
    await locks.mutex('a').acquire();
    await locks.close();
    expect(await count('holdfast_sessions')).toBe(1);
    await session.close();
    while ((await count('holdfast_sessions')) > 0);
  });

  it('stays open while a child process has its connection', async () => {
    const session = await openSession(url());
    const child = spawn('sleep', ['1000'], {
      stdio: ['ignore', 'ignore', 'ignore', session.socket],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child, 'spawn');
    // Closes only the descriptor of this process, as its death would.
    session.socket.destroy();
    await session.ended;
    await admin.call('HOLDFAST.WILL', ['SET', session.id, 'w', 'SET', 'x', 'will']);
    expect(await admin.get('x')).toBe(null);
    child.kill('SIGKILL');
    while ((await admin.get('x')) === null);
  });

  it('ends by close() also if a child process has its connection', async () => {
    const session = await openSession(url());
    const child = spawn('sleep', ['1000'], {
      stdio: ['ignore', 'ignore', 'ignore', session.socket],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child, 'spawn');
    await session.close();
    while ((await count('holdfast_sessions')) > 0);
  });

  it('resolves `ended` also if a child process has its connection', async () => {
    const session = await openSession(url());
    const child = spawn('sleep', ['1000'], {
      stdio: ['ignore', 'ignore', 'ignore', session.socket],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child, 'spawn');
    await killSessions();
    await session.ended;
  });

  it('is not opened when the server does not reply in time or the signal aborts', async () => {
    await admin.call('CLIENT', ['PAUSE', '500', 'ALL']);
    await expect(openSession(url(), { timeoutMs: 20 })).rejects.toThrow(/no answer within 20 ms/);
    const signal = AbortSignal.abort(new Error('no'));
    await expect(openSession(url(), { signal })).rejects.toThrow(/^no$/);
    await admin.ping();
    expect(await count('holdfast_sessions')).toBe(0);
  });

  it('signs in with the user and password of the address', async () => {
    const guarded = await startHoldfast({ settings: { requirepass: 'p:w' } });
    onTestFinished(() => guarded.stop());
    const { port } = guarded;
    const session = await openSession(`redis://default:p%3Aw@127.0.0.1:${port}`);
    await session.close();
    await (await openSession(`redis://:p%3Aw@127.0.0.1:${port}/3`)).close();
    const wrong = openSession(`redis://:secret@127.0.0.1:${port}`);
    await expect(wrong).rejects.toMatchObject({ code: 'refused' });
    await expect(wrong).rejects.not.toThrow(/secret/);
  });
});

describe('locks with a session', () => {
  it.each(['ioredis', 'node-redis'] as const)(
    'open another session if the connection of the first drops all bytes (%s)',
    async (library) => {
      await using proxy = await FaultProxy.start(server.port);
      await proxy.set({ kind: 'swallow' });
      const { port } = proxy;
      const { client, close } = await SINGLE_CLIENTS[library](server);
      onTestFinished(() => void close());
      const rerouted = client as unknown as { duplicate(options: { socket?: object }): unknown };
      const duplicate = rerouted.duplicate.bind(rerouted);
      rerouted.duplicate = (options) => {
        rerouted.duplicate = duplicate;
        return duplicate({ ...options, socket: { ...options.socket, port }, port } as object);
      };
      await using locks = createLocks({ store: redisStore(client, { session: true }) });
      expect((await locks.mutex('a').acquire({ wait: '20s' })).isHeld).toBe(true);
    },
  );

  it('fail with not-holdfast on Redis', async () => {
    const redis = await startRealRedis();
    onTestFinished(() => redis.stop());
    const address = `redis://127.0.0.1:${redis.port}` as const;
    await expect(openSession(address)).rejects.toMatchObject({ code: 'not-holdfast' });
    await using locks = createLocks(address, { session: true });
    const options = { wait: '1h' } as const;
    await expect(locks.mutex('a').acquire(options)).rejects.toThrow(
      /knows no sessions.*holdfast serve/,
    );
    const { client, close } = await SINGLE_CLIENTS['node-redis'](redis);
    onTestFinished(() => void close());
    await using others = createLocks({ store: redisStore(client, { session: true }) });
    await expect(others.mutex('a').acquire(options)).rejects.toThrow(/knows no sessions/);
  });

  it('fail with unreachable without a server', async () => {
    const port = await freePort();
    await expect(openSession(`redis://127.0.0.1:${port}`)).rejects.toBeInstanceOf(SessionError);
    await expect(openSession('localhost')).rejects.toThrow(/is not an address of locks/);
    await expect(openSession(`unix:/nowhere/at/all`)).rejects.toMatchObject({
      code: 'unreachable',
      message: expect.stringMatching(/ENOENT/),
    });
  });

  it('throw for a client with several connections', async () => {
    const cluster = new Cluster([{ port: 1 }], { lazyConnect: true });
    const pool = createClientPool({});
    for (const client of [cluster, pool]) {
      expect(() => redisStore(client as never, { session: true })).toThrow(/one connection/);
    }
    expect(() => createLocks({ session: true } as never)).toThrow(/needs an address/);
  });

  it('keep a transferred lease until it is adopted, also after close()', async () => {
    const here = createLocks(url(), { session: true });
    await using there = createLocks(url(), { session: true });
    const text = (await here.mutex('a').acquire({ lease: '1h' })).transfer();
    while ((await recorded()) > 0);
    await here.close();
    const lease = await there.adopt(text);
    expect(await recorded()).toBe(1);
    await lease.release();
    expect(await recorded()).toBe(0);
  });

  it('are released at the end of the session also after SCRIPT FLUSH', async () => {
    await using locks = createLocks(url(), { session: true });
    const first = await locks.mutex('a').acquire({ lease: '1h' });
    await admin.script('FLUSH');
    await locks.mutex('b').acquire({ lease: '1h' });
    expect(await recorded()).toBe(2);
    await killSessions();
    await lossOf(first);
    while ((await admin.keys('lock:{?}')).length > 0);
  });

  it.each(['ioredis', 'node-redis'] as const)(
    'do not keep the process alive after the end of the session (%s)',
    async (library) => {
      await using locks = createLocks({ store: await storeOf(library) });
      const lease = await locks.mutex('a').acquire({ lease: '1h' });
      const before = timerCount();
      await killSessions();
      await lossOf(lease);
      // Timers of pending commands end with their replies.
      await vi.waitFor(() => expect(timerCount()).toBeLessThanOrEqual(before));
    },
  );

  it('are released in their database', async () => {
    await using locks = createLocks(`${url()}/5`, { session: true });
    await locks.mutex('a').acquire({ lease: '1h' });
    await killSessions();
    await admin.select(5);
    while ((await admin.exists('lock:{a}')) > 0);
    await admin.select(0);
  });

  it('keep their session when the connection of the commands is cut', async () => {
    const client = new Redis(server);
    onTestFinished(() => client.disconnect());
    await using locks = createLocks({ store: redisStore(client, { session: true }) });
    const lease = await locks.mutex('a').acquire({ lease: '1h' });
    const cut = once(client, 'close');
    client.disconnect(true);
    await cut;
    expect(await lease.release()).toBe('released');
    await (await locks.mutex('a').acquire()).release();
    expect(await count('holdfast_sessions')).toBe(1);
    expect(await recorded()).toBe(0);
  });
});
