import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { seededRandom } from '../src/clock/index.ts';
import {
  createLocks,
  LockLostError,
  LockUnavailableError,
  type UnfencedLease,
  type UnfencedLocks,
} from '../src/index.ts';
import type { LockRequest, LockStore } from '../src/lock/index.ts';
import { memcachedStore } from '../src/stores/index.ts';
import { type Fault, FaultProxy, PASS, type Way } from './fault-proxy.ts';
import { type RunningMemcached, startMemcached } from './real-memcached.ts';
import { withinMs } from './within.ts';

async function start(...options: readonly string[]): Promise<RunningMemcached> {
  const server = await startMemcached(...options);
  onTestFinished(() => server.stop());
  return server;
}

function open(port: number, requestTimeout = withinMs(1000)): UnfencedLocks {
  const locks = createLocks({ store: memcachedStore(`127.0.0.1:${port}`, { requestTimeout }) });
  onTestFinished(() => locks.close());
  return locks;
}

function openStore(port: number): LockStore {
  const store = memcachedStore(`127.0.0.1:${port}`);
  onTestFinished(() => store.close());
  return store;
}

async function openProxy(port: number): Promise<FaultProxy> {
  const proxy = await FaultProxy.start(port);
  onTestFinished(() => proxy[Symbol.asyncDispose]());
  return proxy;
}

function request(owner: string): LockRequest {
  const info = { host: 'h', pid: 1, label: '' };
  return { kind: 'mutex', name: 'a', slots: 1, permits: 1, owner, leaseMs: 30_000, info };
}

const lost = (lease: UnfencedLease): Promise<unknown> =>
  new Promise((resolve) =>
    lease.signal.addEventListener('abort', () => resolve(lease.signal.reason)),
  );

/** Each operation on a lock of its own, with the result that is right wherever the connection is cut. */
const OPERATIONS = {
  acquire: async (locks: UnfencedLocks, name: string) => {
    return async () => {
      const lease = await locks.mutex(name).acquire({ wait: '20s' });
      expect(lease.isHeld).toBe(true);
      expect(await lease.release()).toBe('released');
    };
  },
  extend: async (locks: UnfencedLocks, name: string) => {
    const lease = await locks.mutex(name).acquire({ lease: '4s' });
    return async () => {
      await lease.extend();
      expect(await lease.release()).toBe('released');
    };
  },
  release: async (locks: UnfencedLocks, name: string) => {
    const lease = await locks.mutex(name).acquire();
    return async () => {
      expect(await lease.release()).toBe('released');
    };
  },
} as const;

describe('a connection that is cut', () => {
  it.each(Object.entries(OPERATIONS))(
    'after any byte of the %s: the caller gets one result, and the lock is free afterwards',
    async (_, arrange) => {
      const server = await start();
      const proxy = await openProxy(server.port);
      const locks = open(proxy.port, withinMs(5000));
      let count = 100;
      for (const way of ['requests', 'replies'] as const satisfies readonly Way[]) {
        for (const afterBytes of [0, 1, 2, 5, 6, 20, 40, 43, 60, 90, 130]) {
          const name = `name-${++count}`;
          const act = await arrange(locks, name);
          for (const link of proxy.links) link.set({ kind: 'cut', way, afterBytes });
          await act();
          expect(await server.command(`mg lock:${name} v`), `${way} ${afterBytes}`).toBe('EN');
          for (const link of proxy.links) link.set(PASS);
        }
      }
    },
  );
});

