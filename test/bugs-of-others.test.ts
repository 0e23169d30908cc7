import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { virtualClock } from '../src/clock/index.ts';
import {
  createLocks,
  LockLostError,
  LockTimeoutError,
  LockUnavailableError,
} from '../src/index.ts';
import { PASS } from './fault-proxy.ts';
import { BUILD } from './lock-holder-process.ts';
import { elapse, LockScene, lossOf, settled, until } from './lock-scene.ts';
import { withinMs } from './within.ts';

/*
 * What users of other lock libraries have suffered from, by the name of the library and the number of its
 * issue on GitHub. Where a library is at hand its bug is shown too: a control, so that the test is known to
 * bite.
 */

const WAIT = { wait: '25s' } as const;

/** The package keeps its types where the compiler cannot find them. */
const { default: Redlock } = (await import('redlock' as string)) as {
  default: new (
    clients: unknown[],
    settings?: object,
  ) => {
    acquire(names: string[], durationMs: number): Promise<{ expiration: number }>;
    using(names: string[], durationMs: number, body: () => Promise<unknown>): Promise<unknown>;
    on(event: 'error', listener: () => void): void;
  };
};

/** Runs a small program on the package as it was built, and says how it ended. */
async function run(
  body: string,
  port = 0,
): Promise<{ code: number | null; output: string; tookMs: number }> {
  const source = `
    import { Redis } from 'ioredis';
    const { createLocks, redisStore } = await import('${BUILD}');
    const port = ${port};
    const print = (...words) => process.stdout.write(words.join(' ') + '\\n');
    ${body}`;
  const beganMs = performance.now();
  const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  await once(child, 'close');
  return { code: child.exitCode, output, tookMs: performance.now() - beganMs };
}

describe.concurrent('a lock that is lost', () => {
  it('redisson#4698, RedLock.net#92: the holder hears that its renewal failed, and why', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '600ms' });
    const loss = lossOf(lease);
    await scene.neighbour().mutex('a').forceRelease();
    expect((await loss).reason).toBeInstanceOf(LockLostError);
    expect((await loss).reason).toMatchObject({ reason: 'stolen', lock: 'a' });
  });

  it('redisson#3636, etcd#10811: two sides of a partition never both believe that they hold', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '1500ms' });
    const { signal } = lease;
    await scene.proxy.set({ kind: 'swallow' });
    const next = await scene.neighbour().mutex('a').acquire(WAIT);
    expect(next.isHeld).toBe(true);
    expect(lease.isHeld).toBe(false);
    expect(signal.aborted).toBe(true);
  });

  it('redisson#5698: a renewal that fails once lets no second holder in', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '1500ms' });
    const other = scene.neighbour().mutex('a');
    scene.proxy.link('evalsha').set({ kind: 'cut', way: 'requests', afterBytes: 20 });
    const beganMs = performance.now();
    while (performance.now() - beganMs < 3500) {
      expect(await other.tryAcquire()).toBe(null);
      await elapse(50);
    }
    expect(lease.isHeld).toBe(true);
  });

  it('redlock-universal: one error in renewing does not abort a lease that is valid', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '2s' });
    const { signal } = lease;
    await scene.proxy.set({ kind: 'refuse' });
    await elapse(1000);
    await scene.proxy.set(PASS);
    await elapse(2000);
    expect(signal.aborted).toBe(false);
    expect(await lease.release()).toBe('released');
  });

  it('redis-semaphore#24: a laptop that slept has lost its locks, and knows it', async () => {
    const clock = virtualClock();
    await using locks = createLocks({ clock });
    const lease = await locks.mutex('a').acquire({ lease: '30s' });
    clock.jumpWall(8 * 3_600_000);
    expect(() => lease.assertHeld()).toThrow(LockLostError);
  });

  it('etcd#11456, node-redlock#299 and #369: a grant that has already ended is not given', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const redlock = new Redlock([scene.client(scene.proxy.port)]);
    await locks.mutex('before').run(() => {});
    await scene.proxy.set({ kind: 'delay', way: 'replies', delayMs: 500 });
    const [outcome, control] = await Promise.all([
      settled(locks.mutex('a').acquire({ lease: 300, wait: 900 })),
      redlock.acquire(['b'], 300),
    ]);
    expect(outcome).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('is too slow'),
    });
    expect(control.expiration).toBeLessThan(Date.now());
  });
});

