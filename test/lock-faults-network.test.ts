import { describe, expect, it } from 'vitest';
import { type Lease, LockError, type LockLostError, LockUnavailableError } from '../src/index.ts';
import { type Fault, PASS } from './fault-proxy.ts';
import { elapse, LockScene, type Loss, lossOf, settled, until } from './lock-scene.ts';
import { withinMs } from './within.ts';

/*
 * Faults between a program and redis-server: bytes are lost or delayed, connections are refused. Leases end by the
 * server's clock, so these tests take real time. Time limits are wide; the order of events is checked strictly.
 */

type LossReason = LockLostError['reason'];

const BLACK_HOLE: Fault = { kind: 'swallow' };

async function durationOf(work: Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await settled(work);
  return performance.now() - beganMs;
}

/** Acquires a lock through the proxy, and records its loss. */
async function hold(
  scene: LockScene,
  options: Parameters<LockScene['locks']>[0] & { leaseMs: number; renew?: boolean },
): Promise<{ lease: Lease; loss: ReturnType<typeof lossOf> }> {
  const { leaseMs, renew = true, ...program } = options;
  const locks = await scene.locks(program);
  const lease = await locks.mutex('a').acquire({ lease: leaseMs, renew });
  return { lease, loss: lossOf(lease) };
}

/** The signal aborted before the lease ended in the store, less the delay of the event loop. */
function expectAbortInTime({ atMs, lateMs, reason }: Loss, why: LossReason, endMs: number): void {
  expect(reason).toMatchObject({ code: 'lost', reason: why });
  expect(atMs - lateMs).toBeLessThan(endMs);
  // Not much earlier: the holder can use its lease.
  expect(atMs).toBeGreaterThan(endMs - 1000);
}

describe.concurrent('mode 8: a connection that drops all bytes', () => {
  it.each([
    ['of requests', { kind: 'swallow', way: 'requests' }],
    ['of replies', { kind: 'swallow', way: 'replies' }],
    ['both ways', BLACK_HOLE],
  ] as const)('%s makes acquire() fail as unavailable after the wait timeout', async (_, fault) => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    await locks.mutex('before').run(() => {});
    await scene.proxy.set(fault);
    const beganMs = performance.now();
    const outcome = await settled(locks.mutex('a').acquire({ wait: 600 }));
    const tookMs = performance.now() - beganMs;
    expect(outcome).toBeInstanceOf(LockUnavailableError);
    expect(tookMs).toBeGreaterThan(500);
    expect(tookMs).toBeLessThan(withinMs(3000));
  });

  it('makes tryAcquire() fail as unavailable, not return null', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks({ requestTimeoutMs: 300 });
    await locks.mutex('before').run(() => {});
    await scene.proxy.set(BLACK_HOLE);
    await expect(locks.mutex('a').tryAcquire()).rejects.toBeInstanceOf(LockUnavailableError);
  });

  it.each(['ioredis', 'node-redis'] as const)(
    'aborts the signal of the holder through %s before its lease ends and another client holds the lock',
    async (client) => {
      await using scene = await LockScene.open();
      const { lease, loss } = await hold(scene, { leaseMs: 3000, client });
      const { signal } = lease;
      const waiting = scene.neighbour().mutex('a').acquire({ wait: '20s' });
      await scene.proxy.set(BLACK_HOLE);
      const endMs = await scene.endMs('a');
      const next = await waiting;
      // The holder's own clock decides.
      expect(lease.isHeld).toBe(false);
      expect(signal.aborted).toBe(true);
      expectAbortInTime(await loss, 'unreachable', endMs);
      expect(next.fence).toBeGreaterThan(lease.fence);
    },
  );

  it('makes each request fail after its timeout, and a release return unknown', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks({ requestTimeoutMs: 300 });
    const lease = await locks.mutex('a').acquire({ lease: '20s' });
    const mutex = locks.mutex('b');
    await scene.proxy.set(BLACK_HOLE);
    const beganMs = performance.now();
    const requests: Promise<unknown>[] = [mutex.inspect(), mutex.forceRelease()];
    for (const outcome of await Promise.all(requests.map(settled))) {
      expect(outcome).toBeInstanceOf(LockUnavailableError);
    }
    expect(performance.now() - beganMs).toBeLessThan(withinMs(3000));
    expect(await lease.release()).toBe('unknown');
    // The release did not reach the server: the lock stays until the lease ends.
    expect(await scene.ownerOf('a')).not.toBe(null);
  });

  it('on one connection makes our own client open another', async () => {
    await using scene = await LockScene.open();
    const locks = scene.locksByUrl();
    await locks.mutex('before').run(() => {});
    // Like a firewall that drops one connection: new connections work.
    scene.proxy.link('evalsha').set(BLACK_HOLE);
    const lease = await locks.mutex('a').acquire({ wait: '20s' });
    expect(await lease.release()).toBe('released');
  });

  it('for less than the lease does not end the lease', async () => {
    await using scene = await LockScene.open();
    const { lease } = await hold(scene, { leaseMs: 4000, requestTimeoutMs: 500 });
    await scene.proxy.set(BLACK_HOLE);
    await until(() => scene.proxy.links.some((link) => link.isBroken));
    await scene.proxy.set(PASS);
    // Longer than the lease, which was renewed meanwhile.
    await elapse(5000);
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe('released');
  });
});

