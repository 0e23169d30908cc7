import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  createLocks,
  type Lease,
  LockArgumentError,
  LockLostError,
  LockTimeoutError,
  LockUnavailableError,
  type UnfencedLocks,
} from '../src/index.ts';
import type { LockRequest } from '../src/lock/index.ts';
import { type MemcachedStoreOptions, memcachedStore } from '../src/stores/index.ts';
import { type RunningMemcached, startMemcached } from './real-memcached.ts';
import { withinMs } from './within.ts';

let server: RunningMemcached;
const opened: UnfencedLocks[] = [];

beforeAll(async () => {
  server = await startMemcached();
});

afterAll(() => server.stop());

afterEach(async () => {
  await Promise.all(opened.splice(0).map((locks) => locks.close()));
  await server.command('flush_all');
});

function open(url = server.url, options?: MemcachedStoreOptions): UnfencedLocks {
  const locks = createLocks({ store: memcachedStore(url, options) });
  opened.push(locks);
  return locks;
}

function requestOf(owner: string): LockRequest {
  const info = { host: 'h', pid: 1, label: '' };
  return { kind: 'mutex', name: 'a', slots: 1, permits: 1, owner, leaseMs: 9000, info };
}

const secondsLeft = async (key: string): Promise<number> =>
  Number(/ t(-?\d+)/.exec(await server.command(`mg ${key} t`))?.[1]);

