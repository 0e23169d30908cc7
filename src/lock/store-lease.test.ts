import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { closeMemoryLocks, openMemoryLocks } from '../../test/memory-locks.ts';
import { elapse, settle } from '../../test/virtual-time.ts';
import type { VirtualClock } from '../clock/index.ts';
import { LockAbortedError, LockLostError, type LockStore, type Locks } from './index.ts';

let clock: VirtualClock;
let store: LockStore;
let locks: Locks;

beforeEach(() => {
  ({ clock, store, locks } = openMemoryLocks());
});

afterEach(() => closeMemoryLocks({ clock, locks }));

describe('a lease', () => {
  it('is renewed while it is held', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '1s' });
    for (let second = 0; second < 10; second++) await elapse(clock, 1000);
    expect(lease.isHeld).toBe(true);
    expect(lease.signal.aborted).toBe(false);
    expect(await locks.mutex('a').tryAcquire()).toBe(null);
  });

  it('aborts its signal before the store can grant the lock to another client', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '1s', renew: false });
    const { signal } = lease;
    const aborted = new Promise<number>((resolve) => {
      signal.addEventListener('abort', () => resolve(clock.monotonicMs()));
    });
    const waiting = locks.mutex('a').acquire({ wait: '5s' });
    const granted = waiting.then(() => clock.monotonicMs());
    await elapse(clock, 2000);
    expect(await aborted).toBeLessThan(await granted);
    expect(signal.reason).toBeInstanceOf(LockLostError);
    expect((signal.reason as LockLostError).reason).toBe('expired');
    expect(() => lease.assertHeld()).toThrow(LockLostError);
    expect(lease.expiresInMs).toBe(0);
    expect(await lease.release()).toBe('not-held');
  });

  it('is kept if the store is unreachable for less than the lease', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '10s' });
    const { extend } = store;
    store.extend = () => Promise.reject(new Error('away'));
    await elapse(clock, 6000);
    expect(lease.isHeld).toBe(true);
    store.extend = extend;
    await elapse(clock, 6000);
    expect(lease.isHeld).toBe(true);
  });

  it('is lost in time, with the reason unreachable, when the store stays unreachable', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '1s' });
    const { signal } = lease;
    store.extend = () => Promise.reject(new Error('away'));
    await elapse(clock, 1100);
    expect(signal.aborted).toBe(true);
    expect((signal.reason as LockLostError).reason).toBe('unreachable');
  });

  it('is lost in time when the store accepts requests and never replies', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '1s' });
    const { signal } = lease;
    store.extend = () => new Promise(() => {});
    await elapse(clock, 980);
    expect(signal.aborted).toBe(false);
    await elapse(clock, 20);
    expect((signal.reason as LockLostError).reason).toBe('unreachable');
    await elapse(clock, 6000);
  });

  it('is lost with the reason stolen after forceRelease()', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '3s' });
    const { signal } = lease;
    expect(await locks.mutex('a').forceRelease()).toBe(1);
    await elapse(clock, 1500);
    expect((signal.reason as LockLostError).reason).toBe('stolen');
    expect(await lease.release()).toBe('not-held');
  });

  it('is not renewed after its release, even if a renewal was under way', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '3s' });
    let finish: (isOurs: boolean) => void = () => {};
    store.extend = () =>
      new Promise((resolve) => {
        finish = resolve;
      });
    clock.advance(1000);
    await settle();
    await lease.release();
    finish(true);
    await settle();
    expect(clock.pendingTimers).toBeLessThanOrEqual(1);
    await elapse(clock, 5000);
    expect(lease.isHeld).toBe(false);
  });

  it('ends at maxHold in spite of renewals', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '1s', maxHold: '5s' });
    const { signal } = lease;
    await elapse(clock, 4900);
    expect(signal.aborted).toBe(false);
    await elapse(clock, 200);
    expect(signal.aborted).toBe(true);
    expect(await locks.mutex('a').tryAcquire()).not.toBe(null);
  });

  it.each(['renewal', 'extend'])(
    'counts from when its %s was sent, not from the reply',
    async (how) => {
      const lease = await locks.mutex('a').acquire({ lease: '3s', renew: how === 'renewal' });
      const extend = store.extend.bind(store);
      store.extend = async (request) => {
        const isHeld = await extend(request);
        clock.advance(500);
        return isHeld;
      };
      if (how === 'extend') await lease.extend();
      else clock.advance(1000);
      await settle();
      expect(lease.expiresInMs).toBeGreaterThan(2400);
      expect(lease.expiresInMs).toBeLessThanOrEqual(2500);
    },
  );

  it('starts again by extend()', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '1s', renew: false });
    await elapse(clock, 800);
    await lease.extend();
    await elapse(clock, 800);
    expect(lease.isHeld).toBe(true);
    await elapse(clock, 800);
    await expect(lease.extend()).rejects.toThrow(LockLostError);
  });

  it('ends when the wall clock passes its end, as after the sleep of a machine', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '30s' });
    clock.jumpWall(60_000);
    expect(lease.isHeld).toBe(false);
    expect(lease.signal.aborted).toBe(true);
  });

  it('is released once, and returns the same outcome twice', async () => {
    const lease = await locks.mutex('a').acquire();
    const [first, second] = await Promise.all([lease.release(), lease.release()]);
    expect([first, second]).toEqual(['released', 'released']);
    expect(lease.isHeld).toBe(false);
  });

  it('returns unknown when the store does not reply to the release', async () => {
    const lease = await locks.mutex('a').acquire();
    store.release = () => Promise.reject(new Error('lost'));
    const outcome = lease.release();
    await elapse(clock, 1000);
    expect(await outcome).toBe('unknown');
  });
});

describe('the signal of a lease', () => {
  it('is aborted when it is read after a stall, before any timer runs', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '30s' });
    const { signal } = lease;
    const reasons: unknown[] = [];
    signal.addEventListener('abort', () => reasons.push(signal.reason));
    signal.throwIfAborted();
    clock.jumpWall(31_000);
    expect(() => signal.throwIfAborted()).toThrow(LockLostError);
    expect(signal.aborted).toBe(true);
    expect(reasons).toEqual([signal.reason]);
    expect(signal.reason).toMatchObject({ code: 'lost', reason: 'unreachable', lock: 'a' });
  });

  it('aborts before the end of a lease that is not renewed', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '1s', renew: false });
    const { signal } = lease;
    clock.advance(980);
    expect(signal.aborted).toBe(false);
    clock.advance(10);
    expect(signal.reason).toMatchObject({ reason: 'expired' });
    expect(await lease.release()).toBe('not-held');
  });

  it('aborts when the library is closed', async () => {
    const { signal } = await locks.mutex('a').acquire();
    await locks.close();
    expect(signal.reason).toBeInstanceOf(LockAbortedError);
    expect(String(signal.reason)).toMatch(/holding lock 'a' was aborted/);
  });
});
