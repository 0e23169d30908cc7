import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type LockLostError, LockUnavailableError } from '../src/index.ts';
import { elapse, LockScene, lossOf, settled, until } from './lock-scene.ts';
import { withinMs } from './within.ts';

/*
 * A redis-server that crashes, loses keys, replies with errors or closes connections. The signals of holders abort, waiters
 * are served in bounded time, fences rise, and a failure is never reported as busy.
 */

/** A folder for the files of the server. */
async function folder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'holdfast-faults-'));
}

describe.concurrent('modes 4 and 21: a server that crashes and restarts without its keys', () => {
  it('aborts the signal of the holder, serves waiters, and grants larger fences', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const others = await scene.locks();
    const lease = await locks.mutex('a').acquire({ lease: '3s' });
    const loss = lossOf(lease);
    const waiting = others.mutex('a').acquire({ wait: '20s' });
    await until(async () => (await scene.waitersOf('a')) === 1);
    await scene.crashServer();
    // A request while the server is down waits until it is up.
    const pending = locks.mutex('b').acquire({ wait: '20s' });
    await elapse(300);
    await scene.startServer();
    expect((await pending).isHeld).toBe(true);
    expect((await waiting).fence).toBeGreaterThan(lease.fence);
    expect(((await loss).reason as LockLostError).reason).toBe('stolen');
    expect(await lease.release()).toBe('not-held');
    expect(await scene.holdersOf('a')).toMatchObject([{ fence: (await waiting).fence }]);
  });

  it('and stays down, makes the holder lose its lease in time', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '1s' });
    const loss = lossOf(lease);
    await scene.crashServer();
    expect(((await loss).reason as LockLostError).reason).toBe('unreachable');
    await scene.startServer();
  });

  it('serves the waiters of several programs after the restart', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '2s' });
    const programs = await Promise.all([1, 2, 3].map(() => scene.locks()));
    const fences: number[] = [];
    const tasks = programs.flatMap((locks) =>
      [1, 2, 3].map(() =>
        locks.mutex('a').run(({ fence }) => fences.push(fence), { wait: '25s', lease: '2s' }),
      ),
    );
    await until(async () => (await scene.waitersOf('a')) > 0);
    await scene.crashServer();
    await scene.startServer();
    await Promise.all(tasks);
    expect(fences).toHaveLength(9);
    expect(fences).toEqual([...fences].sort((one, other) => one - other));
    expect(fences[0]).toBeGreaterThan(lease.fence);
  });
});

describe.concurrent('mode 5: a server that crashes and restarts with its keys', () => {
  it('does not end the lease of the holder', async () => {
    const dir = await folder();
    await using scene = await LockScene.open(
      ...['--appendonly', 'yes', '--appendfsync', 'always', '--dir', dir],
    );
    scene.onClose(() => rm(dir, { recursive: true }));
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '10s' });
    const owner = await scene.ownerOf('a');
    await scene.crashServer();
    await scene.startServer();
    expect(await scene.ownerOf('a')).toBe(owner);
    expect(await scene.neighbour().mutex('a').tryAcquire()).toBe(null);
    await lease.extend();
    expect(await lease.release()).toBe('released');
    const next = await scene.neighbour().mutex('a').acquire();
    expect(next.fence).toBeGreaterThan(lease.fence);
  });
});

describe.concurrent('mode 8: a server that is stopped', () => {
  it('makes the holder lose its lease, and its signal aborts before another client holds the lock', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '1s' });
    const { signal } = lease;
    const loss = lossOf(lease);
    const waiting = (await scene.locks()).mutex('a').acquire({ wait: '20s' });
    await until(async () => (await scene.waitersOf('a')) === 1);
    scene.stopServer();
    expect((await loss).reason).toMatchObject({ reason: 'unreachable' });
    await elapse(500);
    scene.continueServer();
    const next = await waiting;
    expect(signal.aborted).toBe(true);
    expect(next.fence).toBeGreaterThan(lease.fence);
    expect(await lease.release()).toBe('not-held');
  });
});

