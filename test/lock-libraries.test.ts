import { Redis } from 'ioredis';
import {
  LostLockError,
  MultiSemaphore,
  Mutex,
  RedlockMutex,
  Semaphore,
  TimeoutError,
} from 'redis-semaphore';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';

/**
 * Runs unchanged lock libraries for Redis. Every scene runs on Redis and on our server, and must return the same result.
 */

let redis: RunningServer;
let holdfast: RunningServer;

beforeAll(async () => {
  redis = await startRealRedis();
  holdfast = await startHoldfast();
});

afterAll(async () => {
  await holdfast.stop();
  await redis.stop();
});

type Scene = (client: Redis, enter: () => Redis) => Promise<unknown>;

async function play(scene: Scene): Promise<unknown> {
  const outcomes: unknown[] = [];
  for (const server of [redis, holdfast]) {
    const clients: Redis[] = [];
    const enter = () => {
      clients.push(new Redis(server.port, server.host));
      return clients.at(-1)!;
    };
    await enter().flushall();
    outcomes.push(await scene(clients[0]!, enter));
    for (const client of clients) client.disconnect();
  }
  expect(outcomes[1]).toEqual(outcomes[0]);
  return outcomes[0];
}

/** The value of a promise, or the name of its error. */
async function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    return await work;
  } catch (error) {
    return (error as Error).constructor.name;
  }
}

interface RedlockLock {
  release(): Promise<{ attempts: readonly unknown[] }>;
  extend(durationMs: number): Promise<RedlockLock>;
  readonly value: string;
}

interface Redlock {
  acquire(resources: string[], durationMs: number): Promise<RedlockLock>;
  using<T>(resources: string[], durationMs: number, routine: () => Promise<T>): Promise<T>;
}

/** The compiler does not find the types of the package. */
const { default: Redlock } = (await import('redlock' as string)) as {
  default: new (clients: Redis[], settings: object) => Redlock;
};

describe('redlock', () => {
  const settings = { retryCount: 1, retryDelay: 1, retryJitter: 0 };

  it('acquires, refuses, extends and releases', async () => {
    const outcome = await play(async (client) => {
      const redlock = new Redlock([client], settings);
      const lock = await redlock.acquire(['a', 'b'], 30_000);
      const refused = await outcomeOf(redlock.acquire(['b'], 30_000));
      const held = [(await client.get('a')) === lock.value, (await client.get('b')) === lock.value];
      const extended = await lock.extend(60_000);
      const ttlIsLong = (await client.pttl('a')) > 30_000;
      await extended.release();
      const left = await client.exists('a', 'b');
      const stale = await outcomeOf(extended.extend(1000));
      const again = await redlock.using(['a'], 30_000, async () => client.exists('a'));
      return { refused, held, ttlIsLong, left, stale, again, end: await client.exists('a') };
    });
    expect(outcome).toMatchObject({ refused: 'ExecutionError', left: 0, again: 1, end: 0 });
  });

  it('acquires on a majority of servers', async () => {
    const outcome = await play(async (client, enter) => {
      const others = [enter(), enter()];
      await others[0]!.select(1);
      await others[1]!.select(2);
      const redlock = new Redlock([client, ...others], settings);
      await client.set('a', 'of another client');
      const lock = await redlock.acquire(['a'], 30_000);
      await others[0]!.set('a', 'of another client');
      const lost = await outcomeOf(lock.extend(1000));
      return { lost, last: await others[1]!.exists('a') };
    });
    expect(outcome).toMatchObject({ lost: 'ExecutionError' });
  });
});

