import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createLocks, type Lock, LockLostError, type Locks } from '../src/index.ts';
import { runCli } from './cli-process.ts';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';
import { outputOfRecipe, RECIPE_FOLDER } from './recipe-program.ts';
import { withinMs } from './within.ts';

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
const SETNX_EXPIRE_IN_LUA = readFileSync(join(RECIPE_FOLDER, 'lua-setnx-expire.lua'), 'utf8');
const TIMESTAMP_PROGRAMS = ['timestamp-getset', 'timestamp-del-setnx'];

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

  /** The clock that ends TTLs. */
  const serverMs = async (): Promise<number> => {
    const [seconds, microseconds] = await old.time();
    return Number(seconds) * 1000 + Number(microseconds) / 1000;
  };
  const busy = async (): Promise<boolean> => {
    const lease = await mutex.tryAcquire();
    await lease?.release();
    return lease === null;
  };

  describe('with the same key', () => {
    it.each([
      { recipe: 'SETNX alone', take: () => old.setnx(KEY, '1'), taken: 1, refused: 0 },
      {
        recipe: 'SETNX and EXPIRE in Lua',
        take: () => old.eval(SETNX_EXPIRE_IN_LUA, 1, KEY, '1', 30),
        taken: 1,
        refused: 0,
      },
      {
        recipe: 'SETNX and EXPIRE in MULTI',
        take: async () => (await old.multi().setnx(KEY, '1').expire(KEY, 30).exec())![0]![1],
        taken: 1,
        refused: 0,
      },
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

    it('a waiter of Holdfast gets a lock that an old client deletes within a second or so', async () => {
      await old.setnx(KEY, '1');
      const waiting = mutex.acquire({ wait: '30s' });
      while ((await mutex.inspect()).waiters.length === 0);
      await old.del(KEY);
      const deletedMs = performance.now();
      const lease = await waiting;
      expect(performance.now() - deletedMs).toBeLessThan(withinMs(2500));
      await lease.release();
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

    it('an unconditional DEL takes the lock from Holdfast, which learns of it at its renewal', async () => {
      const lease = await mutex.acquire({ wait: 0, lease: '4500ms' });
      const grantedMs = performance.now();
      expect(await old.del(KEY)).toBe(1);
      expect(await old.setnx(KEY, '1')).toBe(1);
      expect(lease.isHeld).toBe(true);
      await once(lease.signal, 'abort');
      // The renewal is due at a third of the lease. Without it the lease would end as expired.
      expect(lease.signal.reason).toBeInstanceOf(LockLostError);
      expect(lease.signal.reason).toMatchObject({ reason: 'stolen' });
      expect(performance.now() - grantedMs).toBeLessThan(withinMs(3000, 4500));
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

    it('EXPIRE of clients that poll keeps the key of a holder that died', async () => {
      const lease = await mutex.acquire({ lease: '1s', renew: false });
      const poll = async (): Promise<void> => {
        const replies = await old.multi().setnx(KEY, '1').expire(KEY, 10).pttl(KEY).exec();
        const [taken, expires, leftMs] = replies!.map(([, reply]) => reply);
        expect([taken, expires]).toEqual([0, 1]);
        expect(leftMs).toBeGreaterThan(9_000);
      };
      while (lease.isHeld) await poll();
      // The holder counts from an earlier moment than the server, which would keep the key no longer than this.
      const endMs = (await serverMs()) + 200;
      while ((await serverMs()) < endMs) await poll();
      expect(await busy()).toBe(true);
      expect((await mutex.inspect()).holders).toMatchObject([
        { foreign: false, fence: lease.fence },
      ]);
      expect(await mutex.forceRelease()).toBe(1);
      expect(await busy()).toBe(false);
    });

    it('EXPIRE in Lua is not sent by a client that did not get the lock', async () => {
      await using _lease = await mutex.acquire({ lease: '60s' });
      expect(await old.eval(SETNX_EXPIRE_IN_LUA, 1, KEY, '1', 10)).toBe(0);
      expect(await old.pttl(KEY)).toBeGreaterThan(10_000);
    });

    it('SETNX of a client that dies before EXPIRE stays, until it is released by force', async () => {
      await old.setnx(KEY, '1');
      expect(await busy()).toBe(true);
      expect((await mutex.inspect()).holders).toMatchObject([
        { foreign: true, value: '1', leftMs: Number.POSITIVE_INFINITY },
      ]);
      expect(await mutex.forceRelease()).toBe(1);
      expect(await busy()).toBe(false);
    });

    it('an old client raises no fence, and the fence of Holdfast rises past it', async () => {
      const first = await mutex.acquire({ wait: 0 });
      await first.release();
      await old.setnx(KEY, '1');
      await old.del(KEY);
      await using second = await mutex.acquire({ wait: 0 });
      expect(second.fence).toBeGreaterThan(first.fence);
    });

    describe('and the value of Holdfast read as a time', () => {
      /** What Holdfast writes, with another first character: that of the holder is random. */
      async function valueBeginning(first: string): Promise<string> {
        await using _lease = await mutex.acquire({ wait: 0 });
        return `${first}${(await old.get(KEY))!.slice(1)}`;
      }

      /** The program locks another key, which has the same value and TTL here. */
      async function runOn(value: string, program: string): Promise<string> {
        await old.set(OLD_KEY, value, 'PX', 30_000);
        return await outputOfRecipe(program, [server.host, server.port, 30]);
      }

      it.each(TIMESTAMP_PROGRAMS)('%s.php takes what is before the time as text', async (name) => {
        const program = `${name}.php`;
        expect(await runOn(await valueBeginning('0'), program)).toContain('working');
        expect(await runOn(await valueBeginning('9'), program)).not.toContain('working');
        expect(await runOn(await valueBeginning('f'), program)).not.toContain('working');
        expect(await runOn(await valueBeginning('-'), program)).toContain('working');
      });

      it.each(TIMESTAMP_PROGRAMS)('%s.py ends with an error', async (name) => {
        for (const value of [await valueBeginning('0'), await valueBeginning('-')]) {
          const output = await runOn(value, `${name}.py`);
          expect(output).toContain('invalid literal for int()');
          expect(output).not.toContain('working');
          expect(await old.get(OLD_KEY)).toBe(value);
        }
      });

      it('begins with 16 characters, and does not change while a client waits', async () => {
        await using _lease = await mutex.acquire({ wait: 0 });
        const value = await old.get(KEY);
        const abort = new AbortController();
        const waiting = mutex.acquire({ signal: abort.signal });
        while ((await mutex.inspect()).waiters.length === 0);
        expect(await old.get(KEY)).toBe(value);
        expect(value).toMatch(/^[\w-]{16}\./);
        abort.abort();
        await expect(waiting).rejects.toThrow('aborted');
      });

      it('is NaN for Number(), and the first digits for parseInt()', async () => {
        for (const digit of ['0', '9', 'f', '-9']) {
          expect(Number(await valueBeginning(digit))).toBeNaN();
        }
        expect(Number.parseInt(await valueBeginning('9a'), 10)).toBe(9);
        expect(Number.parseInt(await valueBeginning('f'), 10)).toBeNaN();
      });

      it('GETSET by a timestamp client takes the lock from Holdfast, and it never ends', async () => {
        const lease = await mutex.acquire({ wait: 0 });
        const past = Math.floor(Date.now() / 1000) - 5;
        await old.getset(KEY, `${past}`);
        expect(await old.pttl(KEY)).toBe(-1);
        await expect(lease.extend()).rejects.toThrow(LockLostError);
        expect(await busy()).toBe(true);
      });
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
    async function withBoth(
      value: string,
      work: (signal: AbortSignal) => Promise<void>,
      maxHoldMs = 50_000,
    ): Promise<void> {
      await mutex.run(
        async (lease) => {
          while ((await old.set(OLD_KEY, value, 'PX', 60_000, 'NX')) !== 'OK') lease.assertHeld();
          try {
            lease.assertHeld();
            await work(lease.signal);
          } finally {
            await old.eval(DELETE_IF_EQUAL, 1, OLD_KEY, value);
          }
        },
        { maxHold: maxHoldMs },
      );
    }

    it('tells the work to stop at maxHold, while the old key still excludes old clients', async () => {
      let leftMs: number | undefined;
      const working = withBoth(
        'new-1',
        async (signal) => {
          await once(signal, 'abort');
          expect(await old.set(OLD_KEY, 'old', 'PX', 30_000, 'NX')).toBe(null);
          leftMs = await old.pttl(OLD_KEY);
        },
        100,
      );
      await expect(working).rejects.toMatchObject({ code: 'lost', reason: 'expired' });
      expect(leftMs).toBeGreaterThan(50_000);
      expect(await old.exists(OLD_KEY)).toBe(0);
    });

    it('does not start the work if waiting for the old key takes all of maxHold', async () => {
      await old.set(OLD_KEY, 'old', 'PX', 30_000, 'NX');
      const working = withBoth('new-1', () => expect.unreachable(), 100);
      await expect(working).rejects.toMatchObject({ code: 'lost', reason: 'expired' });
      expect(await old.get(OLD_KEY)).toBe('old');
    });

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
        for (const program of TIMESTAMP_PROGRAMS.flatMap((name) => [`${name}.php`, `${name}.py`])) {
          const output = await outputOfRecipe(program, [server.host, server.port, 30]);
          expect(output).toMatch(new RegExp(`\\nGET lock\\.foo -> ${nowS + 60}\\n$`));
        }
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

it('an old client with the old password fails on holdfast serve', async () => {
  const server = await startHoldfast({ settings: { requirepass: 'before' } });
  onTestFinished(() => server.stop());
  const { host, port } = server;
  const admin = new Redis({ host, port, password: 'before' });
  const old = new Redis({ host, port, password: 'before' });
  old.on('error', () => {});
  expect(await old.setnx(OLD_KEY, '1')).toBe(1);
  await admin.config('SET', 'requirepass', 'after');
  // A connection stays signed in.
  expect(await old.setnx(OLD_KEY, '1')).toBe(0);
  await admin.call('CLIENT', 'KILL', 'TYPE', 'normal');
  await expect(old.setnx(OLD_KEY, '1')).rejects.toThrow(/NOAUTH|WRONGPASS/);
  const locks = createLocks(`redis://:after@${host}:${port}`);
  await locks.mutex('foo').run(async () => {});
  await locks.close();
  old.disconnect();
  admin.disconnect();
});