describe.concurrent('mode 16: a server that loses its scripts', () => {
  it.each(['ioredis', 'node-redis'] as const)(
    'at any time, executes all requests through %s',
    async (client) => {
      await using scene = await LockScene.open();
      const locks = await scene.locks({ client });
      let isOver = false;
      const flushes = (async () => {
        while (!isOver) await scene.direct.script('FLUSH');
      })();
      const work = Array.from({ length: 8 }, async (_, worker) => {
        for (let round = 0; round < 25; round++) {
          // Two workers share a name, and requests of one turn share a batch.
          const lease = await locks.mutex(`name:${worker % 4}`).acquire({ wait: '20s' });
          await lease.extend();
          expect(await lease.release()).toBe('released');
        }
      });
      await Promise.all(work);
      isOver = true;
      await flushes;
    },
  );
});

describe.concurrent('modes 3, 15 and 21: a server that loses its keys', () => {
  it('makes the holder lose its lease at the next renewal, and the fence rises', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '1s' });
    const loss = lossOf(lease);
    await scene.direct.flushall();
    const next = await scene.neighbour().mutex('a').acquire();
    expect(next.fence).toBeGreaterThan(lease.fence);
    expect(((await loss).reason as LockLostError).reason).toBe('stolen');
    expect(await lease.release()).toBe('not-held');
    expect(await scene.holdersOf('a')).toMatchObject([{ fence: next.fence }]);
  });

  it('makes holders of a semaphore and of a read/write lock lose their leases', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const leases = await Promise.all([
      locks.semaphore('s', 3).acquire({ lease: '1s' }),
      locks.readWrite('rw').read.acquire({ lease: '1s' }),
      locks.readWrite('rw2').write.acquire({ lease: '1s' }),
    ]);
    const losses = leases.map(lossOf);
    await scene.direct.flushall();
    for (const loss of losses) expect((await loss).reason).toMatchObject({ reason: 'stolen' });
  });

  it('and evicts the helper keys of a lock, grants no smaller fence', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '10s' });
    const others = await scene.direct.keys('lock:{a}:*');
    expect(await scene.direct.del(...others)).toBeGreaterThan(0);
    await lease.release();
    const next = await scene.neighbour().mutex('a').acquire({ wait: '10s' });
    expect(next.fence).toBeGreaterThan(lease.fence);
  });

  it('and evicts a queue, still serves its waiters', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '2s' });
    const waiting = (await scene.locks()).mutex('a').acquire({ wait: '20s' });
    await until(async () => (await scene.waitersOf('a')) === 1);
    await scene.direct.del('lock:{a}:queue');
    await lease.release();
    expect((await waiting).fence).toBeGreaterThan(lease.fence);
  });
});

describe.concurrent('mode 17: a server that closes subscriptions', () => {
  it('before a release serves the waiters in order', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '5s' });
    const locks = await scene.locks();
    const order: number[] = [];
    const tasks: Promise<unknown>[] = [];
    for (const number of [1, 2, 3, 4, 5]) {
      tasks.push(locks.mutex('a').run(() => order.push(number), { wait: '25s' }));
      await until(async () => (await scene.waitersOf('a')) === number);
    }
    await scene.direct.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
    const beganMs = performance.now();
    await lease.release();
    await Promise.all(tasks);
    expect(order).toEqual([1, 2, 3, 4, 5]);
    // A lost message delays the next waiter by no more than the reservation.
    expect(performance.now() - beganMs).toBeLessThan(withinMs(8000));
  });

  it('repeatedly serves all waiters', async () => {
    await using scene = await LockScene.open();
    const programs = await Promise.all([1, 2].map(() => scene.locks()));
    let isOver = false;
    const kills = (async () => {
      while (!isOver) {
        await scene.direct.call('CLIENT', 'KILL', 'TYPE', 'pubsub');
        await elapse(30);
      }
    })();
    let served = 0;
    const tasks = programs.flatMap((locks) =>
      Array.from({ length: 10 }, () =>
        locks.mutex('a').run(() => served++, { wait: '25s', lease: '5s' }),
      ),
    );
    await Promise.all(tasks);
    isOver = true;
    await kills;
    expect(served).toBe(20);
  });

  it('and all other connections does not end leases or places in the queue', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '2s' });
    const waiting = (await scene.locks()).mutex('a').acquire({ wait: '20s' });
    await until(async () => (await scene.waitersOf('a')) === 1);
    const beganMs = performance.now();
    while (performance.now() - beganMs < 3000) {
      await scene.direct.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await elapse(100);
    }
    // Longer than the lease, which was renewed meanwhile.
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe('released');
    expect((await waiting).fence).toBeGreaterThan(lease.fence);
  });
});