describe.concurrent('noise', () => {
  it('redis-semaphore#199: a store that does not answer renewals neither kills nor floods', async () => {
    await using scene = await LockScene.open();
    const ready = scene.client();
    await ready.subscribe('ready');
    const called = once(ready, 'message');
    const ended = run(
      `const client = new Redis(port);
       client.on('error', () => {});
       const locks = createLocks({ store: redisStore(client, { requestTimeout: 100 }) });
       const { signal } = await locks.mutex('a').acquire({ lease: 800 });
       await client.publish('ready', '');
       await new Promise((resolve) => signal.addEventListener('abort', resolve));
       await new Promise((resolve) => setTimeout(resolve, 500));
       print(signal.reason.reason);
       client.disconnect();`,
      scene.proxy.port,
    );
    await called;
    await scene.proxy.set({ kind: 'swallow' });
    expect(await ended).toMatchObject({ code: 0, output: 'unreachable\n' });
  });

  it('redis-semaphore#9: a breakpoint is no unhandled rejection', async () => {
    await using scene = await LockScene.open();
    const ended = await run(
      `const client = new Redis(port);
       const locks = createLocks({ store: redisStore(client) });
       const lease = await locks.mutex('a').acquire({ lease: 300 });
       const untilMs = performance.now() + 1000;
       while (performance.now() < untilMs);
       await new Promise((resolve) => setTimeout(resolve, 300));
       print(lease.isHeld, await lease.release());
       client.disconnect();`,
      scene.port,
    );
    expect(ended).toMatchObject({ code: 0, output: 'false not-held\n' });
  });

  it('node-redlock#283: that a lease has ended is an error to who extends it, and to nobody else', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: 500, renew: false });
    await until(async () => (await scene.ownerOf('a')) === null);
    await expect(lease.extend()).rejects.toBeInstanceOf(LockLostError);
    expect(await scene.ownerOf('a')).toBe(null);
  });

  it('parabol#11685, outline#12049: a busy lock is null or one rejection, and no event', async () => {
    await using scene = await LockScene.open();
    await scene.neighbour().mutex('a').acquire();
    const ended = await run(
      `const client = new Redis(port);
       client.on('error', (error) => print('error event', error));
       const locks = createLocks({ store: redisStore(client) });
       print(String(await locks.mutex('a').tryAcquire()));
       await locks.mutex('a').acquire({ wait: 1500 }).catch((error) => print(error.code));
       await locks.close();
       client.disconnect();`,
      scene.port,
    );
    expect(ended).toMatchObject({ code: 0, output: 'null\ntimeout\n' });
  });
});

describe.concurrent('errors', () => {
  it('node-redlock#168, #288, #284, #19: held by another and Redis down are different errors', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    await scene.neighbour().mutex('a').acquire();
    const busy = await settled(locks.mutex('a').acquire({ wait: '1s' }));
    await scene.proxy.set({ kind: 'refuse' });
    const down = await settled(locks.mutex('a').acquire({ wait: 300 }));
    expect(busy).toBeInstanceOf(LockTimeoutError);
    expect(down).toBeInstanceOf(LockUnavailableError);
    expect(down).not.toBeInstanceOf(LockTimeoutError);
  });

  it('node-redlock#185: failing to take and failing to keep are different errors', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const loss = lossOf(await locks.mutex('a').acquire({ lease: '600ms' }));
    await scene.proxy.set({ kind: 'refuse' });
    expect((await loss).reason).toMatchObject({ code: 'lost', reason: 'unreachable' });
    expect(await settled(locks.mutex('b').acquire({ wait: 300 }))).toMatchObject({
      code: 'unavailable',
    });
  });

  it('redlock-universal: whether it is locked is not known when the store is down', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks({ requestTimeoutMs: 500 });
    await scene.proxy.set({ kind: 'refuse' });
    await expect(locks.mutex('a').inspect()).rejects.toBeInstanceOf(LockUnavailableError);
  });

  it('node-redlock#309, #369: a lost lock neither hides the error of the body nor delays it', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const business = new Error('business');
    const body = async (): Promise<never> => {
      await scene.direct.del('lock:{a}', 'b');
      throw business;
    };
    const redlock = new Redlock([scene.client()], { retryCount: 2 });
    redlock.on('error', () => {});
    const control = settled(redlock.using(['b'], 5000, body));
    const beganMs = performance.now();
    expect(await settled(locks.mutex('a').run(body))).toBe(business);
    expect(performance.now() - beganMs).toBeLessThan(withinMs(1000));
    expect(await control).not.toBe(business);
  });

  it('node-redlock#309: nor does a store that is down when the body has failed', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks({ requestTimeoutMs: 300 });
    const scoped = async (): Promise<void> => {
      await using lease = await locks.mutex('a').acquire();
      await scene.proxy.set({ kind: 'refuse' });
      throw new Error(`business ${lease.name}`);
    };
    await expect(scoped()).rejects.toThrow(/^business a$/);
  });

  it('redis-py#621: a lock that was not taken runs no body', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    await scene.neighbour().mutex('a').acquire();
    let ran = false;
    const body = (): void => {
      ran = true;
    };
    await expect(locks.mutex('a').run(body, { wait: '1s' })).rejects.toThrow(LockTimeoutError);
    expect(ran).toBe(false);
  });

  it('redis-py#3532: leaving a scope after the lease has ended raises nothing', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const scoped = async (): Promise<string> => {
      await using lease = await locks.mutex('a').acquire({ lease: 200, renew: false });
      await until(async () => (await scene.ownerOf('a')) === null);
      return lease.name;
    };
    expect(await scoped()).toBe('a');
  });
});