describe('a restart of memcached', () => {
  it('is noticed by the holder at its next renewal, and the lock is granted again', async () => {
    const server = await start();
    const lease = await open(server.port).mutex('a').acquire({ lease: '3s' });
    const reason = lost(lease);
    await server.kill();
    await server.restart();
    expect(await reason).toMatchObject({ code: 'lost', reason: 'stolen' });
    const next = await open(server.port).mutex('a').acquire();
    expect(await lease.release()).toBe('not-held');
    expect(next.isHeld).toBe(true);
  });

  it('gives the old cas number to another item, which a release does not delete', async () => {
    const server = await start();
    const store = openStore(server.port);
    await store.acquire(request('first'));
    const cas = /c(\d+)/.exec(await server.command('mg lock:a c'))?.[1];
    await server.kill();
    await server.restart();
    await takeWithCas(server, Number(cas));
    // Requests fail for a while after the connection has ended.
    await vi.waitFor(() => store.inspect(request('first')));
    expect(await store.release(request('first'))).toBe(false);
    expect(await store.extend(request('first'))).toBe(false);
    expect(await server.command('mg lock:a c')).toBe(`HD c${cas}`);
  });

  it('between the read and the delete of a release deletes no other item', async () => {
    const server = await start();
    const proxy = await openProxy(server.port);
    const store = openStore(proxy.port);
    await openStore(server.port).acquire(request('me'));
    const cas = /c(\d+)/.exec(await server.command('mg lock:a c'))?.[1];
    await store.inspect(request('me'));
    const [link] = proxy.links;
    link!.set({ kind: 'delay', delayMs: 100, way: 'replies' });
    const released = (async () => store.release(request('me')))().catch((error: Error) => error);
    await pause(50);
    await server.kill();
    await server.restart();
    await takeWithCas(server, Number(cas));
    expect(await released).toBeInstanceOf(Error);
    expect(await server.command('mg lock:a c')).toBe(`HD c${cas}`);
  });

  /** Another program takes the lock, and its item gets this cas number. */
  async function takeWithCas(server: RunningMemcached, cas: number): Promise<void> {
    for (let next = 1; next < cas; next++) await server.command('set other 0 0 1\r\n1');
    expect(await server.command('ms lock:a 5 ME c\r\nother')).toBe(`HD c${cas}`);
  }

  it('without a holder only delays the next acquire', async () => {
    const server = await start();
    const mutex = open(server.port).mutex('a');
    await mutex.run(() => {});
    await server.kill();
    const waiting = Promise.all([1, 2, 3].map(() => mutex.run(() => 'ran', { wait: '20s' })));
    await pause(300);
    await server.restart();
    expect(await waiting).toEqual(['ran', 'ran', 'ran']);
  });

  it('that does not happen is reported to all waiters of the lock', async () => {
    const server = await start();
    const locks = open(server.port);
    await locks.mutex('a').acquire();
    const waiting = [1, 2, 3].map(() => locks.mutex('a').acquire({ wait: withinMs(600) }));
    await pause(200);
    await server.kill();
    for (const outcome of await Promise.allSettled(waiting)) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
    }
  });
});

describe('a pause of memcached', () => {
  it('fails requests after the timeout, and they succeed after it', async () => {
    const server = await start();
    const locks = open(server.port, 300);
    await locks.mutex('b').run(() => {});
    server.pause();
    const beganMs = performance.now();
    await expect(locks.mutex('a').tryAcquire()).rejects.toThrow(/no answer within 300 ms/);
    await expect(locks.mutex('a').inspect()).rejects.toThrow(LockUnavailableError);
    expect(performance.now() - beganMs).toBeLessThan(withinMs(2000));
    const waiting = locks.mutex('c').acquire({ wait: '20s' });
    await pause(500);
    server.resume();
    expect((await waiting).isHeld).toBe(true);
  });

  it('ends the lease of a holder by its own clock, before the lock can be granted again', async () => {
    const server = await start();
    const lease = await open(server.port, 300).mutex('a').acquire({ lease: '1s' });
    const reason = lost(lease);
    const waiting = open(server.port, 300).mutex('a').acquire({ wait: '20s' });
    server.pause();
    expect(await reason).toBeInstanceOf(LockLostError);
    server.resume();
    const next = await waiting;
    expect([lease.isHeld, next.isHeld]).toEqual([false, true]);
  });
});

