import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createLocks,
  LockAbortedError,
  LockArgumentError,
  type LockStore,
  type Locks,
  memoryStore,
} from '../index.ts';
import {
  faultyStore,
  type OtherProcess,
  otherProcess,
  type VirtualClock,
  virtualClock,
} from './index.ts';

let clock: VirtualClock;
let store: LockStore;
let locks: Locks;
let other: OtherProcess;

beforeEach(() => {
  clock = virtualClock();
  store = memoryStore(clock);
  locks = createLocks({ store, clock });
  other = otherProcess(store, { clock });
});

afterEach(async () => {
  other.kill();
  await locks.close();
  expect(clock.pendingTimers).toBe(0);
});

describe('another process', () => {
  it('excludes this one, and the other way round', async () => {
    const theirs = await other.locks.mutex('a').acquire();
    expect(await locks.mutex('a').tryAcquire()).toBeNull();
    await theirs.release();
    const ours = await locks.mutex('a').acquire();
    expect(await other.locks.mutex('a').tryAcquire()).toBeNull();
    const waiting = other.locks.mutex('a').acquire();
    await clock.advanceAsync(0);
    await ours.release();
    expect((await waiting).fence).toBeGreaterThan(ours.fence);
  });

  it('takes several locks at once', async () => {
    await other.locks.all(['a', 'b']).acquire();
    expect(await locks.mutex('b').tryAcquire()).toBeNull();
    const { holders } = await locks.mutex('b').inspect();
    expect(holders).toMatchObject([{ host: other.host, pid: other.pid }]);
  });

  it('is shown with its own host and pid, as holder and as waiter', async () => {
    await other.locks.mutex('a').acquire({ label: 'nightly' });
    const waiting = locks.mutex('a').acquire();
    const third = otherProcess(store, { clock });
    void third.locks.mutex('a').acquire();
    await clock.advanceAsync(0);
    const { holders, waiters } = await locks.mutex('a').inspect();
    expect(holders).toMatchObject([{ host: 'other-host', pid: other.pid, label: 'nightly' }]);
    expect(waiters).toMatchObject([{ pid: process.pid }, { host: 'other-host', pid: third.pid }]);
    expect(new Set([process.pid, other.pid, third.pid]).size).toBe(3);
    third.kill();
    await other.locks.close();
    await waiting;
  });

  it('renews its leases', async () => {
    const lease = await other.locks.mutex('a').acquire({ lease: '30s' });
    await clock.advanceAsync(120_000);
    expect(lease.isHeld).toBe(true);
    expect(await locks.mutex('a').tryAcquire()).toBeNull();
  });

  it('releases its locks, and no others, when its locks are closed', async () => {
    await other.locks.mutex('a').acquire();
    const ours = await locks.mutex('b').acquire();
    await other.locks.close();
    expect(await locks.mutex('a').tryAcquire()).not.toBeNull();
    await clock.advanceAsync(60_000);
    expect(ours.isHeld).toBe(true);
  });

  it('stays connected while a faulty store keeps this process away', async () => {
    const faulty = faultyStore(store, { clock });
    const cut = createLocks({ store: faulty, clock });
    faulty.faults.unreachable();
    await expect(cut.mutex('a').tryAcquire()).rejects.toThrow('cannot be reached');
    expect(await other.locks.mutex('a').tryAcquire()).not.toBeNull();
    await cut.close();
  });

  it('receives the loss of all leases of the store', async () => {
    const faulty = faultyStore(store, { clock });
    const third = otherProcess(faulty, { clock });
    const lease = await third.locks.mutex('a').acquire();
    await faulty.faults.loseLeases();
    expect(lease.signal.reason).toMatchObject({ reason: 'stolen' });
    third.kill();
  });
});

