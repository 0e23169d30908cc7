import diagnostics from 'node:diagnostics_channel';
import { setMaxListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { virtualClock } from '../src/clock/index.ts';
import {
  createLocks,
  DeadlockError,
  LockAbortedError,
  LockTimeoutError,
  redisStore,
} from '../src/index.ts';
import { elapse, LockScene, lossOf, settled, until } from './lock-scene.ts';
import { withinMs } from './within.ts';

/*
 * More bugs and missing features that users of other lock libraries reported, by library and GitHub issue.
 */

const WAIT = { wait: '25s' } as const;

describe.concurrent('waiting', () => {
  it('common-voice#2476: waiters do not poll', async () => {
    await using scene = await LockScene.open();
    await scene.neighbour().mutex('a').acquire();
    const programs = await Promise.all([1, 2, 3, 4].map(() => scene.locks()));
    const abort = new AbortController();
    setMaxListeners(0, abort.signal);
    const waiting = programs.flatMap((locks) =>
      [1, 2, 3, 4, 5].map(() =>
        settled(locks.mutex('a').acquire({ wait: '25s', signal: abort.signal })),
      ),
    );
    await until(async () => (await scene.waitersOf('a')) >= 4);
    await elapse(200);
    await scene.forgetCalls();
    await elapse(1500);
    // With the retry delay of node-redlock, 200 ms, it would be 150.
    expect(await scene.callsOf('evalsha')).toBeLessThanOrEqual(20);
    abort.abort();
    for (const outcome of await Promise.all(waiting))
      expect(outcome).toBeInstanceOf(LockAbortedError);
    await until(async () => (await scene.waitersOf('a')) === 0);
  });

  it('opencti#17341: the grant event has the time that the caller waited', async () => {
    await using scene = await LockScene.open();
    const events: { lock: string; waitedMs: number }[] = [];
    const listener = (event: unknown): void => {
      events.push(event as { lock: string; waitedMs: number });
    };
    diagnostics.subscribe('holdfast:grant', listener);
    const lease = await scene.neighbour().mutex('contended').acquire();
    const waiting = (await scene.locks()).mutex('contended').acquire(WAIT);
    await elapse(300);
    await lease.release();
    await waiting;
    diagnostics.unsubscribe('holdfast:grant', listener);
    const waits = events.filter(({ lock }) => lock === 'contended').map(({ waitedMs }) => waitedMs);
    expect(waits).toHaveLength(2);
    expect(waits[0]).toBeLessThan(waits[1]!);
    expect(waits[1]).toBeGreaterThan(200);
  });

  it('python-redis-lock#58, node-redlock#218: a new request does not get the lock before the waiter that was notified', async () => {
    await using scene = await LockScene.open();
    const lease = await scene.neighbour().mutex('a').acquire();
    const waiting = (await scene.locks()).mutex('a').acquire(WAIT);
    await until(async () => (await scene.waitersOf('a')) === 1);
    // The message is delayed, and the new request is not.
    (await scene.proxy.linkLater('subscribe')).set({ kind: 'delay', way: 'replies', delayMs: 600 });
    await lease.release();
    expect(await scene.neighbour().mutex('a').tryAcquire()).toBe(null);
    expect((await waiting).isHeld).toBe(true);
  });

  it('redisson#3004, #3730, #6150: waiters that timed out do not delay the next one', async () => {
    await using scene = await LockScene.open();
    const lease = await scene.neighbour().mutex('a').acquire();
    const impatient = await scene.locks();
    const attempts = Array.from({ length: 20 }, () =>
      settled(impatient.mutex('a').acquire({ wait: '1s' })),
    );
    const waiting = (await scene.locks()).mutex('a').acquire(WAIT);
    for (const outcome of await Promise.all(attempts))
      expect(outcome).toBeInstanceOf(LockTimeoutError);
    const beganMs = performance.now();
    await lease.release();
    expect((await waiting).isHeld).toBe(true);
    expect(performance.now() - beganMs).toBeLessThan(withinMs(2000));
    expect(await scene.waitersOf('a')).toBe(0);
  });

  it('redisson#3891: a lost message delays the waiter by seconds, not by the lease of 30 s', async () => {
    await using scene = await LockScene.open();
    const lease = await scene.neighbour().mutex('a').acquire({ lease: '30s' });
    const waiting = (await scene.locks()).mutex('a').acquire(WAIT);
    await until(async () => (await scene.waitersOf('a')) === 1);
    const beganMs = performance.now();
    await Promise.all([scene.direct.call('CLIENT', 'KILL', 'TYPE', 'pubsub'), lease.release()]);
    expect((await waiting).isHeld).toBe(true);
    expect(performance.now() - beganMs).toBeLessThan(withinMs(7000));
  });

  it.each([1, 2, 3, 4])(
    'redisson#3891: no message is lost if the release is sent together with request %i of the waiter',
    async (number) => {
      await using scene = await LockScene.open();
      const client = scene.client();
      const locks = createLocks({ store: redisStore(client as never) });
      scene.onClose(() => locks.close());
      const lease = await locks.mutex('a').acquire();
      const send = client.sendCommand.bind(client);
      let requests = 0;
      const patched: typeof send = (command) => {
        // Both requests are sent together, and their replies arrive together.
        if (command.name === 'evalsha' && ++requests === number) lease.release();
        return send(command);
      };
      Object.assign(client, { sendCommand: patched });
      const waiting = locks.mutex('a').acquire(WAIT);
      const beganMs = performance.now();
      // If the waiter sends fewer requests, the lock is released here.
      until(async () => (await scene.waitersOf('a')) === 1, 500).then(
        () => lease.release(),
        () => {},
      );
      expect((await waiting).isHeld).toBe(true);
      expect(performance.now() - beganMs).toBeLessThan(withinMs(7000));
    },
  );

  it('redisson#4216, #5046: many contended locks share one subscription', async () => {
    await using scene = await LockScene.open();
    const names = Array.from({ length: 50 }, (_, index) => `name:${index}`);
    const leases = await Promise.all(names.map((name) => scene.neighbour().mutex(name).acquire()));
    const locks = await scene.locks();
    const waiting = names.map((name) => locks.mutex(name).acquire(WAIT));
    for (const name of names) await until(async () => (await scene.waitersOf(name)) === 1);
    expect(await scene.direct.pubsub('CHANNELS', 'holdfast:*')).toHaveLength(1);
    await Promise.all(leases.map((lease) => lease.release()));
    expect((await Promise.all(waiting)).every((lease) => lease.isHeld)).toBe(true);
  });

  it('node-redlock#86, #85: a signal ends the wait', async () => {
    await using scene = await LockScene.open();
    await scene.neighbour().mutex('a').acquire();
    const waiting = (await scene.locks()).mutex('a').acquire({ signal: AbortSignal.timeout(200) });
    await expect(waiting).rejects.toBeInstanceOf(LockAbortedError);
    await until(async () => (await scene.waitersOf('a')) === 0);
  });
});

describe.concurrent('features', () => {
  it('node-redlock#12, #66, #155: inspect() returns holders and waiters', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    await locks.mutex('a').acquire({ label: 'report' });
    const waiting = (await scene.locks()).mutex('a').acquire({ wait: 1000, label: 'impatient' });
    await until(async () => (await scene.waitersOf('a')) === 1);
    expect(await scene.neighbour().mutex('a').inspect()).toMatchObject({
      holders: [{ label: 'report', pid: process.pid, leftMs: expect.any(Number) }],
      waiters: [{ label: 'impatient', pid: process.pid }],
    });
    await settled(waiting);
  });

  it('node-redlock#30, RedLock.net#32: forceRelease() ends the lease of a lock by its name', async () => {
    await using scene = await LockScene.open();
    const lease = await (await scene.locks()).mutex('a').acquire({ lease: '10s' });
    expect(await scene.neighbour().mutex('a').forceRelease()).toBe(1);
    const next = await scene.neighbour().mutex('a').acquire({ wait: 0 });
    expect(next.fence).toBeGreaterThan(lease.fence + 1);
  });

  it('node-redlock#54, RedLock.net#67: programs can be tested without Redis and in virtual time', async () => {
    const clock = virtualClock();
    await using locks = createLocks({ clock });
    const lease = await locks.mutex('a').acquire({ lease: '1h', renew: false });
    const loss = lossOf(lease);
    clock.advance(3_600_000);
    expect((await loss).reason).toMatchObject({ reason: 'expired' });
  });

  it('node-redlock#195, #64, redisson#5449: keys have a prefix, and share a hash tag', async () => {
    await using scene = await LockScene.open();
    await scene.direct.set('order:42', 'data');
    const lease = await scene.neighbour().mutex('order:42').acquire();
    const waiting = (await scene.locks()).mutex('order:42').acquire(WAIT);
    await until(async () => (await scene.waitersOf('order:42')) === 1);
    const keys = (await scene.direct.keys('*')).filter((key) => key !== 'order:42');
    for (const key of keys) expect(key).toMatch(/^lock:\{order:42\}/);
    expect(keys.length).toBeGreaterThan(1);
    await lease.release();
    await waiting;
    expect(await scene.direct.get('order:42')).toBe('data');
  });

  it('node-redlock#163, #282: node-redis is supported', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks({ client: 'node-redis' });
    expect(await locks.mutex('a').run(({ fence }) => fence)).toBeGreaterThan(0);
  });

  it('redisson#4796, symfony#41130: a request that would wait for itself rejects with DeadlockError at once', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const beganMs = performance.now();
    const { read, write } = locks.readWrite('document');
    const upgrade = read.run(() => write.acquire({ wait: '20s' }));
    await expect(upgrade).rejects.toBeInstanceOf(DeadlockError);
    const nested = locks.mutex('a').run(() => locks.mutex('a').acquire({ wait: '20s' }));
    await expect(nested).rejects.toBeInstanceOf(DeadlockError);
    expect(performance.now() - beganMs).toBeLessThan(withinMs(5000));
    expect(await scene.ownerOf('a')).toBe(null);
  });

  it('kuzzle#2664, codex-multi-auth#505: reentrant requests of one callback take turns', async () => {
    await using scene = await LockScene.open();
    const mutex = (await scene.locks()).mutex('a');
    let inside = 0;
    let max = 0;
    const child = async (): Promise<void> => {
      max = Math.max(max, ++inside);
      await elapse(20);
      inside--;
    };
    await mutex.run(async () => {
      await Promise.all([1, 2, 3].map(() => mutex.run(child, { reentrant: true })));
      expect(await scene.ownerOf('a')).not.toBe(null);
    });
    expect(max).toBe(1);
    expect(await scene.ownerOf('a')).toBe(null);
  });
});
