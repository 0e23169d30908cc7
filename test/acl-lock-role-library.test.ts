import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createCache } from '../src/cache/index.ts';
import { LOCK_ROLE } from '../src/cli/serve/lock-role.ts';
import { createLocks, type Election, type LockError, type Locks } from '../src/index.ts';
import { redisUrlStore } from '../src/stores/index.ts';
import { conform } from './conform.ts';
import { BUILD } from './lock-holder-process.ts';
import { type RunningServer, startHoldfast } from './real-redis.ts';
import { inSlowMotion } from './slow-motion.ts';
import { withinMs } from './within.ts';

/** The whole library as a user with `+@lock` and one prefix of keys: the server must not refuse any of its requests. */
const SLOWNESS = withinMs(4);

/** The cases of the contract mostly wait for leases to end. */
vi.setConfig({ maxConcurrency: 40 });

let server: RunningServer;
let admin: Redis;
let url: `redis://${string}`;

beforeAll(async () => {
  server = await startHoldfast({ lockRole: LOCK_ROLE });
  url = `redis://app:pw@127.0.0.1:${server.port}`;
  admin = new Redis(server);
  await admin.call('ACL', 'SETUSER', 'app', 'on', '>pw', '+@lock', '~app:*');
  // The first run of a script takes longer than later ones: the cases below start all at once.
  await using locks = open();
  await locks.mutex('first').run(() => {});
});

afterAll(async () => {
  try {
    expect(await admin.call('ACL', 'LOG')).toEqual([]);
  } finally {
    admin.disconnect();
    await server.stop();
  }
});

describe('the contract of a store', () => {
  conform((name) => ({
    open: async () => inSlowMotion(redisUrlStore(url, { prefix: `app:${name}:` }), SLOWNESS),
    elapse: (durationMs) => pause(durationMs * SLOWNESS),
  }));
});

function open(): Locks {
  return createLocks({ url, prefix: 'app:' });
}

it('several mutexes at once, and a lease that another client adopts', async () => {
  await using locks = open();
  await using others = open();
  const lease = await locks.all(['all-a', 'all-b']).acquire();
  expect(await others.mutex('all-b').tryAcquire()).toBe(null);
  await lease.release();
  const moved = await locks.mutex('moved').acquire();
  const adopted = await others.adopt(moved.transfer());
  expect(adopted.fence).toBeGreaterThan(moved.fence);
  await adopted.release();
});

it('renewal by a worker thread', async () => {
  const warnings: Error[] = [];
  const listener = (warning: Error): unknown => warnings.push(warning);
  process.on('warning', listener);
  onTestFinished(() => void process.off('warning', listener));
  // Only the build has the file of the worker.
  const build: typeof import('../src/index.ts') = await import(BUILD);
  await using locks = build.createLocks({ url, prefix: 'app:', renewFrom: 'worker' });
  const lease = await locks.mutex('renewed').acquire({ lease: '2s' });
  await pause(3000);
  expect(lease.isHeld).toBe(true);
  expect(warnings).toEqual([]);
  await lease.release();
});

it('a deadlock between clients', async () => {
  await using one = open();
  await using other = open();
  const nest = async (locks: Locks, outer: string, inner: string): Promise<string> => {
    try {
      return await locks.mutex(outer).run(async () => {
        await vi.waitUntil(async () => (await locks.mutex(inner).inspect()).holders.length > 0);
        return locks.mutex(inner).run(() => 'done');
      });
    } catch (error) {
      return (error as LockError).code;
    }
  };
  const results = await Promise.all([
    nest(one, 'dead-a', 'dead-b'),
    nest(other, 'dead-b', 'dead-a'),
  ]);
  expect(results.sort()).toEqual(['deadlock', 'done']);
});

it('an election whose leader stops', async () => {
  await using one = open();
  await using other = open();
  const leaders: string[] = [];
  const elect = (locks: Locks, name: string): Promise<Election> =>
    new Promise((resolve) => {
      const election = locks.elect('leader', ({ signal }) => {
        leaders.push(name);
        resolve(election);
        return once(signal, 'abort').then(() => {});
      });
    });
  const first = await elect(one, 'one');
  const second = elect(other, 'other');
  await first.stop();
  await (await second).stop();
  expect(leaders).toEqual(['one', 'other']);
});

it('the memory tier of the cache, which another client invalidates', async () => {
  await using here = open();
  await using there = open();
  const [one, other] = [createCache({ locks: here, memory: true }), createCache({ locks: there })];
  await one.get('k', { fresh: '1m', tags: ['t'] }, () => 'old');
  await other.invalidate('t');
  expect(await one.get('k', { fresh: '1m', tags: ['t'] }, () => 'new')).toBe('new');
});