describe('memory that is full', () => {
  /** Writes more items than fit into memory, each of the size of `lock:a`, so that they share its slab class. */
  async function fill(server: RunningMemcached): Promise<void> {
    const size = Number(/s(\d+)/.exec(await server.command('mg lock:a s'))?.[1]);
    const lines = Array.from(
      { length: 40_000 },
      (_, index) => `set f${10_000 + index} 0 0 ${size} noreply\r\n${'x'.repeat(size)}\r\n`,
    );
    await server.command(`${lines.join('')}mn`);
  }

  it('evicts a lock that is held, which the holder notices at its next renewal', async () => {
    const server = await start('-m', '2');
    const lease = await open(server.port).mutex('a').acquire({ lease: '3s' });
    const reason = lost(lease);
    await fill(server);
    expect(await server.command('mg lock:a v')).toBe('EN');
    expect(await reason).toMatchObject({ reason: 'stolen' });
  });

  it('with -M keeps the lock while others request it, and a new one fails', async () => {
    const server = await start('-m', '2', '-M');
    const locks = open(server.port);
    const lease = await locks.mutex('a').acquire();
    await fill(server);
    await expect(locks.mutex('b').tryAcquire()).rejects.toThrow(/SERVER_ERROR out of memory/);
    expect(await open(server.port).mutex('a').tryAcquire()).toBe(null);
    expect(await Promise.race([lease.extend(), pause(100, 'no memory')])).toBe('no memory');
    expect([lease.isHeld, await lease.release()]).toEqual([true, 'released']);
  });
});

describe('a server that is not memcached 1.6', () => {
  async function serve(reply: (socket: Socket) => void): Promise<number> {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', () => reply(socket));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    return (server.address() as { port: number }).port;
  }

  it.each([
    ['ERROR\r\nERROR\r\n', /refused it: memcached replied 'ERROR'. Holdfast needs .* 1.6 or later/],
    ['HTTP/1.1 400 Bad Request\r\n\r\n', /refused it: memcached replied 'HTTP/],
    ['x'.repeat(2049), /a reply line that does not end/],
    ['VA many\r\n', /a value without a size/],
  ])('(case %#) gives a LockUnavailableError', async (text, message) => {
    const port = await serve((socket) => socket.write(text));
    const mutex = open(port).mutex('a');
    await expect(mutex.acquire({ wait: 100 })).rejects.toThrow(message);
  });

  it('and never replies gives a LockUnavailableError after the timeout', async () => {
    const port = await serve(() => {});
    await expect(open(port, 100).mutex('a').tryAcquire()).rejects.toThrow(
      /no answer within 100 ms/,
    );
  });
});

describe('several clients under faults', () => {
  const FAULTS: readonly Fault[] = [
    { kind: 'cut', way: 'replies', afterBytes: 3 },
    { kind: 'cut', way: 'requests', afterBytes: 30 },
    { kind: 'reset' },
    { kind: 'refuse' },
    { kind: 'swallow', way: 'replies' },
    { kind: 'delay', delayMs: 60 },
  ];

  it('never hold the lock together, and go on after each fault', async () => {
    const server = await start();
    const proxies = await Promise.all([1, 2, 3, 4].map(() => openProxy(server.port)));
    const random = seededRandom(7);
    const holders = new Set<UnfencedLease>();
    const [entered, violations] = [[0, 0, 0, 0], [] as number[]];
    const stop = new AbortController();
    const clients = proxies.map(async ({ port }, index) => {
      const mutex = open(port, 200).mutex('a');
      while (!stop.signal.aborted) {
        const lease = await mutex.acquire({ lease: '2s', wait: '30s' }).catch(() => null);
        if (lease === null) continue;
        if ([...holders].some((other) => other.isHeld)) violations.push(index);
        holders.add(lease);
        entered[index]!++;
        await pause(5 * random.next());
        holders.delete(lease);
        await lease.release();
      }
    });
    for (let turn = 0; turn < 24; turn++) {
      const proxy = proxies[turn % proxies.length]!;
      const before = sum(entered);
      await proxy.set(FAULTS[turn % FAULTS.length]!);
      if (turn % 6 === 5) server.pause();
      await pause(100);
      server.resume();
      await proxy.set(PASS);
      while (sum(entered) === before) await pause(10);
    }
    stop.abort();
    await Promise.all(clients);
    expect(violations).toEqual([]);
    expect(Math.min(...entered)).toBeGreaterThan(0);
  });

  const sum = (counts: readonly number[]): number => counts.reduce((total, each) => total + each);
});
