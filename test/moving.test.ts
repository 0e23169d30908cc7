import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createLocks, type Lock, LockLostError, type Locks } from '../src/index.ts';
import { runCli } from './cli-run.ts';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';

/**
 * The claims of docs/moving.md: old clients send the commands of their recipe, Holdfast runs at the same
 * time, on our server and on Redis.
 */

/** The package keeps its types where the compiler cannot find them. */
const { default: Redlock } = (await import('redlock' as string)) as {
  default: new (
    clients: Redis[],
    settings: object,
  ) => {
    acquire(resources: string[], durationMs: number): Promise<{ release(): Promise<unknown> }>;
  };
};

const KEY = 'lock:{foo}';
const OLD_KEY = 'lock.foo';
const DELETE_IF_EQUAL =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0";

describe.each([
  { server: 'real Redis', start: () => startRealRedis() },
  { server: 'holdfast serve', start: () => startHoldfast() },
])('old clients and Holdfast on $server', ({ start }) => {
  let server: RunningServer;
  let old: Redis;
  let locks: Locks;
  let mutex: Lock;

  beforeAll(async () => {
    server = await start();
    old = new Redis(server.port, server.host);
    locks = createLocks(`redis://${server.host}:${server.port}`);
    mutex = locks.mutex('foo');
  });
  beforeEach(() => old.flushall());
  afterAll(async () => {
    await locks.close();
    old.disconnect();
    await server.stop();
  });

  const busy = async (): Promise<boolean> => (await mutex.tryAcquire()) === null;

  describe('with the same key', () => {
    it.each([
      { recipe: 'SETNX, EXPIRE', take: () => old.setnx(KEY, '1'), taken: 1, refused: 0 },
      {
        recipe: 'SET NX EX',
        take: () => old.set(KEY, '1', 'EX', 30, 'NX'),
        taken: 'OK',
        refused: null,
      },
      {
        recipe: 'SET NX PX with a token',
        take: () => old.set(KEY, 'token', 'PX', 30_000, 'NX'),
        taken: 'OK',
        refused: null,
      },
    ])('$recipe and Holdfast exclude each other', async ({ take, taken, refused }) => {
      expect(await take()).toBe(taken);
      expect(await busy()).toBe(true);
      expect((await mutex.inspect()).holders).toMatchObject([{ foreign: true }]);
      await old.del(KEY);
      await using lease = await mutex.acquire({ wait: 0 });
      expect(await take()).toBe(refused);
      lease.assertHeld();
    });

    it('a waiter of Holdfast gets a lock that an old client deletes', async () => {
      await old.setnx(KEY, '1');
      const waiting = mutex.acquire({ wait: '30s' });
      while ((await mutex.inspect()).waiters.length === 0);
      await old.del(KEY);
      await (await waiting).release();
    });

    it('an old client overtakes the queue of Holdfast', async () => {
      await old.setnx(KEY, '1');
      const waiting = mutex.acquire({ wait: '30s' });
      while ((await mutex.inspect()).waiters.length === 0);
      expect(await old.multi().del(KEY).setnx(KEY, '2').exec()).toEqual([
        [null, 1],
        [null, 1],
      ]);
      expect((await mutex.inspect()).holders).toMatchObject([{ foreign: true, value: '2' }]);
      await old.del(KEY);
      await (await waiting).release();
    });

    it('an unconditional DEL takes the lock from Holdfast, which learns of it', async () => {
      const lease = await mutex.acquire({ wait: 0 });
      expect(await old.del(KEY)).toBe(1);
      expect(await old.setnx(KEY, '1')).toBe(1);
      expect(lease.isHeld).toBe(true);
      await expect(lease.extend()).rejects.toThrow(LockLostError);
      expect(lease.signal.aborted).toBe(true);
      expect(await old.get(KEY)).toBe('1');
    });

    it('GET, then DEL: the DEL may come after Holdfast took the lock', async () => {
      await old.set(KEY, 'token', 'PX', 30_000, 'NX');
      expect(await old.get(KEY)).toBe('token');
      await old.pexpire(KEY, 0);
      const lease = await mutex.acquire({ wait: 0 });
      expect(await old.del(KEY)).toBe(1);
      await expect(lease.extend()).rejects.toThrow(LockLostError);
    });

    it('compare-and-delete never takes the lock of the other side', async () => {
      const lease = await mutex.acquire({ wait: 0 });
      expect(await old.eval(DELETE_IF_EQUAL, 1, KEY, 'token')).toBe(0);
      await old.del(KEY);
      await old.set(KEY, 'token', 'PX', 30_000, 'NX');
      expect(await lease.release()).not.toBe('released');
      expect(await old.get(KEY)).toBe('token');
    });

    it('EXPIRE of a client that did not get the lock changes the end of the lease', async () => {
      await using lease = await mutex.acquire({ lease: '60s' });
      const [[, taken]] = (await old.multi().setnx(KEY, '1').expire(KEY, 10).exec()) as [[null, 0]];
      expect(taken).toBe(0);
      expect(await old.pttl(KEY)).toBeLessThanOrEqual(10_000);
      await lease.extend();
      expect(await old.pttl(KEY)).toBeGreaterThan(10_000);
    });

    it('EXPIRE with a short time ends the key while Holdfast still holds the lease', async () => {
      const lease = await mutex.acquire({ lease: '60s' });
      await old.multi().setnx(KEY, '1').pexpire(KEY, 1).exec();
      while ((await old.setnx(KEY, '2')) === 0);
      expect(lease.isHeld).toBe(true);
      await expect(lease.extend()).rejects.toThrow(LockLostError);
    });

    it('SETNX of a client that dies before EXPIRE stays, until it is released by force', async () => {
      await old.setnx(KEY, '1');
      expect(await busy()).toBe(true);
      expect((await mutex.inspect()).holders).toMatchObject([
        { foreign: true, value: '1', leftMs: Number.POSITIVE_INFINITY },
      ]);
      expect(await mutex.forceRelease()).toBe(1);
      expect(await busy()).toBe(false);
      await mutex.forceRelease();
    });

    it('an old client raises no fence, and the fence of Holdfast rises past it', async () => {
      const first = await mutex.acquire({ wait: 0 });
      await first.release();
      await old.setnx(KEY, '1');
      await old.del(KEY);
      await using second = await mutex.acquire({ wait: 0 });
      expect(second.fence).toBeGreaterThan(first.fence);
    });

    it('a timestamp client takes the lock from Holdfast, and its lock never ends', async () => {
      const lease = await mutex.acquire({ wait: 0 });
      const seen = (await old.get(KEY))!;
      // What PHP, C and JavaScript read of a token that is no number: some leading digits, or 0.
      const isExpired = (Number.parseInt(seen, 10) || 0) < Date.now() / 1000;
      expect(isExpired || /^\d{10}/.test(seen)).toBe(true);
      const past = Math.floor(Date.now() / 1000) - 5;
      expect(await old.getset(KEY, `${past}`)).toBe(seen);
      expect(await old.pttl(KEY)).toBe(-1);
      await expect(lease.extend()).rejects.toThrow(LockLostError);
      expect(await busy()).toBe(true);
    });

    it('a lock of Redisson and a mutex of Holdfast are refused with WRONGTYPE', async () => {
      await old.hset(KEY, `${randomUUID()}:1`, '1');
      await expect(mutex.tryAcquire()).rejects.toThrow('WRONGTYPE');
      await old.del(KEY);
      await using _lease = await mutex.acquire({ wait: 0 });
      await expect(old.hexists(KEY, `${randomUUID()}:1`)).rejects.toThrow('WRONGTYPE');
    });

    it('redlock on one server and Holdfast exclude each other', async () => {
      const redlock = new Redlock([old], { retryCount: 0 });
      const lock = await redlock.acquire([KEY], 30_000);
      expect(await busy()).toBe(true);
      await lock.release();
      await using lease = await mutex.acquire({ wait: 0 });
      await expect(redlock.acquire([KEY], 30_000)).rejects.toThrow();
      lease.assertHeld();
    });

    it('Holdfast sends no SETNX and no GETSET, so that their counters tell of old clients', async () => {
      await old.config('RESETSTAT');
      await mutex.run(async () => {});
      const stats = await old.info('commandstats');
      expect(stats).toContain('cmdstat_set:');
      expect(stats).not.toMatch(/cmdstat_(setnx|getset):/);
      await old.setnx(KEY, '1');
      expect(await old.info('commandstats')).toMatch(/cmdstat_setnx:calls=1,/);
    });
  });

  describe('with the old key taken inside of the mutex', () => {
    /** As in the page: the mutex first, then the old key; the other way round at the end. */
    async function withBoth(value: string, work: () => Promise<void>): Promise<void> {
      await mutex.run(
        async (lease) => {
          while ((await old.set(OLD_KEY, value, 'PX', 60_000, 'NX')) !== 'OK') lease.assertHeld();
          try {
            await work();
          } finally {
            await old.eval(DELETE_IF_EQUAL, 1, OLD_KEY, value);
          }
        },
        { maxHold: '50s' },
      );
    }

    it('excludes old clients, new ones, and those that take the mutex alone', async () => {
      let inside = 0;
      let most = 0;
      const work = async (): Promise<void> => {
        most = Math.max(most, ++inside);
        await old.ping();
        inside--;
      };
      const oldClient = async (): Promise<void> => {
        const token = randomUUID();
        while ((await old.set(OLD_KEY, token, 'PX', 30_000, 'NX')) !== 'OK');
        await work();
        await old.eval(DELETE_IF_EQUAL, 1, OLD_KEY, token);
      };
      const clients = Array.from({ length: 10 }, () => [
        oldClient(),
        withBoth(`new-${randomUUID()}`, work),
      ]);
      await Promise.all(clients.flat());
      const later = Array.from({ length: 10 }, () => [
        mutex.run(work),
        withBoth(`new-${randomUUID()}`, work),
      ]);
      await Promise.all(later.flat());
      expect(most).toBe(1);
    });

    it('shows in ls --foreign which side holds the old key', async () => {
      const environment = { HOLDFAST_STORE: `redis://${server.host}:${server.port}` };
      const list = async (): Promise<string> =>
        (await runCli(['ls', '--foreign', 'lock.*'], { environment })).output;
      await withBoth('new-1', async () => {
        expect(await list()).toMatch(/^lock\.foo +token +new-1 +(?:5\ds|1m00s)/m);
      });
      await old.set(OLD_KEY, 'old-1', 'PX', 30_000, 'NX');
      expect(await list()).toMatch(/^lock\.foo +token +old-1 /m);
    });

    it('a timestamp client honours a time in the future, and takes over one that has passed', async () => {
      const nowS = Math.floor(Date.now() / 1000);
      await withBoth(`${nowS + 60}`, async () => {
        expect(await old.setnx(OLD_KEY, `${nowS + 30}`)).toBe(0);
        expect(Number(await old.get(OLD_KEY))).toBeGreaterThan(Date.now() / 1000);
      });
      expect(await old.setnx(OLD_KEY, `${nowS - 1}`)).toBe(1);
      // The holder has died. Old clients take it over by GETSET; SET NX alone never gets it.
      expect(await old.set(OLD_KEY, `${nowS + 60}`, 'PX', 60_000, 'NX')).toBe(null);
      expect(await old.getset(OLD_KEY, `${nowS + 30}`)).toBe(`${nowS - 1}`);
    });
  });
});

it('an old client without rights to its keys fails, and ACL LOG names it', async () => {
  const server = await startRealRedis();
  onTestFinished(() => server.stop());
  const admin = new Redis(server.port, server.host);
  await admin.call('ACL', 'SETUSER', 'legacy', 'on', '>pw', '~lock.*', '+@all');
  const old = new Redis({ port: server.port, username: 'legacy', password: 'pw' });
  expect(await old.setnx(OLD_KEY, '1')).toBe(1);
  await admin.call('ACL', 'SETUSER', 'legacy', 'resetkeys');
  await expect(old.setnx(OLD_KEY, '1')).rejects.toThrow('NOPERM');
  expect(JSON.stringify(await admin.call('ACL', 'LOG'))).toContain('"username","legacy"');
  old.disconnect();
  admin.disconnect();
});