describe.concurrent('a server that replies with an error', () => {
  it('since its memory is full makes requests fail as unavailable, and a held lock can be renewed and released', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const lease = await locks.mutex('a').acquire({ lease: '900ms' });
    await scene.direct.config('SET', 'maxmemory-policy', 'noeviction');
    await scene.direct.config('SET', 'maxmemory', '1');
    const outcome = await settled(locks.mutex('b').tryAcquire());
    expect(outcome).toBeInstanceOf(LockUnavailableError);
    expect(String((outcome as LockUnavailableError).cause)).toMatch(/OOM/);
    await elapse(1500);
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe('released');
    const pending = locks.mutex('b').acquire({ wait: '20s' });
    await scene.direct.config('SET', 'maxmemory', '0');
    expect((await pending).isHeld).toBe(true);
  });

  it('since it became a replica makes requests fail as unavailable, and gets them again until it is a master', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const lease = await locks.mutex('a').acquire({ lease: '1s' });
    const loss = lossOf(lease);
    await scene.direct.replicaof('127.0.0.1', 1);
    const outcome = await settled(locks.mutex('b').tryAcquire());
    expect(outcome).toBeInstanceOf(LockUnavailableError);
    expect(String((outcome as LockUnavailableError).cause)).toMatch(/READONLY/);
    const pending = locks.mutex('b').acquire({ wait: '20s' });
    expect((await loss).reason).toMatchObject({ reason: 'unreachable' });
    await scene.direct.replicaof('NO', 'ONE');
    expect((await pending).isHeld).toBe(true);
  });

  it('since a script blocks it makes requests fail as unavailable', async () => {
    await using scene = await LockScene.open('--busy-reply-threshold', '100');
    const locks = await scene.locks();
    const runaway = settled(scene.client().eval('while true do end', 0));
    await until(async () => String(await settled(scene.direct.ping())).includes('BUSY'));
    const outcome = await settled(locks.mutex('a').tryAcquire());
    expect(outcome).toBeInstanceOf(LockUnavailableError);
    expect(String((outcome as LockUnavailableError).cause)).toMatch(/BUSY/);
    const pending = locks.mutex('a').acquire({ wait: '20s' });
    await elapse(200);
    await scene.direct.script('KILL');
    await runaway;
    expect((await pending).isHeld).toBe(true);
  });

  it('since it still loads its keys gets requests again until it has loaded them', async () => {
    const dir = await folder();
    const slowly = ['--key-load-delay', '1000', '--loading-process-events-interval-bytes', '1024'];
    await using scene = await LockScene.open(
      '--dir',
      dir,
      ...slowly,
      '--enable-debug-command',
      'yes',
    );
    scene.onClose(() => rm(dir, { recursive: true }));
    await scene.direct.call('DEBUG', 'POPULATE', '1500', 'key', '100');
    await scene.direct.save();
    await scene.crashServer();
    const started = scene.startServer();
    await until(async () => String(await settled(scene.direct.ping())).includes('LOADING'));
    const locks = await scene.locks();
    const outcome = await settled(locks.mutex('a').tryAcquire());
    expect(outcome).toBeInstanceOf(LockUnavailableError);
    expect(String((outcome as LockUnavailableError).cause)).toMatch(/LOADING/);
    expect((await locks.mutex('a').acquire({ wait: '20s' })).isHeld).toBe(true);
    await started;
    expect(await scene.direct.dbsize()).toBeGreaterThan(1500);
  });
});
