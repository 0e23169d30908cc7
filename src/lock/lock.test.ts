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
  ])('is not begun if who hears of it %s', async (_what, act) => {
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

  it('gives a lease with a rising fence', async () => {
    const first = await locks.mutex('a').acquire();
    expect(first.isHeld).toBe(true);
    expect(await first.release()).toBe('released');
    const second = await locks.mutex('a').acquire();
    expect(second.fence).toBeGreaterThan(first.fence);
    expect(second.name).toBe('a');
  });

  it('waits in order of arrival', async () => {
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

  it('ends in a time-out that says how long it waited', async () => {
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

  it('is tried once by tryAcquire', async () => {
    const lease = await locks.mutex('a').tryAcquire();
    expect(lease?.isHeld).toBe(true);
    expect(await locks.mutex('a').tryAcquire()).toBe(null);
  });

  it('is given up by a signal, and leaves the line', async () => {
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

  it('gives back a grant that an abort raced', async () => {
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

  it('follows a holder that never lets go at the end of its lease', async () => {
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

  it('refuses names and numbers that cannot be', () => {
    expect(() => locks.mutex('')).toThrow(/needs a name/);
    expect(() => locks.mutex('x'.repeat(65536))).toThrow(/at most 1024 bytes/);
    expect(() => locks.semaphore('s', 0)).toThrow(/count of a semaphore must be/);
    expect(() => locks.semaphore('s', 2, { permits: 3 })).toThrow(/permits must be/);
  });

  it('is not possible twice from one store, in which owners of both would have the same names', () => {
    expect(() => new Locks({ store, clock })).toThrow(LockArgumentError);
    expect(() => new Locks({ store, clock })).toThrow(/this store has locks already/);
  });

  it('holds for a month without ending at once', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '30d', renew: false });
    await elapse(clock, 86_400_000);
    expect(lease.isHeld).toBe(true);
    expect(lease.expiresInMs).toBeGreaterThan(28 * 86_400_000);
  });
});

describe('run', () => {
  it('gives the result of the body, and releases', async () => {
    expect(await locks.mutex('a').run(async (lease) => lease.fence)).toBeGreaterThan(0);
    expect((await locks.mutex('a').inspect()).holders).toEqual([]);
  });

  it('gives the error of the body, whatever the release does', async () => {
    store.release = () => Promise.reject(new Error('store is down'));
    const body = (): never => {
      throw new Error('business');
    };
    const failure = expect(locks.mutex('a').run(body)).rejects.toThrow('business');
    await elapse(clock, 1000);
    await failure;
  });

  it('says when the lease was taken away, though only its release told', async () => {
    const running = locks.mutex('a').run(() => locks.mutex('a').forceRelease());
    await expect(running).rejects.toThrow(LockLostError);
    const failing = locks.mutex('a').run(async () => {
      await locks.mutex('a').forceRelease();
      throw new RangeError('of the body');
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

  it('says when the lease did not last', async () => {
    const running = locks.mutex('a').run(() => elapse(clock, 2000), { lease: '1s', renew: false });
    await expect(running).rejects.toThrow(LockLostError);
  });
});

describe('a store that cannot be reached', () => {
  it('is not a busy lock', async () => {
    store.acquire = () => Promise.reject(new Error('connection refused'));
    await expect(locks.mutex('a').tryAcquire()).rejects.toThrow(LockUnavailableError);
    const waiting = locks.mutex('a').acquire({ wait: '3s' });
    const failure = expect(waiting).rejects.toThrow(/cannot be reached: connection refused/);
    await elapse(clock, 4000);
    await failure;
  });

  it('is told as such by whatever was asked of it', async () => {
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

  it('is asked again to extend, until it answers', async () => {
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

  it('lets many wait with one signal', async () => {
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

  it('is asked again until it answers', async () => {
    const { acquire } = store;
    let failures = 3;
    store.acquire = (...call) =>
      failures-- > 0 ? Promise.reject(new Error('away')) : acquire.apply(store, call);
    const waiting = locks.mutex('a').acquire({ wait: '10s' });
    await elapse(clock, 3000);
    expect((await waiting).isHeld).toBe(true);
  });

  it('for good is not asked again', async () => {
    let asked = 0;
    store.acquire = () => {
      asked++;
      return Promise.reject(Object.assign(new Error('wrong kind of server'), { isFinal: true }));
    };
    await expect(locks.mutex('a').acquire()).rejects.toThrow(LockUnavailableError);
    expect(asked).toBe(1);
  });

  it('and does not answer is not waited for beyond the patience of the caller', async () => {
    store.acquire = () => new Promise(() => {});
    const waiting = locks.mutex('a').acquire({ wait: '3s' });
    const failure = expect(waiting).rejects.toThrow(/cannot be reached: no answer yet/);
    await elapse(clock, 3000);
    await failure;
  });

  it('that answers too late has granted nothing', async () => {
    const { acquire } = store;
    store.acquire = async (...call) => {
      const answer = await acquire.apply(store, call);
      await new Promise<void>((resolve) => clock.setTimer(2000, resolve));
      return answer;
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
  it('rejects who waits, tells who holds, releases, and may be called twice', async () => {
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

/** What is left on the heap when all garbage is gone. */
function usedBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

describe('a lock in memory', () => {
  it('is forgotten after its lease, though nobody released it', async () => {
    const before = usedBytes();
    for (let number = 0; number < 50_000; number++) {
      await locks.mutex(`user:${number}`).acquire({ lease: 10, renew: false });
      if (number % 1000 === 999) clock.advance(10);
    }
    expect(usedBytes() - before).toBeLessThan(4_000_000);
  });
});

describe('errors', () => {
  it('are told apart, also across copies of the package', async () => {
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
  it('tell the life of a lease', async () => {
    const heard: string[] = [];
    const names = ['acquire', 'wait', 'grant', 'renew', 'lose', 'release'];
    const listeners = names.map((name) => {
      const listener = (): unknown => heard.push(name);
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
    expect(heard).toEqual([
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
