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
 * Bugs that users of other lock libraries reported, by library and GitHub issue. Some tests run the other library as a
 * control, which shows that the test detects the bug.
 */

const WAIT = { wait: '25s' } as const;

/** The compiler does not find the types of the package. */
const { default: Redlock } = (await import('redlock' as string)) as {
  default: new (
    clients: unknown[],
    settings?: object,
  ) => {
    acquire(names: string[], durationMs: number): Promise<{ expiration: number }>;
    using(names: string[], durationMs: number, callback: () => Promise<unknown>): Promise<unknown>;
    on(event: 'error', listener: () => void): void;
  };
};

/** Runs a program that uses the built package. Returns its exit code, output and duration. */
async function run(
  program: string,
  port = 0,
): Promise<{ code: number | null; output: string; tookMs: number }> {
  const source = `
    import { Redis } from 'ioredis';
    const { createLocks, redisStore } = await import('${BUILD}');
    const port = ${port};
    const print = (...values) => process.stdout.write(values.join(' ') + '\\n');
    ${program}`;
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
  it('redisson#4698, RedLock.net#92: the signal of the holder aborts with the reason when a renewal fails', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '600ms' });
    const loss = lossOf(lease);
    await scene.neighbour().mutex('a').forceRelease();
    expect((await loss).reason).toBeInstanceOf(LockLostError);
    expect((await loss).reason).toMatchObject({ reason: 'stolen', lock: 'a' });
  });

  it('redisson#3636, etcd#10811: two sides of a partition never both hold the lock', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '1500ms' });
    const { signal } = lease;
    await scene.proxy.set({ kind: 'swallow' });
    const next = await scene.neighbour().mutex('a').acquire(WAIT);
    expect(next.isHeld).toBe(true);
    expect(lease.isHeld).toBe(false);
    expect(signal.aborted).toBe(true);
  });

  it('redisson#5698: the lock is not granted to a second holder after one failed renewal', async () => {
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

  it('redlock-universal: one failed renewal does not end a valid lease', async () => {
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

  it('redis-semaphore#24: a lease ends during the sleep of a machine, and assertHeld() throws', async () => {
    const clock = virtualClock();
    await using locks = createLocks({ clock });
    const lease = await locks.mutex('a').acquire({ lease: '30s' });
    clock.jumpWall(8 * 3_600_000);
    expect(() => lease.assertHeld()).toThrow(LockLostError);
  });

  it('etcd#11456, node-redlock#299 and #369: acquire() fails if the lease has ended when the grant arrives', async () => {
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

describe.concurrent('exceptions and output', () => {
  it('redis-semaphore#199: a store that does not reply to renewals causes no crash and no output', async () => {
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

  it('redis-semaphore#9: a stall as at a breakpoint causes no unhandled rejection', async () => {
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

  it('node-redlock#283: extend() rejects after the end of the lease, and no other error is raised', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: 500, renew: false });
    await until(async () => (await scene.ownerOf('a')) === null);
    await expect(lease.extend()).rejects.toBeInstanceOf(LockLostError);
    expect(await scene.ownerOf('a')).toBe(null);
  });

  it('parabol#11685, outline#12049: a busy lock returns null or one rejection, and emits no error event', async () => {
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
  it('node-redlock#168, #288, #284, #19: a busy lock and an unreachable Redis give different errors', async () => {
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

  it('node-redlock#185: a failed acquisition and a lost lease give different errors', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const loss = lossOf(await locks.mutex('a').acquire({ lease: '600ms' }));
    await scene.proxy.set({ kind: 'refuse' });
    expect((await loss).reason).toMatchObject({ code: 'lost', reason: 'unreachable' });
    expect(await settled(locks.mutex('b').acquire({ wait: 300 }))).toMatchObject({
      code: 'unavailable',
    });
  });

  it('redlock-universal: inspect() rejects when the store is unreachable', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks({ requestTimeoutMs: 500 });
    await scene.proxy.set({ kind: 'refuse' });
    await expect(locks.mutex('a').inspect()).rejects.toBeInstanceOf(LockUnavailableError);
  });

  it('node-redlock#309, #369: run() rejects with the error of the callback at once when the lock was lost', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const business = new Error('business');
    const callback = async (): Promise<never> => {
      await scene.direct.del('lock:{a}', 'b');
      throw business;
    };
    const redlock = new Redlock([scene.client()], { retryCount: 2 });
    redlock.on('error', () => {});
    const control = settled(redlock.using(['b'], 5000, callback));
    const beganMs = performance.now();
    expect(await settled(locks.mutex('a').run(callback))).toBe(business);
    expect(performance.now() - beganMs).toBeLessThan(withinMs(1000));
    expect(await control).not.toBe(business);
  });

  it('node-redlock#309: an error of the block is kept when the store is unreachable at the release', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks({ requestTimeoutMs: 300 });
    const block = async (): Promise<void> => {
      await using lease = await locks.mutex('a').acquire();
      await scene.proxy.set({ kind: 'refuse' });
      throw new Error(`business ${lease.name}`);
    };
    await expect(block()).rejects.toThrow(/^business a$/);
  });

  it('redis-py#621: run() does not call the callback if the lock is not acquired', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    await scene.neighbour().mutex('a').acquire();
    let ran = false;
    const callback = (): void => {
      ran = true;
    };
    await expect(locks.mutex('a').run(callback, { wait: '1s' })).rejects.toThrow(LockTimeoutError);
    expect(ran).toBe(false);
  });

  it('redis-py#3532: await using does not throw after the end of the lease', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const block = async (): Promise<string> => {
      await using lease = await locks.mutex('a').acquire({ lease: 200, renew: false });
      await until(async () => (await scene.ownerOf('a')) === null);
      return lease.name;
    };
    expect(await block()).toBe('a');
  });
});

describe.concurrent('renewal, expiry and release', () => {
  it('redis-semaphore#205: a release during a renewal returns released', async () => {
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

  it('redis-semaphore#177: a renewal does not acquire a lost lock again', async () => {
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

  it('redisson#7272, #2714, #1626: no renewal is sent after the release', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    // The releases are spread around the renewal, which is due after 100 ms.
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

  it('RedLock.net#68, python-redis-lock#114: maxHold ends the renewals of a stuck holder', async () => {
    await using scene = await LockScene.open();
    const options = { lease: '300ms', maxHold: '1s' } as const;
    const lease = await (await scene.locks()).mutex('a').acquire(options);
    const next = await scene.neighbour().mutex('a').acquire(WAIT);
    expect(lease.isHeld).toBe(false);
    expect(next.fence).toBeGreaterThan(lease.fence);
  });

  it('redsync#153, ShedLock#606, laravel#58349: a lock is held for as long as the callback runs', async () => {
    await using scene = await LockScene.open();
    const other = scene.neighbour().mutex('a');
    const callback = async (): Promise<string> => {
      await elapse(4000);
      expect(await other.tryAcquire()).toBe(null);
      return 'done';
    };
    expect(await (await scene.locks()).mutex('a').run(callback, { lease: '1500ms' })).toBe('done');
  });

  it('verrou, and every DEL without a check: a stale holder does not release the lock of the next one', async () => {
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

describe.concurrent('process exit', () => {
  /** Less than the leases: a process must not wait for their end. */
  const QUICKLY_MS = withinMs(6000, 10_000);

  it('proper-lockfile#3, node-redlock#369: a held lock does not keep the process alive', async () => {
    const ended = await run(
      `const locks = createLocks();
       await locks.mutex('a').acquire({ lease: '10s' });`,
    );
    expect(ended).toMatchObject({ code: 0, output: '' });
    expect(ended.tookMs).toBeLessThan(QUICKLY_MS);
  });

  it('proper-lockfile#3: a held lock in Redis does not keep the process alive after its client was closed', async () => {
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

  it('node-redlock#369: close() leaves no lock and nothing that keeps the process alive', async () => {
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

  it('gnmic#944, ShedLock#2047: close() releases all locks before their leases end', async () => {
    await using scene = await LockScene.open();
    const program = await scene.program();
    await program.acquire('a', { lease: '30s' });
    await program.close();
    expect(await scene.neighbour().mutex('a').tryAcquire()).not.toBe(null);
  });
});