describe.concurrent('mode 3: a lease that ends while its holder works', () => {
  it('aborts the signal before the end in the store', async () => {
    await using scene = await LockScene.open();
    const { lease, loss } = await hold(scene, { leaseMs: 3000, renew: false });
    const endMs = await scene.endMs('a');
    expectAbortInTime(await loss, 'expired', endMs);
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'lost' }));
    await until(async () => (await scene.ownerOf('a')) === null);
    expect(await lease.release()).toBe('not-held');
  });
});

describe.concurrent('mode 13: a grant that arrives too late', () => {
  it('makes acquire() fail, and the lock is free afterwards', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    await locks.mutex('before').run(() => {});
    await scene.proxy.set({ kind: 'delay', way: 'replies', delayMs: 700 });
    const attempt = locks.mutex('a').acquire({ lease: 500, wait: 2000 });
    await expect(attempt).rejects.toThrow(
      /is too slow: its reply took \d+ ms, and the lease is 500/,
    );
    await scene.proxy.set(PASS);
    await until(async () => (await scene.ownerOf('a')) === null);
    expect(await scene.holdersOf('a')).toEqual([]);
  });

  it('makes tryAcquire() fail as unavailable', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    await locks.mutex('before').run(() => {});
    await scene.proxy.set({ kind: 'delay', way: 'replies', delayMs: 700 });
    const outcome = await settled(locks.mutex('a').tryAcquire({ lease: 300 }));
    expect(outcome).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('too slow'),
    });
  });

  it('is released before its lease ends', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    await locks.mutex('before').run(() => {});
    const link = scene.proxy.link('evalsha');
    link.set({ kind: 'delay', way: 'requests', delayMs: 1500 });
    const receivedBytes = link.replies.text.length;
    const attempt = settled(locks.mutex('a').acquire({ lease: 1000, wait: 1200 }));
    await until(() => link.requests.text.includes('lock:{a}'));
    link.set(PASS);
    expect(await attempt).toBeInstanceOf(LockError);
    await until(() => link.replies.text.length > receivedBytes);
    const tookMs = await durationOf(until(async () => (await scene.ownerOf('a')) === null));
    expect(tookMs).toBeLessThan(withinMs(500));
  });
});

describe.concurrent('modes 13 and 17: a message that arrives too late', () => {
  it('does not make the waiter a holder: another client has the lock', async () => {
    await using scene = await LockScene.open();
    const mutex = scene.neighbour().mutex('a');
    const lease = await mutex.acquire({ lease: '30s' });
    const waiting = (await scene.locks()).mutex('a').acquire({ wait: '25s' });
    await until(async () => (await scene.waitersOf('a')) === 1);
    // The message takes longer than the reservation. So do the replies to all requests of the waiter.
    for (const link of scene.proxy.links)
      link.set({ kind: 'delay', way: 'replies', delayMs: 7000 });
    await lease.release();
    let next = await mutex.tryAcquire();
    while (next === null) next = await mutex.tryAcquire();
    const { fence } = next;
    let isGranted = false;
    waiting.then(() => {
      isGranted = true;
    });
    await elapse(3000);
    expect(isGranted).toBe(false);
    expect(await scene.holdersOf('a')).toMatchObject([{ fence }]);
    await scene.proxy.set(PASS);
    expect(await next.release()).toBe('released');
    expect((await waiting).fence).toBeGreaterThan(fence);
  });
});

describe.concurrent('mode 11: a release that arrives late', () => {
  it('does not end the lease of the next holder, and returns unknown', async () => {
    await using scene = await LockScene.open();
    const { lease } = await hold(scene, { leaseMs: 500, renew: false });
    await scene.proxy.set({ kind: 'delay', way: 'requests', delayMs: 1000 });
    const outcome = lease.release();
    const next = await scene.neighbour().mutex('a').acquire({ wait: '10s' });
    const owner = await scene.ownerOf('a');
    // The caller does not wait for the late reply.
    expect(await outcome).toBe('unknown');
    expect(await scene.ownerOf('a')).toBe(owner);
    expect(next.isHeld).toBe(true);
  });

  it('does not end the lease of the next holder when its connection has ended', async () => {
    await using scene = await LockScene.open();
    const { lease } = await hold(scene, { leaseMs: 500, renew: false });
    const link = scene.proxy.link('evalsha');
    link.set({ kind: 'delay', way: 'requests', delayMs: 1500 });
    const beforeBytes = link.requests.text.length;
    const outcome = lease.release();
    await until(() => link.requests.text.length > beforeBytes);
    link.hangUp();
    expect(await outcome).toBe('released');
    const next = await scene.neighbour().mutex('a').acquire({ wait: '10s' });
    const owner = await scene.ownerOf('a');
    await elapse(2000);
    expect(await scene.ownerOf('a')).toBe(owner);
    expect(next.isHeld).toBe(true);
  });
});