describe('redis-semaphore', () => {
  const options = { acquireTimeout: 20, retryInterval: 1, lockTimeout: 30_000, refreshInterval: 0 };

  it('Mutex', async () => {
    const outcome = await play(async (client) => {
      const first = new Mutex(client, 'a', { ...options, identifier: 'first' });
      const second = new Mutex(client, 'a', { ...options, identifier: 'second' });
      await first.acquire();
      const refused = await outcomeOf(second.acquire());
      const holder = await client.get('mutex:a');
      await first.release();
      await second.acquire();
      await client.set('mutex:a', 'thief');
      await second.release();
      return { refused, holder, left: await client.get('mutex:a') };
    });
    expect(outcome).toMatchObject({ refused: TimeoutError.name, holder: 'first', left: 'thief' });
  });

  it('notifies a holder of the loss of its lock', async () => {
    const outcome = await play(async (client) => {
      const lost = new Promise((resolve) => {
        const mutex = new Mutex(client, 'a', {
          ...options,
          refreshInterval: 2,
          onLockLost: (error) => resolve(error.constructor.name),
        });
        mutex.acquire().then(() => client.del('mutex:a'));
      });
      return lost;
    });
    expect(outcome).toBe(LostLockError.name);
  });

  it('Semaphore', async () => {
    const outcome = await play(async (client) => {
      const permits = ['a', 'b', 'c'].map(
        (identifier) => new Semaphore(client, 'pool', 2, { ...options, identifier }),
      );
      await permits[0]!.acquire();
      await permits[1]!.acquire();
      const refused = await outcomeOf(permits[2]!.acquire());
      await permits[0]!.release();
      await permits[2]!.acquire();
      const holders = await client.zrange('semaphore:pool', '0', '-1');
      return { refused, holders: holders.sort() };
    });
    expect(outcome).toEqual({ refused: TimeoutError.name, holders: ['b', 'c'] });
  });

  it('MultiSemaphore', async () => {
    const outcome = await play(async (client) => {
      const take = (identifier: string, permits: number) =>
        new MultiSemaphore(client, 'pool', 3, permits, { ...options, identifier });
      const [two, another, one] = [take('a', 2), take('b', 2), take('c', 1)];
      await two.acquire();
      const refused = await outcomeOf(another.acquire());
      await one.acquire();
      const full = await client.zcard('semaphore:pool');
      await two.release();
      await another.acquire();
      return { refused, full, end: await client.zcard('semaphore:pool') };
    });
    expect(outcome).toEqual({ refused: TimeoutError.name, full: 3, end: 3 });
  });

  it('RedlockMutex', async () => {
    await play(async (client, enter) => {
      const clients = [client, enter(), enter()];
      await Promise.all(clients.map((each, number) => each.select(number)));
      const first = new RedlockMutex(clients, 'a', { ...options, identifier: 'first' });
      const second = new RedlockMutex(clients, 'a', { ...options, identifier: 'second' });
      await first.acquire();
      const refused = await outcomeOf(second.acquire());
      await first.release();
      return { refused, left: await Promise.all(clients.map((each) => each.exists('mutex:a'))) };
    });
  });
});

/** A reentrant lock in a hash that counts the entries of its owner, with a message to waiters. */
const HASH_LOCK = {
  enter: `
    if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then
      redis.call('hincrby', KEYS[1], ARGV[2], 1)
      redis.call('pexpire', KEYS[1], ARGV[1])
      return nil
    end
    return redis.call('pttl', KEYS[1])`,
  leave: `
    if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return nil end
    if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then
      redis.call('pexpire', KEYS[1], ARGV[1])
      return 0
    end
    redis.call('del', KEYS[1])
    redis.call('publish', KEYS[2], 'free')
    return 1`,
} as const;

describe('the algorithms of other libraries', () => {
  it('a reentrant lock in a hash, as in Redisson', async () => {
    const outcome = await play(async (client, enter) => {
      const waiter = enter();
      const message = new Promise((resolve) => waiter.on('message', (_, text) => resolve(text)));
      await waiter.subscribe('channel:{a}');
      const say = (script: string, owner: string) =>
        client.eval(script, 2, 'lock:{a}', 'channel:{a}', '30000', owner);
      const entered = [await say(HASH_LOCK.enter, 'me:1'), await say(HASH_LOCK.enter, 'me:1')];
      const remainingMs = Number(await say(HASH_LOCK.enter, 'you:7'));
      const foreign = await say(HASH_LOCK.leave, 'you:7');
      const left = [await say(HASH_LOCK.leave, 'me:1'), await say(HASH_LOCK.leave, 'me:1')];
      const mustWait = remainingMs > 20_000 && remainingMs <= 30_000;
      return { entered, mustWait, foreign, left, message: await message };
    });
    expect(outcome).toEqual({
      entered: [null, null],
      mustWait: true,
      foreign: null,
      left: [0, 1],
      message: 'free',
    });
  });

  it('a lock with a list as signal, as in python-redis-lock', async () => {
    const release = `
      if redis.call('get', KEYS[1]) ~= ARGV[1] then return 1 end
      redis.call('del', KEYS[2])
      redis.call('lpush', KEYS[2], 1)
      redis.call('pexpire', KEYS[2], ARGV[2])
      redis.call('del', KEYS[1])
      return 0`;
    const outcome = await play(async (client, enter) => {
      const take = (token: string) => client.set('lock:a', token, 'EX', 30, 'NX');
      const waiter = enter();
      const first = await take('me');
      const busy = await take('you');
      const signal = waiter.blpop('signal:a', 0);
      const wrong = await client.eval(release, 2, 'lock:a', 'signal:a', 'you', '10000');
      const released = await client.eval(release, 2, 'lock:a', 'signal:a', 'me', '10000');
      return { first, busy, wrong, released, signal: await signal, next: await take('you') };
    });
    expect(outcome).toEqual({
      first: 'OK',
      busy: null,
      wrong: 1,
      released: 0,
      signal: ['signal:a', '1'],
      next: 'OK',
    });
  });
});
