import { describe, expect, it } from 'vitest';
import { type Lease, LockError, type LockLostError, LockUnavailableError } from '../src/index.ts';
import { type Fault, PASS } from './fault-proxy.ts';
import { elapse, LockScene, type Loss, lossOf, settled, until } from './lock-scene.ts';
import { withinMs } from './within.ts';

/*
 * Bytes that are lost, late or turned away between a program and redis-server. Leases end by the server's
 * clock, so that time has to pass; limits are wide, orders are strict.
 */

type LossReason = LockLostError['reason'];

const NOWHERE: Fault = { kind: 'swallow' };

async function durationOf(work: Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await settled(work);
  return performance.now() - beganMs;
}

/** A holder by the proxy, whose loss is seen. */
async function hold(
  scene: LockScene,
  options: Parameters<LockScene['locks']>[0] & { leaseMs: number; renew?: boolean },
): Promise<{ lease: Lease; loss: ReturnType<typeof lossOf> }> {
  const { leaseMs, renew = true, ...program } = options;
  const locks = await scene.locks(program);
  const lease = await locks.mutex('a').acquire({ lease: leaseMs, renew });
  return { lease, loss: lossOf(lease) };
}

/** Before the lease could end in the store, or as soon as the event loop turned. */
function expectToldInTime({ atMs, lateMs, reason }: Loss, why: LossReason, endMs: number): void {
  expect(reason).toMatchObject({ code: 'lost', reason: why });
  expect(atMs - lateMs).toBeLessThan(endMs);
  // And not long before: the lease is there to be used.
  expect(atMs).toBeGreaterThan(endMs - 1000);
}

describe.concurrent('mode 8: a black hole', () => {
  it.each([
    ['of requests', { kind: 'swallow', way: 'requests' }],
    ['of replies', { kind: 'swallow', way: 'replies' }],
    ['both ways', NOWHERE],
  ] as const)(
    '%s ends acquire when the caller would wait no longer, as unavailable',
    async (_, fault) => {
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
    },
  );

  it('is not a busy lock to tryAcquire', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks({ requestTimeoutMs: 300 });
    await locks.mutex('before').run(() => {});
    await scene.proxy.set(NOWHERE);
    await expect(locks.mutex('a').tryAcquire()).rejects.toBeInstanceOf(LockUnavailableError);
  });

  it.each(['ioredis', 'node-redis'] as const)(
    'tells the holder through %s before its lease can end, and before another holds',
    async (client) => {
      await using scene = await LockScene.open();
      const { lease, loss } = await hold(scene, { leaseMs: 3000, client });
      const { signal } = lease;
      const waiting = scene.neighbour().mutex('a').acquire({ wait: '20s' });
      await scene.proxy.set(NOWHERE);
      const endMs = await scene.endMs('a');
      const next = await waiting;
      // By its own clock, whenever anybody looks.
      expect(lease.isHeld).toBe(false);
      expect(signal.aborted).toBe(true);
      expectToldInTime(await loss, 'unreachable', endMs);
      expect(next.fence).toBeGreaterThan(lease.fence);
    },
  );

  it('gives each request its own time-out, and no answer is called unknown', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks({ requestTimeoutMs: 300 });
    const lease = await locks.mutex('a').acquire({ lease: '20s' });
    const mutex = locks.mutex('b');
    await scene.proxy.set(NOWHERE);
    const beganMs = performance.now();
    const questions: Promise<unknown>[] = [mutex.inspect(), mutex.forceRelease()];
    for (const outcome of await Promise.all(questions.map(settled))) {
      expect(outcome).toBeInstanceOf(LockUnavailableError);
    }
    expect(performance.now() - beganMs).toBeLessThan(withinMs(3000));
    expect(await lease.release()).toBe('unknown');
    // Nobody hears of it: the lock stays until the lease ends.
    expect(await scene.ownerOf('a')).not.toBe(null);
  });

  it('of one connection that is never told is left by a client of our own', async () => {
    await using scene = await LockScene.open();
    const locks = scene.locksByUrl();
    await locks.mutex('before').run(() => {});
    // As when a firewall forgets a connection: the old one is deaf for ever, new ones are well.
    scene.proxy.link('evalsha').set(NOWHERE);
    const lease = await locks.mutex('a').acquire({ wait: '20s' });
    expect(await lease.release()).toBe('released');
  });

  it('that ends in time is survived', async () => {
    await using scene = await LockScene.open();
    const { lease } = await hold(scene, { leaseMs: 4000, requestTimeoutMs: 500 });
    await scene.proxy.set(NOWHERE);
    await until(() => scene.proxy.links.some((link) => link.isBroken));
    await scene.proxy.set(PASS);
    // Longer than the lease: it has been renewed since.
    await elapse(5000);
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe('released');
  });
});

describe.concurrent('mode 3: a lease that ends while its holder works', () => {
  it('is told before the end in the store', async () => {
    await using scene = await LockScene.open();
    const { lease, loss } = await hold(scene, { leaseMs: 3000, renew: false });
    const endMs = await scene.endMs('a');
    expectToldInTime(await loss, 'expired', endMs);
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'lost' }));
    await until(async () => (await scene.ownerOf('a')) === null);
    expect(await lease.release()).toBe('not-held');
  });
});

