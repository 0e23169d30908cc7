import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type LockLostError, Locks, LockUnavailableError } from '../src/lock/index.ts';
import { postgresStore } from '../src/stores/index.ts';
import { schemaSql } from '../src/stores/postgres/schema.ts';
import { FaultProxy, PASS } from './fault-proxy.ts';
import { BUILD } from './lock-holder-process.ts';
import { type RealPostgres, startRealPostgres } from './real-postgres.ts';
import { withinMs } from './within.ts';

/** A server, a proxy in front of it, and programs behind the proxy. Each test leaves the server running. */
let server: RealPostgres;
let proxy: FaultProxy;
/** A pool that is not affected by the faults of the proxy. */
let direct: pg.Pool;
let closers: (() => Promise<unknown>)[];

beforeAll(async () => {
  server = await startRealPostgres();
  direct = newPool(server.url);
  await direct.query(schemaSql('holdfast'));
});
afterAll(async () => {
  await direct.end();
  await server.stop();
});
beforeEach(async () => {
  proxy = await FaultProxy.start(server.port);
  closers = [];
  await direct.query(EMPTY);
});
afterEach(async () => {
  for (const close of closers) await close();
  await proxy[Symbol.asyncDispose]();
});

const EMPTY = 'truncate holdfast.lock, holdfast.hold, holdfast.wait, holdfast.client';

function newPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, connectionTimeoutMillis: 1000 });
  pool.on('error', () => {});
  return pool;
}

const proxyUrl = (): string => server.url.replace(`${server.port}`, `${proxy.port}`);

/** A program behind the proxy. */
function program(): Locks {
  const pool = newPool(proxyUrl());
  const store = postgresStore(pool, { listen: proxyUrl(), requestTimeout: 500 });
  const locks = new Locks({ store });
  closers.push(async () => {
    await locks.close();
    await pool.end();
  });
  return locks;
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await elapse(10);
}

const elapse = (durationMs: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, durationMs));

async function waiterCount(name: string): Promise<number> {
  const { rows } = await direct.query('select from holdfast.wait where name = $1', [name]);
  return rows.length;
}

const lossOf = async (lease: { readonly signal: AbortSignal }): Promise<LockLostError> => {
  if (!lease.signal.aborted) await once(lease.signal, 'abort');
  return lease.signal.reason;
};

describe('a server that crashes', () => {
  it('and restarts keeps leases and queues, and serves the waiters in order', async () => {
    const [locks, others] = [program(), program()];
    const lease = await locks.mutex('a').acquire({ lease: '10s' });
    const fences: number[] = [];
    const tasks = [1, 2, 3].map((_, at) =>
      others
        .mutex('a')
        .run(({ fence }) => void fences.push(fence), { wait: '25s', label: `${at}` }),
    );
    await until(async () => (await waiterCount('a')) === 3);
    await server.crash();
    // A request while the server is down waits until it is up.
    const pending = locks.mutex('b').acquire({ wait: '20s' });
    await elapse(300);
    await server.start();
    expect((await pending).isHeld).toBe(true);
    await lease.extend();
    expect(await lease.release()).toBe('released');
    await Promise.all(tasks);
    expect(fences).toEqual([...fences].sort((one, other) => one - other));
    expect(fences[0]).toBeGreaterThan(lease.fence);
  });

  it('and stays down makes the holder lose its lease in time, and fails waiters as unavailable', async () => {
    const [locks, others] = [program(), program()];
    const lease = await locks.mutex('a').acquire({ lease: '1s' });
    const waiting = others.mutex('a').acquire({ wait: '2s' });
    await until(async () => (await waiterCount('a')) === 1);
    const beganMs = performance.now();
    await server.crash();
    expect(await lossOf(lease)).toMatchObject({ reason: 'unreachable' });
    expect(performance.now() - beganMs).toBeLessThan(withinMs(1100));
    await expect(waiting).rejects.toThrow(LockUnavailableError);
    await server.start();
  });

  it('and restarts without its data aborts the signal of the holder, and serves the waiters', async () => {
    const [locks, others] = [program(), program()];
    const lease = await locks.mutex('a').acquire({ lease: '3s' });
    const waiting = others.mutex('a').acquire({ wait: '20s' });
    await until(async () => (await waiterCount('a')) === 1);
    await direct.query(EMPTY);
    const next = await waiting;
    expect(next.fence).toBeGreaterThan(lease.fence);
    expect(await lossOf(lease)).toMatchObject({ reason: 'stolen' });
    expect(await lease.release()).toBe('not-held');
    expect(next.isHeld).toBe(true);
  });
});