describe('a mutex in memcached', () => {
  it('is held by one client at a time', async () => {
    const [one, other] = [open().mutex('a'), open().mutex('a')];
    const lease = await one.acquire();
    expect(await other.tryAcquire()).toBe(null);
    expect(await lease.release()).toBe('released');
    const next = await other.acquire();
    expect([lease.isHeld, next.isHeld]).toEqual([false, true]);
  });

  it('has leases without a fence, and reading one throws', async () => {
    const lease = await open().mutex('a').acquire();
    // @ts-expect-error: the type has no fence.
    expect(() => lease.fence).toThrow(LockArgumentError);
    expect(() => (lease as Lease).fence).toThrow(/has no fence: its store has none/);
    expect(lease.toJSON()).toMatchObject({ name: 'a', fence: 0, isHeld: true });
    await open()
      .mutex('b')
      .run((held) => {
        expect(() => (held as Lease).fence).toThrow(LockArgumentError);
      });
  });

  it('refuses the other kinds with the reason', async () => {
    const locks = open() as ReturnType<typeof createLocks>;
    for (const lock of [locks.semaphore('s', 2), locks.readWrite('s').read]) {
      await expect(lock.acquire()).rejects.toThrow(/memcached stores mutexes only/);
      await expect(lock.tryAcquire()).rejects.toThrow(LockArgumentError);
      await expect(lock.inspect()).rejects.toThrow(LockArgumentError);
      await expect(lock.forceRelease()).rejects.toThrow(LockArgumentError);
    }
    expect(() => locks.cache('k', { fresh: '1s' }, () => 1)).toThrow(/keeps locks only/);
  });

  it('gets an expiry of two seconds more than the lease, and refuses one that is a date', async () => {
    const locks = open();
    await locks.mutex('a').acquire({ lease: '10s' });
    expect(await secondsLeft('lock:a')).toBeGreaterThanOrEqual(11);
    expect(await secondsLeft('lock:a')).toBeLessThanOrEqual(12);
    await locks.mutex('b').acquire({ lease: 29 * 86_400_000 });
    expect(await secondsLeft('lock:b')).toBeGreaterThan(28 * 86_400);
    await expect(locks.mutex('c').acquire({ lease: 31 * 86_400_000 })).rejects.toThrow(
      /at most 30 days/,
    );
  });

  it('is not shortened by extend(), and is by keepFor', async () => {
    const lease = await open().mutex('a').acquire({ lease: '60s', keepFor: '5s' });
    await lease.extend('10s');
    expect(await secondsLeft('lock:a')).toBeGreaterThan(55);
    expect(await lease.release()).toBe('kept');
    expect(await secondsLeft('lock:a')).toBeLessThanOrEqual(7);
    expect(await open().mutex('a').tryAcquire()).toBe(null);
  });

  it('survives two renewals at the same time', async () => {
    const lease = await open().mutex('a').acquire();
    await Promise.all(Array.from({ length: 4 }, () => lease.extend()));
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe('released');
    expect(await server.command('mg lock:a v')).toBe('EN');
  });

  it('is neither deleted by a release of its former holder nor shortened by a renewal', async () => {
    const [one, other] = [memcachedStore(server.url), memcachedStore(server.url)];
    await one.acquire(requestOf('former'));
    await other.forceRelease(requestOf('former'));
    const holder = requestOf('holder');
    await other.acquire({ ...holder, leaseMs: 60_000 });
    expect(await one.release(requestOf('former'))).toBe(false);
    expect(await other.extend(holder)).toBe(true);
    expect(await secondsLeft('lock:a')).toBeGreaterThan(50);
    await Promise.all([one.close(), other.close()]);
  });

  it('is released after a renewal that its store did not see', async () => {
    const [one, other] = [memcachedStore(server.url), memcachedStore(server.url)];
    const request = requestOf('me');
    await one.acquire(request);
    expect(await other.extend(request)).toBe(true);
    expect(await one.release(request)).toBe(true);
    expect(await one.release(request)).toBe(false);
    await Promise.all([one.close(), other.close(), one.close()]);
    await expect(one.acquire(request)).rejects.toThrow('the store was closed');
  });

  it('shares its key with programs that use add and delete', async () => {
    const mutex = open().mutex('a');
    await server.command('add lock:a 0 60 5\r\ntoken');
    expect(await mutex.tryAcquire()).toBe(null);
    const { holders } = await mutex.inspect();
    expect(holders).toEqual([
      {
        foreign: true,
        type: 'string',
        value: 'token',
        permits: 1,
        leftMs: expect.closeTo(60_000, -4),
      },
    ]);
    await expect(mutex.acquire({ wait: 50 })).rejects.toThrow(/held by another program/);
    expect(await server.command('delete lock:a')).toBe('DELETED');
    await mutex.acquire();
    expect(await server.command('add lock:a 0 60 5\r\ntoken')).toBe('NOT_STORED');
  });

  it('shows the start of a large value of another program', async () => {
    const mutex = open().mutex('a');
    await server.command(`add lock:a 0 60 500000\r\n${'x'.repeat(500_000)}`);
    const [holder] = (await mutex.inspect()).holders;
    expect(holder?.foreign && holder.value).toBe('x'.repeat(1024));
    expect(await mutex.forceRelease()).toBe(1);
    expect(await mutex.forceRelease()).toBe(0);
  });

  it('names its holder in a timeout error', async () => {
    await open().mutex('a').acquire({ label: 'nightly 锁' });
    const error = await open()
      .mutex('a')
      .acquire({ wait: 100 })
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error.holders).toMatchObject([{ pid: process.pid, label: 'nightly 锁', fence: 0 }]);
  });

  it('is different for different names and prefixes', async () => {
    const names = ['a', 'A', 'a ', '\0', 'x\r\ny', 'ключ', '锁', '__proto__', 'x'.repeat(1024)];
    const [one, other] = [open(), open(server.url, { prefix: 'app:' })];
    for (const name of names) expect(await one.mutex(name).tryAcquire(), name).not.toBe(null);
    for (const name of names) expect(await one.mutex(name).tryAcquire(), name).toBe(null);
    for (const name of names) expect(await other.mutex(name).tryAcquire(), name).not.toBe(null);
  });

  it('is stolen from its holder, which notices at the next renewal', async () => {
    const lease = await open().mutex('a').acquire({ lease: '3s' });
    const lost = new Promise((resolve) => lease.signal.addEventListener('abort', resolve));
    const thief = await open().mutex('a').acquire({ steal: true, reason: 'test' });
    await lost;
    expect(lease.signal.reason).toBeInstanceOf(LockLostError);
    expect([thief.isHeld, await lease.release(), await thief.release()]).toEqual([
      true,
      'not-held',
      'released',
    ]);
    const free = await open().mutex('a').acquire({ steal: true, reason: 'test' });
    expect(free.isHeld).toBe(true);
  });

  it('is adopted once', async () => {
    const text = (await open().mutex('a').acquire()).transfer();
    const lease = await open().adopt(text);
    expect(lease.isHeld).toBe(true);
    await expect(open().adopt(text)).rejects.toThrow(/is not held/);
    expect(await lease.release()).toBe('released');
    const all = (await open().all(['a', 'b']).acquire()).transfer();
    expect(await (await open().adopt(all)).release()).toBe('released');
  });

  it('is taken with others by all(), in order', async () => {
    const [one, other] = [open(), open()];
    const held = await one.mutex('b').acquire();
    expect(await other.all(['a', 'b']).tryAcquire()).toBe(null);
    expect(
      await one
        .mutex('a')
        .tryAcquire()
        .then((lease) => lease?.release()),
    ).toBe('released');
    const waiting = other.all(['a', 'b', 'c']).acquire();
    await held.release();
    const lease = await waiting;
    expect(await one.mutex('c').tryAcquire()).toBe(null);
    expect(await lease.release()).toBe('released');
  });

  it('elects a leader', async () => {
    const locks = open();
    let isLeading = (): void => {};
    const led = new Promise<void>((resolve) => {
      isLeading = resolve;
    });
    const election = locks.elect('job', async ({ signal }) => {
      isLeading();
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    await led;
    expect(await election.leader()).toMatchObject({ pid: process.pid, fence: 0 });
    await election.stop();
    expect(await election.leader()).toBe(null);
  });
});

describe('waiters in memcached', () => {
  it('that held the lock before are notified when it is free again', async () => {
    const [one, other] = [memcachedStore(server.url), memcachedStore(server.url)];
    const [former, holder] = [requestOf('former'), requestOf('holder')];
    await one.acquire(former);
    await other.forceRelease(former);
    await other.acquire(holder);
    const notified = new Promise<void>((resolve) => {
      const notify = async (): Promise<void> => {
        if ((await one.acquire(former, { notify })).type === 'granted') resolve();
      };
      void notify();
    });
    await other.release(holder);
    await notified;
    await Promise.all([one.close(), other.close()]);
  });

  it('of one process are served in order', async () => {
    const mutex = open().mutex('a');
    const served: number[] = [];
    await Promise.all(
      Array.from({ length: 50 }, (_, index) => mutex.run(() => void served.push(index))),
    );
    expect(served).toEqual(Array.from({ length: 50 }, (_, index) => index));
  });

  it('of two processes both make progress', async () => {
    const counts = [0, 0];
    const signal = AbortSignal.timeout(1500);
    const contenders = counts.map(async (_, index) => {
      const mutex = open().mutex('a');
      const loops = Array.from({ length: 4 }, async () => {
        while (!signal.aborted) await mutex.run(() => void counts[index]!++);
      });
      await Promise.all(loops);
    });
    await Promise.all(contenders);
    expect(Math.min(...counts)).toBeGreaterThan(5);
  });

  it('of one process send one poll for all, however many there are', async () => {
    const held = await open().mutex('a').acquire();
    const mutex = open().mutex('a');
    const waiting = Array.from({ length: 1000 }, () => mutex.acquire({ wait: '20s' }));
    await pause(100);
    const before = await metaCommands();
    await pause(1000);
    // A poll is an add and a read: 14 to 40 polls in a second.
    expect((await metaCommands()) - before).toBeLessThanOrEqual(90);
    await held.release();
    for (const lease of waiting) await (await lease).release();
  });

  it('leave the queue without a request when they time out', async () => {
    await open().mutex('a').acquire();
    const mutex = open().mutex('a');
    const before = await metaCommands();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 500 }, () => mutex.acquire({ wait: 200 })),
    );
    expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
    // Each error names the holder, by one read.
    expect((await metaCommands()) - before).toBeLessThan(600);
  });

  async function metaCommands(): Promise<number> {
    const stats = await server.command('stats');
    const count = (name: string): number =>
      Number(new RegExp(`STAT ${name} (\\d+)`).exec(stats)?.[1]);
    return count('cmd_get') + count('cmd_set');
  }
});