describe.concurrent('mode 13: a grant that comes too late', () => {
  it('is no grant, and nobody holds afterwards', async () => {
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

  it('is not given by tryAcquire either', async () => {
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

  it('is given back, not left to its end', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    await locks.mutex('before').run(() => {});
    const link = scene.proxy.link('evalsha');
    link.set({ kind: 'delay', way: 'requests', delayMs: 1500 });
    const heardBytes = link.replies.text.length;
    const attempt = settled(locks.mutex('a').acquire({ lease: 1000, wait: 1200 }));
    await until(() => link.requests.text.includes('lock:{a}'));
    link.set(PASS);
    expect(await attempt).toBeInstanceOf(LockError);
    await until(() => link.replies.text.length > heardBytes);
    const tookMs = await durationOf(until(async () => (await scene.ownerOf('a')) === null));
    expect(tookMs).toBeLessThan(withinMs(500));
  });
});

describe.concurrent('modes 13 and 17: a call that comes too late', () => {
  it('holds nothing: the lock has gone to the next', async () => {
    await using scene = await LockScene.open();
    const mutex = scene.neighbour().mutex('a');
    const lease = await mutex.acquire({ lease: '30s' });
    const waiting = (await scene.locks()).mutex('a').acquire({ wait: '25s' });
    await until(async () => (await scene.waitersOf('a')) === 1);
    // The call takes longer than the lock is kept for who was called. So does what it could ask.
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

describe.concurrent('mode 11: a release that comes late', () => {
  it('does not free the next holder, and says so', async () => {
    await using scene = await LockScene.open();
    const { lease } = await hold(scene, { leaseMs: 500, renew: false });
    await scene.proxy.set({ kind: 'delay', way: 'requests', delayMs: 1000 });
    const outcome = lease.release();
    const next = await scene.neighbour().mutex('a').acquire({ wait: '10s' });
    const owner = await scene.ownerOf('a');
    // The caller does not wait for as long.
    expect(await outcome).toBe('unknown');
    expect(await scene.ownerOf('a')).toBe(owner);
    expect(next.isHeld).toBe(true);
  });

  it('does not free the next holder when it comes from a connection that has ended', async () => {
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

describe.concurrent('mode 12: what was under way when the lock was let go', () => {
  it('a renewal does not bring it back', async () => {
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

  it('a request that arrives after its owner has let go leaves no lock beyond one lease', async () => {
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

describe.concurrent('mode 10: a server that turns programs away', () => {
  it('for a while, is asked until it answers', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    await scene.proxy.set({ kind: 'refuse' });
    const attempt = locks.mutex('a').acquire({ wait: '20s' });
    await elapse(500);
    await scene.proxy.set(PASS);
    expect((await attempt).isHeld).toBe(true);
  });

  it('is not a busy lock', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks({ requestTimeoutMs: 500 });
    await scene.proxy.set({ kind: 'refuse' });
    const outcome = await settled(locks.mutex('a').tryAcquire());
    expect(outcome).toBeInstanceOf(LockUnavailableError);
    expect((outcome as LockUnavailableError).cause).toBeInstanceOf(Error);
    const waited = await settled(locks.mutex('a').acquire({ wait: 700 }));
    expect(waited).toBeInstanceOf(LockUnavailableError);
  });

  it('costs the holder its lease, of which it is told in time', async () => {
    await using scene = await LockScene.open();
    const { loss } = await hold(scene, { leaseMs: 3000 });
    await scene.proxy.set({ kind: 'refuse' });
    const endMs = await scene.endMs('a');
    expectToldInTime(await loss, 'unreachable', endMs);
  });

  it('again and again by resets loses nothing and leaves nothing', async () => {
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

describe.concurrent('mode 17: a subscriber that hears nothing', () => {
  it('costs a waiter a bounded time', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const lease = await scene.neighbour().mutex('a').acquire({ lease: '2s' });
    const waiting = locks.mutex('a').acquire({ wait: '20s' });
    await until(async () => (await scene.waitersOf('a')) === 1);
    (await scene.proxy.linkLater('subscribe')).set({ kind: 'swallow', way: 'replies' });
    await lease.release();
    const tookMs = await durationOf(waiting);
    expect((await waiting).isHeld).toBe(true);
    // The lease that it saw when it last asked, or its reservation, whichever is longer.
    expect(tookMs).toBeLessThan(withinMs(7000));
  });

  it('asks as soon as it hears again', async () => {
    await using scene = await LockScene.open();
    const locks = await scene.locks();
    const lease = await scene.neighbour().mutex('a').acquire({ lease: '30s' });
    const waiting = locks.mutex('a').acquire({ wait: '25s' });
    await until(async () => (await scene.waitersOf('a')) === 1);
    await scene.proxy.set({ kind: 'refuse' });
    // The call for the waiter goes to nobody.
    await lease.release();
    await scene.proxy.set(PASS);
    const tookMs = await durationOf(waiting);
    expect((await waiting).isHeld).toBe(true);
    expect(tookMs).toBeLessThan(withinMs(3000));
  });
});
