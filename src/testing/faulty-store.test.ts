import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  createLocks,
  LockArgumentError,
  LockLostError,
  type LockStore,
  type Locks,
  LockUnavailableError,
  memoryStore,
} from '../index.ts';
import { CONFORMANCE } from '../stores/conformance.ts';
import { type FaultyStore, faultyStore, type VirtualClock, virtualClock } from './index.ts';

let clock: VirtualClock;
let memory: LockStore;
let store: FaultyStore;
let locks: Locks;

beforeEach(() => {
  clock = virtualClock();
  memory = memoryStore(clock);
  store = faultyStore(memory, { clock });
  locks = createLocks({ store, clock });
});

afterEach(async () => {
  store.faults.recover();
  await locks.close();
  expect(clock.pendingTimers).toBe(0);
});

describe('a faulty store without a fault', () => {
  it.each(CONFORMANCE)('conforms: $name', async (example) => {
    const inside = memoryStore(clock);
    await example.run({
      open: async () => faultyStore(inside, { clock }),
      elapse: async (durationMs) => clock.advance(durationMs),
    });
  });

  it('grants, queues, hands over and releases as the store inside', async () => {
    const first = await locks.mutex('a').acquire();
    const second = locks.mutex('a').acquire();
    expect((await locks.mutex('a').inspect()).waiters).toHaveLength(1);
    expect(await first.release()).toBe('released');
    expect((await second).fence).toBeGreaterThan(first.fence);
  });

  it('answers in the same turn when the store inside does', () => {
    expect(store.release(requestOf('a'))).toBe(false);
  });

  it('passes on the loss that the store inside reports', async () => {
    let lose = (_reason: Error): void => {};
    const session = Object.assign(memoryStore(clock), {
      onLost: (listener: typeof lose) => {
        lose = listener;
      },
    });
    await using tied = createLocks({ store: faultyStore(session, { clock }), clock });
    const lease = await tied.mutex('a').acquire();
    lose(new Error('the session has ended'));
    expect(lease.signal.reason).toMatchObject({ cause: { message: 'the session has ended' } });
  });

  it('passes on members that the contract does not have', () => {
    const extended = Object.assign(memoryStore(clock), {
      region: 'eu',
      twice: (n: number) => 2 * n,
    });
    const wrapped = faultyStore(extended, { clock }) as FaultyStore & typeof extended;
    expect([wrapped.region, wrapped.twice(4)]).toEqual(['eu', 8]);
    expect('region' in wrapped).toBe(true);
  });
});

describe('an unreachable store', () => {
  it('rejects tryAcquire with LockUnavailableError, and does not change the store', async () => {
    store.faults.unreachable();
    await expect(locks.mutex('a').tryAcquire()).rejects.toThrow(
      "the store of lock 'a' cannot be reached: faultyStore: unreachable() was called",
    );
    store.faults.recover();
    expect((await locks.mutex('a').inspect()).holders).toEqual([]);
  });

  it('grants to a caller that waits when recover() is called in time', async () => {
    store.faults.unreachable();
    const acquiring = locks.mutex('a').acquire({ wait: '10s' });
    await clock.advanceAsync(3000);
    store.faults.recover();
    await clock.advanceAsync(1000);
    expect((await acquiring).isHeld).toBe(true);
  });

  it('aborts the signal of a holder before its lease ends', async () => {
    const lease = await locks.mutex('a').acquire({ lease: '30s' });
    store.faults.unreachable();
    await clock.advanceAsync(29_000);
    expect(lease.signal.aborted).toBe(false);
    await clock.advanceAsync(1000);
    expect(lease.signal.reason).toMatchObject({ code: 'lost', reason: 'unreachable' });
  });

  it('rejects a waiter with LockUnavailableError when its wait ends', async () => {
    await locks.mutex('a').acquire({ lease: '1m' });
    const waiting = locks.mutex('a').acquire({ wait: '5s' });
    const outcome = expect(waiting).rejects.toThrow(LockUnavailableError);
    store.faults.unreachable();
    await clock.advanceAsync(5000);
    await outcome;
  });

  it('grants after recover() to a waiter that was served during the outage', async () => {
    const outside = createLocks({ store: memory, clock });
    const held = await outside.mutex('a').acquire();
    let isGranted = false;
    const waiting = locks.mutex('a').run(async () => {
      isGranted = true;
    });
    store.faults.unreachable();
    await held.release();
    await clock.advanceAsync(2000);
    expect(isGranted).toBe(false);
    store.faults.recover();
    await clock.advanceAsync(1000);
    await waiting;
    expect(isGranted).toBe(true);
    await outside.close();
  });

  it('notifies waiters in the queue, and no caller that was granted or has left', async () => {
    const failed: string[] = [];
    const acquire = (owner: string, name: string) =>
      store.acquire({ ...requestOf(name), owner }, { notify: () => failed.push(owner) });
    await acquire('granted', 'a');
    await acquire('queued', 'a');
    await acquire('left', 'a');
    await store.release({ ...requestOf('a'), owner: 'left' });
    store.faults.unreachable();
    expect(failed).toEqual(['queued']);
  });
});