describe('memcachedStore', () => {
  it.each([
    ['memcached://host:99999', /memcached:\/\/host:port/],
    ['redis://host', /memcached:\/\/host:port/],
    ['memcached://host/path', /memcached:\/\/host:port/],
    ['', /memcached:\/\/host:port/],
    ['memcached://user:secret@host', /without user and password/],
    ['a:1,b:2', /of one server/],
    [undefined, /must be a string; got undefined/],
  ])('refuses the address %j', (address, message) => {
    const make = () => memcachedStore(address as string);
    expect(make).toThrow(LockArgumentError);
    expect(make).toThrow(message);
    expect(make).not.toThrow(/secret/);
  });

  it.each([
    [{ prefix: 'a b' }, /prefix must be/],
    [{ requestTimeout: 0 }, /requestTimeout/],
    [{ timeout: 5 }, /does not know 'timeout'/],
  ])('refuses the options %j', (options, message) => {
    expect(() => memcachedStore('localhost', options as object)).toThrow(message);
  });

  it.each(['127.0.0.1', '[::1]:11211', 'memcached://localhost/'])(
    'accepts the address %s',
    (address) => {
      expect(memcachedStore(address).hasFences).toBe(false);
    },
  );

  it('emits one warning', async () => {
    const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    vi.resetModules();
    const { memcachedStore: fresh } = await import('../src/stores/index.ts');
    fresh('localhost');
    fresh('localhost');
    expect(emitWarning).toHaveBeenCalledExactlyOnceWith(
      expect.stringContaining('memcached may lose a lock that is held'),
      { type: 'HoldfastWarning', code: 'HOLDFAST_MEMCACHED' },
    );
    emitWarning.mockRestore();
  });

  it('reports a port where no server listens, within the wait timeout', async () => {
    const beganMs = performance.now();
    const error = await open('127.0.0.1:1')
      .mutex('a')
      .acquire({ wait: 300 })
      .catch((thrown) => thrown);
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(error.message).toContain('no connection to memcached://127.0.0.1:1: ECONNREFUSED');
    expect(performance.now() - beganMs).toBeLessThan(withinMs(2000));
  });
});