describe('a frozen process', () => {
  it('does not renew: its lease expires, and the next waiter gets the lock', async () => {
    await other.locks.mutex('a').acquire({ lease: '30s' });
    const waiting = locks.mutex('a').acquire({ wait: '1m' });
    other.freeze();
    await clock.advanceAsync(29_999);
    expect((await locks.mutex('a').inspect()).holders).toMatchObject([{ pid: other.pid }]);
    await clock.advanceAsync(1);
    expect((await waiting).isHeld).toBe(true);
  });

  it('aborts its signal after thaw()', async () => {
    const lease = await other.locks.mutex('a').acquire({ lease: '30s' });
    const { signal } = lease;
    const reasons: unknown[] = [];
    signal.addEventListener('abort', () => reasons.push(signal.reason.reason));
    other.freeze();
    await clock.advanceAsync(40_000);
    expect(reasons).toEqual([]);
    other.thaw();
    expect(reasons).toEqual(['unreachable']);
    expect(await lease.release()).toBe('not-held');
  });

  it('keeps its lease when thaw() comes in time', async () => {
    const lease = await other.locks.mutex('a').acquire({ lease: '30s' });
    other.freeze();
    await clock.advanceAsync(20_000);
    other.thaw();
    await clock.advanceAsync(60_000);
    expect(lease.isHeld).toBe(true);
  });

  it('sends its requests, and receives replies and messages, after thaw()', async () => {
    const ours = await locks.mutex('a').acquire();
    let isServed = false;
    const waiting = other.locks.mutex('a').run(async () => {
      isServed = true;
    });
    await clock.advanceAsync(0);
    other.freeze();
    const trying = other.locks.mutex('b').tryAcquire();
    await ours.release();
    await clock.advanceAsync(1000);
    expect(isServed).toBe(false);
    expect((await locks.mutex('b').inspect()).holders).toEqual([]);
    other.thaw();
    await Promise.all([waiting, trying]);
    expect(isServed).toBe(true);
    expect((await locks.mutex('b').inspect()).holders).toMatchObject([{ pid: other.pid }]);
  });

  it('receives the reply to a request that was sent before freeze() after thaw()', async () => {
    const slow = faultyStore(store, { clock });
    slow.faults.slow('1s');
    const third = otherProcess(slow, { clock });
    let isGranted = false;
    const trying = third.locks.mutex('a').run(() => {
      isGranted = true;
    });
    await clock.advanceAsync(500);
    third.freeze();
    await clock.advanceAsync(1000);
    expect((await locks.mutex('a').inspect()).holders).toMatchObject([{ pid: third.pid }]);
    expect(isGranted).toBe(false);
    third.thaw();
    slow.faults.recover();
    await trying;
    expect(isGranted).toBe(true);
    await third.locks.close();
  });

  it('receives the loss of its leases after thaw()', async () => {
    const faulty = faultyStore(store, { clock });
    const third = otherProcess(faulty, { clock });
    const lease = await third.locks.mutex('a').acquire();
    third.freeze();
    await faulty.faults.loseLeases();
    expect(lease.signal.aborted).toBe(false);
    third.thaw();
    expect(lease.signal.aborted).toBe(true);
    third.kill();
  });
});

describe('a killed process', () => {
  it('leaves its lease to expire', async () => {
    await other.locks.mutex('a').acquire({ lease: '30s' });
    const waiting = locks.mutex('a').acquire({ wait: '1m' });
    other.kill();
    await clock.advanceAsync(29_999);
    expect((await locks.mutex('a').inspect()).waiters).toHaveLength(1);
    await clock.advanceAsync(1);
    expect((await waiting).isHeld).toBe(true);
  });

  it('leaves the queue', async () => {
    const ours = await locks.mutex('a').acquire();
    void other.locks.mutex('a').acquire();
    await clock.advanceAsync(0);
    other.kill();
    expect((await locks.mutex('a').inspect()).waiters).toEqual([]);
    await ours.release();
    expect(await locks.mutex('a').tryAcquire()).not.toBeNull();
  });

  it('keeps a lock that was granted to its waiter before the kill', async () => {
    const ours = await locks.mutex('a').acquire();
    void other.locks.mutex('a').acquire();
    await clock.advanceAsync(0);
    other.freeze();
    await ours.release();
    other.kill();
    expect(await locks.mutex('a').tryAcquire()).toBeNull();
  });

  it('runs no code any more', async () => {
    const events: string[] = [];
    const lease = await other.locks.mutex('a').acquire({ lease: '30s' });
    lease.signal.addEventListener('abort', () => events.push('abort'));
    const waiting = other.locks.mutex('a').acquire({ wait: '5s' });
    waiting.finally(() => events.push('waiter')).catch(() => {});
    await clock.advanceAsync(0);
    other.kill();
    await clock.advanceAsync(120_000);
    expect(events).toEqual([]);
  });

  it('refuses calls, and says what to do', async () => {
    const lease = await other.locks.mutex('a').acquire();
    other.kill();
    other.kill();
    await expect(other.locks.mutex('a').tryAcquire()).rejects.toThrow(
      "the store of lock 'a' refused it: this process was killed. Start another: otherProcess(store)",
    );
    expect(await lease.release()).toBe('unknown');
    for (const call of [() => other.freeze(), () => other.thaw()]) {
      expect(call).toThrow(LockArgumentError);
      expect(call).toThrow('this process was killed. Start another: otherProcess(store)');
    }
    await other.locks.close();
  });

  it('can be closed, also with requests under way', async () => {
    await other.locks.mutex('a').acquire();
    const waiting = other.locks.mutex('a').acquire();
    await clock.advanceAsync(0);
    other.freeze();
    const trying = other.locks.mutex('b').acquire();
    other.kill();
    const closing = other.locks.close();
    const aborted = [waiting, trying].map((each) => expect(each).rejects.toThrow(LockAbortedError));
    await clock.advanceAsync(1000);
    await Promise.all([closing, ...aborted]);
  });
});

describe('otherProcess', () => {
  it.each([undefined, {}])('refuses %s, which is no store', (given) => {
    expect(() => otherProcess(given as unknown as LockStore)).toThrow(
      'otherProcess needs a store, such as otherProcess(memoryStore(clock), { clock })',
    );
  });

  it('refuses a store that belongs to one client, as that of Redis', () => {
    const redis = Object.assign(memoryStore(clock), { ownerPrefix: 'c1.' });
    expect(() => otherProcess(redis)).toThrow(
      'otherProcess needs a store in memory: this one belongs to one client. With Redis a second ' +
        'createLocks(address) is another process for the store',
    );
  });
});