describe('a slow store', () => {
  it('replies after the given duration', async () => {
    store.faults.slow('2s');
    let isGranted = false;
    const acquiring = locks
      .mutex('a')
      .acquire()
      .then((lease) => {
        isGranted = true;
        return lease;
      });
    await clock.advanceAsync(1999);
    expect(isGranted).toBe(false);
    await clock.advanceAsync(1);
    expect((await acquiring).isHeld).toBe(true);
  });

  it('makes acquire fail when the reply takes longer than the lease', async () => {
    store.faults.slow('200ms');
    const trying = locks.mutex('a').tryAcquire({ lease: '100ms' });
    const outcome = expect(trying).rejects.toThrow(
      "the store of lock 'a' is too slow: its reply took 200 ms, and the lease is 100 ms.",
    );
    await clock.advanceAsync(1000);
    await outcome;
  });

  it('rejects the calls under way when it becomes unreachable', async () => {
    store.faults.slow('1s');
    const inspecting = expect(locks.mutex('a').inspect()).rejects.toThrow(LockUnavailableError);
    store.faults.unreachable();
    await clock.advanceAsync(1000);
    await inspecting;
  });

  it.each([-1, '2 years', Number.POSITIVE_INFINITY])('refuses a duration of %s', (duration) => {
    expect(() => store.faults.slow(duration as number)).toThrow(
      `slow must be a duration from 0 ms to 36500 days, such as 500 or '30s'; got ${duration}`,
    );
  });
});

describe('a dropped reply', () => {
  it('leaves the lock taken; the next try gets the same grant', async () => {
    store.faults.dropNextReply();
    const acquiring = locks.mutex('a').acquire();
    const { holders } = await memory.inspect(requestOf('a'));
    await clock.advanceAsync(50);
    expect(holders).toMatchObject([{ fence: (await acquiring).fence }]);
  });

  it('is dropped once', async () => {
    store.faults.dropNextReply();
    await expect(locks.mutex('a').inspect()).rejects.toThrow(
      'faultyStore: the reply was dropped by dropNextReply(). The store has executed the call.',
    );
    expect((await locks.mutex('a').inspect()).holders).toEqual([]);
  });

  it('is forgotten by recover()', async () => {
    store.faults.dropNextReply();
    store.faults.recover();
    expect((await locks.mutex('a').inspect()).holders).toEqual([]);
  });
});

describe('lost leases', () => {
  it('abort the signals of all holders at once', async () => {
    const leases = await Promise.all([
      locks.mutex('a').acquire(),
      locks.semaphore('b', 3).acquire(),
      locks.readWrite('c').read.acquire(),
      locks.all(['d', 'e']).acquire(),
    ]);
    await store.faults.loseLeases();
    for (const lease of leases) {
      expect(lease.signal.aborted).toBe(true);
      expect(lease.signal.reason).toMatchObject({ code: 'lost', reason: 'stolen' });
    }
    expect(await memory.inspect(requestOf('d'))).toEqual({ holders: [], waiters: [] });
  });

  it('make run() throw LockLostError', async () => {
    const running = locks.mutex('a').run(async () => store.faults.loseLeases());
    await expect(running).rejects.toThrow(LockLostError);
  });

  it('of one lock abort its signal at the next renewal, and leave other locks held', async () => {
    const lost = await locks.mutex('a').acquire({ lease: '30s' });
    const kept = await locks.mutex('b').acquire({ lease: '30s' });
    await store.faults.loseLeases('a');
    expect((await locks.mutex('a').inspect()).holders).toEqual([]);
    await clock.advanceAsync(10_000);
    expect([lost.signal.aborted, kept.signal.aborted]).toEqual([true, false]);
    expect(lost.signal.reason).toMatchObject({ reason: 'stolen' });
  });

  it('go to the next waiter', async () => {
    await locks.mutex('a').acquire();
    const waiting = locks.mutex('a').acquire();
    await store.faults.loseLeases('a');
    expect((await waiting).isHeld).toBe(true);
  });

  it('of an unknown name are refused with the names that are known', async () => {
    await locks.mutex('report').acquire();
    await expect(store.faults.loseLeases('reprot')).rejects.toThrow(
      "loseLeases('reprot'): no lock of this name was used through this store. Used so far: 'report'",
    );
  });
});

it.each([undefined, {}, 'redis://127.0.0.1'])(
  'faultyStore refuses %s, which is no store',
  (given) => {
    const call = (): unknown => faultyStore(given as unknown as LockStore);
    expect(call).toThrow(LockArgumentError);
    expect(call).toThrow(
      'faultyStore needs a store, such as faultyStore(memoryStore(clock), { clock })',
    );
  },
);

function requestOf(name: string) {
  const info = { host: 'h', pid: 1, label: '' };
  return { kind: 'mutex', name, slots: 1, owner: 'o', permits: 1, leaseMs: 1000, info } as const;
}
