import diagnostics from 'node:diagnostics_channel';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { closeMemoryLocks, openMemoryLocks } from '../../test/memory-locks.ts';
import { elapse, settle } from '../../test/virtual-time.ts';
import type { VirtualClock } from '../clock/index.ts';
import {
  LockAbortedError,
  LockArgumentError,
  LockError,
  LockLostError,
  type LockStore,
  Locks,
  LockTimeoutError,
  LockUnavailableError,
} from './index.ts';

let clock: VirtualClock;
let store: LockStore;
let locks: Locks;

beforeEach(() => {
  ({ clock, store, locks } = openMemoryLocks());
});

afterEach(() => closeMemoryLocks({ clock, locks }));

describe('acquire', () => {
  it.each([
    ['aborts the signal', (controller: AbortController) => controller.abort(new Error('no'))],
    ['closes the library', () => void locks.close()],
  ])('sends no request if a subscriber of its event %s', async (_what, act) => {
    const controller = new AbortController();
    const failed: unknown[] = [];
    const onAcquire = (): void => act(controller);
    const onFail = (event: unknown): void => void failed.push((event as { code: string }).code);
    diagnostics.subscribe('holdfast:acquire', onAcquire);
    diagnostics.subscribe('holdfast:fail', onFail);
    const acquiring = locks.mutex('a').acquire({ signal: controller.signal });
    await expect(acquiring).rejects.toThrow(LockAbortedError);
    diagnostics.unsubscribe('holdfast:acquire', onAcquire);
    diagnostics.unsubscribe('holdfast:fail', onFail);
    expect(failed).toEqual(['aborted']);
    expect((await locks.mutex('a').inspect()).holders).toEqual([]);
  });

  it('returns a lease whose fence is larger than the last one', async () => {
    const first = await locks.mutex('a').acquire();
    expect(first.isHeld).toBe(true);
    expect(await first.release()).toBe('released');
    const second = await locks.mutex('a').acquire();
    expect(second.fence).toBeGreaterThan(first.fence);
    expect(second.name).toBe('a');
  });

  it('grants the lock in order of arrival', async () => {
    const holder = await locks.mutex('a').acquire();
    const order: number[] = [];
    const tasks = [1, 2, 3, 4, 5].map((number) =>
      locks.mutex('a').run(() => order.push(number), { wait: Number.POSITIVE_INFINITY }),
    );
    await settle();
    expect(order).toEqual([]);
    await holder.release();
    await Promise.all(tasks);
    expect(order).toEqual([1, 2, 3, 4, 5]);
  });

  it('rejects with LockTimeoutError that says how long it waited', async () => {
    await locks.mutex('a').acquire();
    const waiting = locks.mutex('a').acquire({ wait: '2s' });
    const failure = expect(waiting).rejects.toThrow(/'a' stayed busy for 2000 ms/);
    await elapse(clock, 2000);
    await failure;
    await expect(locks.mutex('a').acquire({ wait: 0 })).rejects.toThrow(LockTimeoutError);
    expect((await locks.mutex('a').inspect()).waiters).toEqual([]);
  });

  it('times out if the event loop stalled past the wait timeout before the grant', async () => {
    const holder = await locks.mutex('a').acquire();
    const waiting = locks.mutex('a').acquire({ wait: '1s' });
    await settle();
    const { monotonicMs } = clock;
    Object.assign(clock, { monotonicMs: () => monotonicMs() + 2000 });
    await holder.release();
    await expect(waiting).rejects.toThrow(LockTimeoutError);
    expect((await locks.mutex('a').inspect()).holders).toEqual([]);
  });

  it('returns null from tryAcquire() if the lock is busy', async () => {
    const lease = await locks.mutex('a').tryAcquire();
    expect(lease?.isHeld).toBe(true);
    expect(await locks.mutex('a').tryAcquire()).toBe(null);
  });

  it('rejects when the signal aborts, and leaves the queue', async () => {
    const holder = await locks.mutex('a').acquire();
    const controller = new AbortController();
    const waiting = locks.mutex('a').acquire({ signal: controller.signal });
    await settle();
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow(LockAbortedError);
    await waiting.catch((error: LockError) => {
      expect([error.code, error.lock]).toEqual(['aborted', 'a']);
      expect((error.cause as Error).message).toBe('enough');
    });
    await holder.release();
    expect((await locks.mutex('a').inspect()).holders).toEqual([]);
    const aborted = AbortSignal.abort();
    await expect(locks.mutex('a').acquire({ signal: aborted })).rejects.toThrow(LockAbortedError);
  });

  it('releases the lock if the signal aborts after the grant, before the caller receives it', async () => {
    const holder = await locks.mutex('a').acquire();
    const controller = new AbortController();
    const waiting = locks.mutex('a').acquire({ signal: controller.signal });
    const failure = expect(waiting).rejects.toThrow(LockAbortedError);
    await settle();
    holder.release();
    controller.abort();
    await failure;
    await settle();
    expect((await locks.mutex('a').inspect()).holders).toEqual([]);
  });

  it('grants the lock at the end of the lease of a holder that does not release it', async () => {
    await locks.mutex('a').acquire({ lease: '1s', renew: false });
    const waiting = locks.mutex('a').acquire({ wait: '5s' });
    await elapse(clock, 1000);
    expect((await waiting).isHeld).toBe(true);
  });

  it.each([
    [{ lease: 0 }, /lease must be/],
    [{ lease: Number.NaN }, /lease must be/],
    [{ lease: Number.POSITIVE_INFINITY }, /lease must be/],
    [{ lease: '5 minutes' as never }, /lease must be/],
    [{ wait: -1 }, /wait must be/],
    [{ maxHold: '0s' as const }, /maxHold must be/],
  ])('refuses %j', async (options, message) => {
    await expect(locks.mutex('a').acquire(options)).rejects.toThrow(message);
    await expect(locks.mutex('a').acquire(options)).rejects.toThrow(LockArgumentError);
  });

  it('throws for wrong names, counts and permits', () => {
    expect(() => locks.mutex('')).toThrow(/needs a name/);
    expect(() => locks.mutex('x'.repeat(65536))).toThrow(/at most 1024 bytes/);
    expect(() => locks.semaphore('s', 0)).toThrow(/count of a semaphore must be/);
    expect(() => locks.semaphore('s', 2, { permits: 3 })).toThrow(/permits must be/);
  });

  it('throws for a second Locks of one store, whose owner ids would be the same', () => {
    expect(() => new Locks({ store, clock })).toThrow(LockArgumentError);
    expect(() => new Locks({ store, clock })).toThrow(/this store has locks already/);
  });

  it('accepts a lease of a month, longer than a timer of Node', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '30d', renew: false });
    await elapse(clock, 86_400_000);
    expect(lease.isHeld).toBe(true);
    expect(lease.expiresInMs).toBeGreaterThan(28 * 86_400_000);
  });
});

