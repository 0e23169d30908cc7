import { describe, expect, it } from 'vitest';
import { virtualClock } from '../../clock/index.ts';
import type { ListFilter, LockListing, LockState, LockStore } from '../../lock/index.ts';
import { LockArgumentError, Locks, memoryStore } from '../../lock/index.ts';
import { StoreError } from './store-error.ts';
import { storeLocks } from './store-locks.ts';

/** A store in memory that lists these locks. */
function listing(targets: readonly Pick<LockState, 'kind' | 'name' | 'slots'>[]): LockStore {
  const store = memoryStore(virtualClock());
  return Object.assign(store, {
    async list({ name, maxLocks }: ListFilter): Promise<LockListing> {
      const found = targets.filter((target) => name === undefined || target.name === name);
      const locks = await Promise.all(
        found.map(async (target) => {
          const { holders, waiters } = await store.inspect(target);
          return {
            ...target,
            holders,
            waiters,
            holderCount: holders.length,
            waiterCount: waiters.length,
          };
        }),
      );
      return { locks: locks.slice(0, maxLocks), isCut: locks.length > maxLocks };
    },
  });
}

const NOTE = { host: 'h', pid: 1, user: 'u', reason: 'r' };

describe('storeLocks', () => {
  const TARGETS = [
    { kind: 'mutex', name: 'order:1', slots: 1 },
    { kind: 'semaphore', name: 'order:2', slots: 3 },
    { kind: 'mutex', name: '锁', slots: 1 },
  ] as const;

  it('lists holders and waiters, and filters names by a pattern', async () => {
    const store = listing(TARGETS);
    const locks = new Locks({ store, clock: virtualClock() });
    await locks.mutex('order:1').acquire({ label: 'first' });
    void locks
      .mutex('order:1')
      .acquire()
      .catch(() => {});
    await locks.semaphore('order:2', 3, { permits: 2 }).acquire();
    const source = storeLocks(store, 'test://');
    const { locks: all, isCut } = await source.list(undefined);
    expect(isCut).toBe(false);
    expect(all.map(({ nameBytes }) => Buffer.from(nameBytes, 'latin1').toString())).toEqual([
      'order:1',
      'order:2',
      '锁',
    ]);
    expect(all[0]).toMatchObject({
      kind: 'mutex',
      holderCount: 1,
      holders: [{ info: { pid: process.pid, label: 'first' }, fence: expect.any(Number) }],
      waiterCount: 1,
      waiters: [{ leaseMs: undefined }],
    });
    expect((await source.list('order:[2-9]')).locks).toMatchObject([{ nameBytes: 'order:2' }]);
    expect(await source.read('order:2')).toMatchObject([
      { lock: { kind: 'semaphore', holders: [{ permits: 2 }] }, forced: [] },
    ]);
  });

  it('releases by force, and returns the lock before and after', async () => {
    const store = listing(TARGETS);
    const locks = new Locks({ store, clock: virtualClock() });
    await locks.semaphore('order:2', 3).acquire();
    const source = storeLocks(store, 'test://');
    const [found] = await source.read('order:2');
    expect(await source.force(found!.lock, NOTE, ['another'])).toBeUndefined();
    const owners = found!.lock.holders.map(({ owner }) => owner);
    expect(await source.force(found!.lock, NOTE, owners)).toMatchObject({
      before: { holderCount: 1 },
      after: { holderCount: 0 },
    });
    expect(source.keepsReasons).toBe(false);
  });

  it('reads mutexes of a store that cannot list, and says that it cannot', async () => {
    const store = Object.assign(memoryStore(virtualClock()), { list: undefined });
    const locks = new Locks({ store, clock: virtualClock() });
    await locks.mutex('a').acquire();
    const source = storeLocks(store, 'test://host');
    await expect(source.list(undefined)).rejects.toThrow(
      /^test:\/\/host cannot list its locks\. Name one/,
    );
    expect(await source.read('a')).toMatchObject([{ lock: { holderCount: 1 } }]);
    expect(await source.read('b')).toEqual([]);
  });

  it('rejects with a StoreError if the store fails, and a LockArgumentError for a name in other bytes', async () => {
    const store = Object.assign(memoryStore(virtualClock()), {
      list: () => Promise.reject(new Error('no connection')),
    });
    const source = storeLocks(store, 'test://host');
    await expect(source.read('a')).rejects.toThrow(StoreError);
    await expect(source.read('a')).rejects.toThrow('test://host does not answer: no connection.');
    await expect(source.read('\xff')).rejects.toThrow(LockArgumentError);
  });
});
