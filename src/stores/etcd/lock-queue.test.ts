import { describe, expect, it } from 'vitest';
import { type Entry, entryOf, LockKeys } from './entry.ts';
import { LockQueue } from './lock-queue.ts';

const KEYS = new LockKeys('', { kind: 'semaphore', name: 's', slots: 2 });

function entry(owner: string, createRevision: number, permits = 1, place?: number): Entry {
  const key = place === undefined ? KEYS.inQueue(owner) : KEYS.inFront(owner);
  const value = JSON.stringify({ owner, permits, slots: 2, place });
  return entryOf({ key, value, createRevision, modRevision: createRevision, lease: 1 });
}

function watched(): LockQueue<never> {
  const queue = new LockQueue<never>(KEYS);
  queue.unwatch = () => {};
  return queue;
}

const admittedOwners = (queue: LockQueue<never>): string[] =>
  queue.admitted().map(({ owner }) => owner);

describe('a queue of etcd', () => {
  it('admits entries in the order of their places until the slots are full', () => {
    const queue = watched();
    queue.merge([entry('a', 1), entry('b', 2, 2), entry('c', 3)], 3);
    expect(admittedOwners(queue)).toEqual(['a']);
    queue.delete(KEYS.inQueue('a'), 4);
    expect(admittedOwners(queue)).toEqual(['b']);
    expect(queue.placeOf(KEYS.inQueue('c'))).toBe(1);
  });

  it('orders an entry in front by its place', () => {
    const queue = watched();
    queue.merge([entry('b', 5, 2)], 5);
    queue.merge([entry('thief', 7, 2, 3)], 7, 6);
    expect(admittedOwners(queue)).toEqual(['thief']);
  });

  it('orders an entry by its own place when its key was used before and that deletion arrives late', () => {
    const queue = watched();
    queue.merge([entry('a', 1, 2), entry('b', 2, 2)], 2);
    queue.merge([entry('a', 4, 2)], 4, 3);
    queue.delete(KEYS.inQueue('a'), 3);
    expect(admittedOwners(queue)).toEqual(['b']);
  });

  it('does not add an entry whose deletion arrived before the reply', () => {
    const queue = watched();
    queue.pendingCount = 1;
    queue.merge([entry('a', 1, 2)], 1);
    queue.delete(KEYS.inQueue('b'), 5);
    queue.merge([entry('b', 3, 2), entry('c', 4, 2)], 4, 2);
    queue.delete(KEYS.inQueue('a'), 6);
    expect(admittedOwners(queue)).toEqual(['c']);
  });

  it('does not add an entry of an older reply that was deleted since', () => {
    const queue = watched();
    queue.merge([entry('c', 4, 2)], 6);
    queue.merge([entry('b', 3, 2), entry('c', 4, 2)], 5);
    expect(admittedOwners(queue)).toEqual(['c']);
  });

  it('keeps an entry that was created again after its deletion', () => {
    const queue = watched();
    queue.merge([entry('a', 1)], 1);
    queue.merge([entry('a', 5)], 5, 2);
    queue.delete(KEYS.inQueue('a'), 4);
    expect(admittedOwners(queue)).toEqual(['a']);
  });

  it('refuses a reply without the entries before, when it has forgotten them', () => {
    const queue = watched();
    queue.merge([entry('a', 1)], 1);
    queue.clear();
    expect(queue.merge([entry('b', 3)], 3, 2)).toBe(false);
    expect(admittedOwners(queue)).toEqual([]);
  });

  it('forgets what it knew before a reply, while it is not watched', () => {
    const queue = new LockQueue<never>(KEYS);
    queue.merge([entry('a', 1)], 1);
    queue.merge([entry('b', 3)], 3);
    expect(admittedOwners(queue)).toEqual(['b']);
  });
});