describe.concurrent('renewal, expiry and release', () => {
  it('redis-semaphore#205: a release beside a renewal is a release', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    await locks.mutex('before').run(() => {});
    const link = scene.proxy.link('evalsha');
    link.set({ kind: 'delay', way: 'replies', delayMs: 30 });
    for (let round = 0; round < 5; round++) {
      const lease = await locks.mutex('a').acquire({ lease: '300ms', ...WAIT });
      const sentBytes = link.requests.text.length;
      await until(() => link.requests.text.length > sentBytes);
      expect(await lease.release()).toBe('released');
      expect(await scene.ownerOf('a')).toBe(null);
    }
  });

  it('redis-semaphore#177: a renewal does not take a lost lock again', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '600ms' });
    const loss = lossOf(lease);
    await scene.direct.del('lock:{a}');
    await loss;
    await elapse(1000);
    expect(await scene.ownerOf('a')).toBe(null);
    await expect(lease.extend()).rejects.toBeInstanceOf(LockLostError);
    expect(await scene.ownerOf('a')).toBe(null);
  });

  it('redisson#7272, #2714, #1626: nothing is renewed after its release', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    // Released at every point of the time of a renewal, which is due after a hundred milliseconds.
    await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const lease = await locks.mutex(`name:${index}`).acquire({ lease: '300ms' });
        await elapse(80 + index);
        await lease.release();
      }),
    );
    await scene.forgetCalls();
    await elapse(1000);
    expect(await scene.callsOf('evalsha')).toBe(0);
    expect(
      await scene.direct.exists(...Array.from({ length: 40 }, (_, at) => `lock:{name:${at}}`)),
    ).toBe(0);
  });

  it('RedLock.net#68, python-redis-lock#114: a holder that is stuck does not renew for ever', async () => {
    await using scene = await LockScene.open();
    const options = { lease: '300ms', maxHold: '1s' } as const;
    const lease = await (await scene.locks()).mutex('a').acquire(options);
    const next = await scene.neighbour().mutex('a').acquire(WAIT);
    expect(lease.isHeld).toBe(false);
    expect(next.fence).toBeGreaterThan(lease.fence);
  });

  it('redsync#153, ShedLock#606, laravel#58349: nobody has to guess how long the work takes', async () => {
    await using scene = await LockScene.open();
    const other = scene.neighbour().mutex('a');
    const body = async (): Promise<string> => {
      await elapse(4000);
      expect(await other.tryAcquire()).toBe(null);
      return 'done';
    };
    expect(await (await scene.locks()).mutex('a').run(body, { lease: '1500ms' })).toBe('done');
  });

  it('verrou, and every DEL without a look: a stale holder does not free the new one', async () => {
    const clock = virtualClock();
    await using embedded = createLocks({ clock });
    const stale = await embedded.mutex('a').acquire({ lease: '1s', renew: false });
    clock.advance(1001);
    const next = await embedded.mutex('a').acquire();
    expect(await stale.release()).toBe('not-held');
    expect(await embedded.mutex('a').tryAcquire()).toBe(null);
    expect(next.isHeld).toBe(true);
  });
});

describe.concurrent('the life of a process', () => {
  /** Less than the leases, which a process must not wait for. */
  const QUICKLY_MS = withinMs(6000, 10_000);

  it('proper-lockfile#3, node-redlock#369: a lock that is held keeps no process alive', async () => {
    const ended = await run(
      `const locks = createLocks();
       await locks.mutex('a').acquire({ lease: '10s' });`,
    );
    expect(ended).toMatchObject({ code: 0, output: '' });
    expect(ended.tookMs).toBeLessThan(QUICKLY_MS);
  });

  it('proper-lockfile#3: nor one in a Redis whose client has been closed', async () => {
    await using scene = await LockScene.open();
    const ended = await run(
      `const client = new Redis(port);
       const locks = createLocks({ store: redisStore(client) });
       await locks.mutex('a').acquire({ lease: '20s' });
       client.disconnect();`,
      scene.port,
    );
    expect(ended).toMatchObject({ code: 0, output: '' });
    expect(ended.tookMs).toBeLessThan(QUICKLY_MS);
  });

  it('node-redlock#369: after close nothing is left', async () => {
    await using scene = await LockScene.open();
    const ended = await run(
      `const locks = createLocks('redis://127.0.0.1:' + port);
       await locks.mutex('a').acquire({ lease: '20s' });
       const waiting = locks.mutex('a').acquire({ wait: '20s' }).catch((error) => error.code);
       while ((await locks.mutex('a').inspect()).waiters.length === 0);
       await locks.close();
       print(await waiting);`,
      scene.port,
    );
    expect(ended).toMatchObject({ code: 0, output: 'aborted\n' });
    expect(ended.tookMs).toBeLessThan(QUICKLY_MS);
    expect(await scene.ownerOf('a')).toBe(null);
  });

  it('gnmic#944, ShedLock#2047: a program that is asked to end leaves no lock until its lease ends', async () => {
    await using scene = await LockScene.open();
    const program = await scene.program();
    await program.acquire('a', { lease: '30s' });
    await program.close();
    expect(await scene.neighbour().mutex('a').tryAcquire()).not.toBe(null);
  });
});