describe('a server that is paused', () => {
  it('makes the holder lose its lease before another client holds the lock', async () => {
    const [locks, others] = [program(), program()];
    const lease = await locks.mutex('a').acquire({ lease: '1s' });
    const loss = lossOf(lease);
    const waiting = others.mutex('a').acquire({ wait: '20s' });
    await until(async () => (await waiterCount('a')) === 1);
    server.pause();
    expect(await loss).toMatchObject({ reason: 'unreachable' });
    // Requests fail, they do not hang.
    const beganMs = performance.now();
    await expect(locks.mutex('b').tryAcquire()).rejects.toThrow(LockUnavailableError);
    expect(performance.now() - beganMs).toBeLessThan(withinMs(1500));
    server.resume();
    const next = await waiting;
    expect(next.fence).toBeGreaterThan(lease.fence);
    expect(await lease.release()).toBe('not-held');
  });
});

describe('connections', () => {
  it('that are cut at any time lose no hand-over', async () => {
    const programs = [program(), program()];
    const fences: number[] = [];
    let inside = 0;
    let isOver = false;
    const tasks = programs.flatMap((locks) =>
      [1, 2].map(async () => {
        while (!isOver) {
          const lease = await locks.mutex('a').acquire({ wait: '20s', lease: '5s' });
          expect(++inside).toBe(1);
          fences.push(lease.fence);
          await elapse(5);
          inside--;
          expect(lease.isHeld).toBe(true);
          // `not-held` if its first reply was lost, and the next waiter had the lock when it was sent again.
          await lease.release();
        }
      }),
    );
    for (let round = 0; round < 25; round++) {
      await elapse(40);
      await proxy.set({
        kind: 'cut',
        way: round % 2 ? 'requests' : 'replies',
        afterBytes: round * 7,
      });
      await elapse(10);
      await proxy.set(PASS);
    }
    const before = fences.length;
    await until(() => fences.length > before + 20);
    isOver = true;
    await Promise.all(tasks);
    expect(fences).toEqual([...fences].sort((one, other) => one - other));
    expect(new Set(fences).size).toBe(fences.length);
  });

  it('that swallow all bytes make requests fail in time, and work again after that', async () => {
    const locks = program();
    const lease = await locks.mutex('a').acquire({ lease: '1s' });
    await proxy.set({ kind: 'swallow' });
    const beganMs = performance.now();
    await expect(locks.mutex('b').tryAcquire()).rejects.toThrow(LockUnavailableError);
    expect(performance.now() - beganMs).toBeLessThan(withinMs(1500));
    expect(await lossOf(lease)).toMatchObject({ reason: 'unreachable' });
    await proxy.set(PASS);
    expect((await locks.mutex('b').acquire({ wait: '20s' })).isHeld).toBe(true);
  });

  it('of listen that are lost delay a hand-over, and do not lose it', async () => {
    const [locks, others] = [program(), program()];
    const first = await locks.mutex('a').acquire();
    const waiting = others.mutex('a').acquire({ wait: '20s' });
    const link = await proxy.linkLater('listen "');
    // Messages do not arrive any more, and the connection does not end.
    link.set({ kind: 'swallow' });
    await until(async () => (await waiterCount('a')) === 1);
    const beganMs = performance.now();
    await first.release();
    expect((await waiting).isHeld).toBe(true);
    expect(performance.now() - beganMs).toBeLessThan(withinMs(3000));
  });
});