describe.concurrent('mode 12: a request that is under way during the release', () => {
  it('does not restore the lock if it is a renewal', async () => {
    await using scene = await LockScene.open();
    const { lease } = await hold(scene, { leaseMs: 900 });
    const link = scene.proxy.link('evalsha');
    link.set({ kind: 'delay', way: 'requests', delayMs: 1000 });
    const beforeBytes = link.requests.text.length;
    await until(() => link.requests.text.length > beforeBytes);
    link.hangUp();
    expect(await lease.release()).toBe('released');
    const repliesBytes = link.replies.text.length;
    await until(() => link.replies.text.length > repliesBytes || link.isOver);
    expect(await scene.ownerOf('a')).toBe(null);
    await elapse(500);
    expect(await scene.ownerOf('a')).toBe(null);
  });

  it('leaves the lock taken for one lease at most if it is an acquisition', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    await locks.mutex('before').run(() => {});
    const link = scene.proxy.link('evalsha');
    link.set({ kind: 'delay', way: 'requests', delayMs: 500 });
    const beforeBytes = link.requests.text.length;
    const attempt = locks.mutex('a').acquire({ lease: 1000, wait: '10s' });
    await until(() => link.requests.text.length > beforeBytes);
    link.hangUp();
    expect(await (await attempt).release()).toBe('released');
    await until(() => link.isOver);
    const tookMs = await durationOf(until(async () => (await scene.ownerOf('a')) === null));
    expect(tookMs).toBeLessThan(withinMs(1500));
  });
});

describe.concurrent('mode 10: a server that refuses connections', () => {
  it('for a while, gets the request again until it replies', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    await scene.proxy.set({ kind: 'refuse' });
    const attempt = locks.mutex('a').acquire({ wait: '20s' });
    await elapse(500);
    await scene.proxy.set(PASS);
    expect((await attempt).isHeld).toBe(true);
  });

  it('makes requests fail as unavailable', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks({ requestTimeoutMs: 500 });
    await scene.proxy.set({ kind: 'refuse' });
    const outcome = await settled(locks.mutex('a').tryAcquire());
    expect(outcome).toBeInstanceOf(LockUnavailableError);
    expect((outcome as LockUnavailableError).cause).toBeInstanceOf(Error);
    const waited = await settled(locks.mutex('a').acquire({ wait: 700 }));
    expect(waited).toBeInstanceOf(LockUnavailableError);
  });

  it('makes the holder lose its lease, and its signal aborts in time', async () => {
    await using scene = await LockScene.open();
    const { loss } = await hold(scene, { leaseMs: 3000 });
    await scene.proxy.set({ kind: 'refuse' });
    const endMs = await scene.endMs('a');
    expectAbortInTime(await loss, 'unreachable', endMs);
  });

  it('by repeated resets loses no grant and leaves no lock behind', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    let isOver = false;
    const resets = (async () => {
      while (!isOver) {
        await elapse(7);
        for (const link of scene.proxy.links) link.set({ kind: 'reset' });
      }
    })();
    const fences: number[] = [];
    const outcomes = new Set<string>();
    for (let round = 0; round < 60; round++) {
      const lease = await locks.mutex('a').acquire({ lease: '10s', wait: '20s' });
      fences.push(lease.fence);
      outcomes.add(await lease.release());
    }
    isOver = true;
    await resets;
    expect(fences).toEqual([...fences].sort((one, other) => one - other));
    expect(new Set(fences).size).toBe(60);
    expect(outcomes).toEqual(new Set(['released']));
    expect(await scene.ownerOf('a')).toBe(null);
  });
});

describe.concurrent('mode 17: a subscription that loses messages', () => {
  it('delays a waiter by a bounded time', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const lease = await scene.neighbour().mutex('a').acquire({ lease: '2s' });
    const waiting = locks.mutex('a').acquire({ wait: '20s' });
    await until(async () => (await scene.waitersOf('a')) === 1);
    (await scene.proxy.linkLater('subscribe')).set({ kind: 'swallow', way: 'replies' });
    await lease.release();
    const tookMs = await durationOf(waiting);
    expect((await waiting).isHeld).toBe(true);
    // At most the lease of the holder or the reservation, whichever is longer.
    expect(tookMs).toBeLessThan(withinMs(7000));
  });

  it('makes the waiter check the lock as soon as it is open again', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const lease = await scene.neighbour().mutex('a').acquire({ lease: '30s' });
    const waiting = locks.mutex('a').acquire({ wait: '25s' });
    await until(async () => (await scene.waitersOf('a')) === 1);
    await scene.proxy.set({ kind: 'refuse' });
    // The message to the waiter is lost.
    await lease.release();
    await scene.proxy.set(PASS);
    const tookMs = await durationOf(waiting);
    expect((await waiting).isHeld).toBe(true);
    expect(tookMs).toBeLessThan(withinMs(3000));
  });
});