describe('run', () => {
  it('returns the result of the callback, and releases the lock', async () => {
    expect(await locks.mutex('a').run(async (lease) => lease.fence)).toBeGreaterThan(0);
    expect((await locks.mutex('a').inspect()).holders).toEqual([]);
  });

  it('rejects with the error of the callback, also if the release fails', async () => {
    store.release = () => Promise.reject(new Error('store is down'));
    const callback = (): never => {
      throw new Error('business');
    };
    const failure = expect(locks.mutex('a').run(callback)).rejects.toThrow('business');
    await elapse(clock, 1000);
    await failure;
  });

  it('rejects with LockLostError if only the release shows that the lease was lost', async () => {
    const running = locks.mutex('a').run(() => locks.mutex('a').forceRelease());
    await expect(running).rejects.toThrow(LockLostError);
    const failing = locks.mutex('a').run(async () => {
      await locks.mutex('a').forceRelease();
      throw new RangeError('of the callback');
    });
    await expect(failing).rejects.toThrow(RangeError);
  });

  it('acquires again if the lease was lost before the callback could begin', async () => {
    let grants = 0;
    const onGrant = (): void => {
      if (++grants === 1) clock.jumpWall(60_000);
    };
    diagnostics.subscribe('holdfast:grant', onGrant);
    onTestFinished(() => void diagnostics.unsubscribe('holdfast:grant', onGrant));
    expect(await locks.mutex('a').run((lease) => lease.isHeld)).toBe(true);
    expect(grants).toBe(2);
  });

  it('rejects with LockLostError if the lease ended before the callback', async () => {
    const running = locks.mutex('a').run(() => elapse(clock, 2000), { lease: '1s', renew: false });
    await expect(running).rejects.toThrow(LockLostError);
  });
});