describe('a server of listen that accepts connections and never replies', () => {
  async function startSilentServer(): Promise<{
    readonly url: string;
    readonly clients: Set<Socket>;
  }> {
    const clients = new Set<Socket>();
    const listener = createServer({ allowHalfOpen: true }, (client) => {
      clients.add(client);
      client.on('error', () => {}).on('close', () => clients.delete(client));
      // A socket that the client has destroyed resets the connection: the second write fails.
      client.resume().on('end', async () => {
        client.write('\0');
        await elapse(10);
        client.write('\0');
      });
    });
    await once(listener.listen(0, '127.0.0.1'), 'listening');
    closers.push(async () => {
      listener.close();
      for (const client of clients) client.destroy();
    });
    const { port } = listener.address() as AddressInfo;
    return { url: server.url.replace(`${server.port}`, `${port}`), clients };
  }

  it('has one connection at a time, and none after close()', async () => {
    const silent = await startSilentServer();
    const pool = newPool(server.url);
    const store = postgresStore(pool, { listen: silent.url, requestTimeout: 200 });
    const locks = new Locks({ store });
    const first = await locks.mutex('a').acquire();
    const waiting = locks.mutex('a').acquire({ wait: '20s' });
    let maxCount = 0;
    const seen = new Set<Socket>();
    await until(() => {
      maxCount = Math.max(maxCount, silent.clients.size);
      for (const client of silent.clients) seen.add(client);
      return seen.size >= 3;
    });
    await first.release();
    await (await waiting).release();
    await locks.close();
    await pool.end();
    expect(maxCount).toBe(1);
    await until(() => silent.clients.size === 0);
  });
});

describe('processes that are killed, with a server that is killed and paused', () => {
  it('add to a counter, each fence once and in order, and go on after each fault', async () => {
    await direct.query('create table counter (value int, fence bigint)');
    await direct.query('insert into counter values (0, 0)');
    // In the order of the commits.
    await direct.query('create table additions (fence bigint, id bigserial)');
    const added: number[] = [];
    const start = async (): Promise<ChildProcess> => {
      const child = fork(join(import.meta.dirname, 'postgres-process.child.js'), {
        env: {
          ...process.env,
          HOLDFAST_BUILD: BUILD,
          HOLDFAST_STORES: BUILD.replace(/index\.js$/, 'public/stores.js'),
          POSTGRES_URL: proxyUrl(),
          LISTEN_URL: proxyUrl(),
        },
        execArgv: [],
      });
      child.on('message', (message: { type: string; fence?: number }) => {
        if (message.type === 'added') added.push(message.fence!);
      });
      await once(child, 'message');
      return child;
    };
    const goesOn = async (): Promise<void> => {
      const before = added.length;
      await until(() => added.length > before + 10);
    };
    const children = await Promise.all([start(), start(), start()]);
    const kill = async (child: ChildProcess): Promise<void> => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    };
    try {
      await goesOn();
      await server.crash();
      await server.start();
      await goesOn();
      server.pause();
      await elapse(1000);
      server.resume();
      await goesOn();
      await proxy.set({ kind: 'reset' });
      await elapse(300);
      await proxy.set(PASS);
      await goesOn();
      // The holder dies with the lock, and the others wait for its lease.
      children[0]!.send('slow');
      await elapse(200);
      await kill(children[0]!);
      await goesOn();
    } finally {
      for (const child of children) if (child.signalCode === null) await kill(child);
    }
    const { rows } = await direct.query('select fence::float8 as fence from additions order by id');
    const fences: number[] = rows.map(({ fence }) => fence);
    const { rows: counters } = await direct.query('select value from counter');
    expect(counters[0].value).toBe(fences.length);
    expect(fences).toEqual([...fences].sort((one, other) => one - other));
    // Each addition that a process has reported is there.
    expect(added.filter((fence) => !fences.includes(fence))).toEqual([]);
  });
});