describe('a store that cannot be reached', () => {
  it('rejects with LockUnavailableError, not null or a timeout', async () => {
    store.acquire = () => Promise.reject(new Error('connection refused'));
    await expect(locks.mutex('a').tryAcquire()).rejects.toThrow(LockUnavailableError);
    const waiting = locks.mutex('a').acquire({ wait: '3s' });
    const failure = expect(waiting).rejects.toThrow(/cannot be reached: connection refused/);
    await elapse(clock, 4000);
    await failure;
  });

  it('makes inspect, forceRelease and extend reject with LockUnavailableError', async () => {
    const lease = await locks.mutex('a').acquire();
    const refuse = (): Promise<never> => Promise.reject(new Error('connection refused'));
    store.extend = refuse;
    store.inspect = refuse;
    store.forceRelease = refuse;
    const requests = [
      locks.mutex('a').inspect(),
      locks.mutex('a').forceRelease(),
      locks.all(['a', 'b']).inspect(),
    ];
    for (const request of requests) {
      await expect(request).rejects.toThrow(LockUnavailableError);
    }
    const extending = expect(lease.extend()).rejects.toThrow(LockUnavailableError);
    await elapse(clock, 29_000);
    await extending;
  });

  it('gets the request to extend again until it replies', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '2s', renew: false });
    const { extend } = store;
    let failures = 3;
    store.extend = (request) =>
      failures-- > 0 ? Promise.reject(new Error('away')) : extend.call(store, request);
    const extending = lease.extend();
    await elapse(clock, 1000);
    await extending;
    expect(lease.expiresInMs).toBeGreaterThan(1000);
  });

  it('does not cause a warning when many callers wait with one signal', async () => {
    const holder = await locks.mutex('a').acquire();
    const controller = new AbortController();
    const { signal } = controller;
    const warnings: Error[] = [];
    const note = (warning: Error): unknown => warnings.push(warning);
    process.on('warning', note);
    const waiting = Array.from({ length: 20 }, () => locks.mutex('a').acquire({ signal }));
    const outcomes = Promise.allSettled(waiting);
    await holder.release();
    await (await waiting[0]!).release();
    await settle();
    controller.abort();
    process.off('warning', note);
    expect(warnings).toEqual([]);
    const rejected = (await outcomes).filter(({ status }) => status === 'rejected');
    expect(rejected).toHaveLength(18);
  });

  it('gets the request to acquire again until it replies', async () => {
    const { acquire } = store;
    let failures = 3;
    store.acquire = (...call) =>
      failures-- > 0 ? Promise.reject(new Error('away')) : acquire.apply(store, call);
    const waiting = locks.mutex('a').acquire({ wait: '10s' });
    await elapse(clock, 3000);
    expect((await waiting).isHeld).toBe(true);
  });

  it('with a final error gets no second request', async () => {
    let requests = 0;
    store.acquire = () => {
      requests++;
      return Promise.reject(Object.assign(new Error('wrong kind of server'), { isFinal: true }));
    };
    await expect(locks.mutex('a').acquire()).rejects.toThrow(LockUnavailableError);
    expect(requests).toBe(1);
  });

  it('and does not reply makes the request fail after the wait timeout', async () => {
    store.acquire = () => new Promise(() => {});
    const waiting = locks.mutex('a').acquire({ wait: '3s' });
    const failure = expect(waiting).rejects.toThrow(/cannot be reached: no answer yet/);
    await elapse(clock, 3000);
    await failure;
  });

  it('that replies after the end of the lease makes the request fail, and the lock is released', async () => {
    const { acquire } = store;
    store.acquire = async (...call) => {
      const result = await acquire.apply(store, call);
      await new Promise<void>((resolve) => clock.setTimer(2000, resolve));
      return result;
    };
    const waiting = locks.mutex('a').acquire({ lease: '1s', wait: '4s' });
    const failure = expect(waiting).rejects.toThrow(
      /is too slow: its reply took 2000 ms, and the lease is 1000 ms/,
    );
    await elapse(clock, 8000);
    await failure;
    await elapse(clock, 3000);
    expect((await locks.mutex('a').inspect()).holders).toEqual([]);
  });
});

describe('close', () => {
  it('rejects waiters, aborts the signals of holders, releases their locks, and may be called twice', async () => {
    const lease = await locks.mutex('a').acquire();
    const { signal } = lease;
    const waiting = locks.mutex('a').acquire();
    const failure = expect(waiting).rejects.toThrow(LockAbortedError);
    await settle();
    await Promise.all([locks.close(), locks.close()]);
    await failure;
    expect(signal.aborted).toBe(true);
    await expect(locks.mutex('b').acquire()).rejects.toThrow(LockAbortedError);
  });
});

/** The size of the heap after a full collection. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

describe('a lock in memory', () => {
  it('is removed after its lease has ended without a release', async () => {
    const before = usedBytes();
    for (let number = 0; number < 50_000; number++) {
      await locks.mutex(`user:${number}`).acquire({ lease: 10, renew: false });
      if (number % 1000 === 999) clock.advance(10);
    }
    expect(usedBytes() - before).toBeLessThan(4_000_000);
  });
});

describe('errors', () => {
  it('match instanceof of their class only, also across copies of the package', async () => {
    const timeout = new LockTimeoutError('a', 5, { holders: [], place: undefined });
    expect(timeout).toBeInstanceOf(LockError);
    expect(timeout).toBeInstanceOf(LockTimeoutError);
    expect(timeout).not.toBeInstanceOf(LockLostError);
    const foreign = Object.assign(new Error('x'), { [Symbol.for('holdfast.LockError')]: 'lost' });
    expect(foreign).toBeInstanceOf(LockLostError);
    expect(foreign).not.toBeInstanceOf(LockTimeoutError);
  });
});

describe('events', () => {
  it('are published for each step of a lease', async () => {
    const published: string[] = [];
    const names = ['acquire', 'wait', 'grant', 'renew', 'lose', 'release'];
    const listeners = names.map((name) => {
      const listener = (): unknown => published.push(name);
      diagnostics.subscribe(`holdfast:${name}`, listener);
      return () => diagnostics.unsubscribe(`holdfast:${name}`, listener);
    });
    const first = await locks.mutex('a').acquire({ lease: '3s' });
    const waiting = locks.mutex('a').acquire({ lease: '3s', renew: false });
    await elapse(clock, 1000);
    await first.release();
    const second = await waiting;
    await elapse(clock, 3000);
    expect(second.isHeld).toBe(false);
    for (const stop of listeners) stop();
    expect(published).toEqual([
      'acquire',
      'grant',
      'acquire',
      'wait',
      'renew',
      'release',
      'grant',
      'lose',
    ]);
  });
});
