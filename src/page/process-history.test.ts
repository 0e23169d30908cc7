import { afterEach, describe, expect, it } from 'vitest';
import { seededRandom, virtualClock } from '../clock/index.ts';
import { insideLocks, Locks, memoryStore } from '../lock/index.ts';
import { ProcessHistory } from './process-history.ts';

const clock = virtualClock();
const histories: ProcessHistory[] = [];

function newLocks(seed = 1): Locks {
  return new Locks({ store: memoryStore(clock), clock, random: seededRandom(seed) });
}

function historyOf(locks: Locks, maxBytes?: number): ProcessHistory {
  const { ownerPrefix } = insideLocks(locks)!;
  const history = new ProcessHistory({ clock, ownerPrefix, ...(maxBytes && { maxBytes }) });
  histories.push(history);
  return history;
}

afterEach(() => {
  for (const history of histories.splice(0)) history.close();
});

describe('ProcessHistory', () => {
  it('has waits, hand-overs, releases, and waiters that left', async () => {
    const locks = newLocks();
    const history = historyOf(locks);
    const mutex = locks.mutex('锁');
    const lease = await mutex.acquire();
    const second = mutex.acquire();
    const third = mutex.acquire({ wait: '50ms' }).catch(() => {});
    await clock.advanceAsync(100);
    await third;
    await lease.release();
    await second;
    const { events, missed } = await history.next();
    expect(missed).toBe(0);
    expect(events.map(({ id, type, waitedMs, heldMs }) => [id, type, waitedMs, heldMs])).toEqual([
      [1, 'granted', undefined, undefined],
      [2, 'waiting', undefined, undefined],
      [3, 'waiting', undefined, undefined],
      [4, 'left', 50, undefined],
      [5, 'released', undefined, 100],
      [6, 'handed-over', 100, undefined],
    ]);
    expect(events[0]).toMatchObject({ kind: 'mutex', info: { pid: process.pid } });
    expect(Buffer.from(events[0]!.nameBytes, 'latin1').toString()).toBe('锁');
    expect((await history.next()).events).toEqual([]);
  });

  it('has only the events of its own locks', async () => {
    const [locks, others] = [newLocks(1), newLocks(2)];
    const history = historyOf(locks);
    await others.mutex('other').run(() => {});
    await locks.mutex('own').run(() => {});
    const { events } = await history.next();
    expect(events.map(({ nameBytes }) => nameBytes)).toEqual(['own', 'own']);
  });

  it('drops the oldest events above its limit, and says how many were missed', async () => {
    const locks = newLocks();
    const history = historyOf(locks, 10_000);
    for (let turn = 0; turn < 1000; turn++) await locks.mutex('a').run(() => {});
    const { events, missed } = await history.next();
    expect(events.length).toBeLessThan(50);
    expect(events.length).toBeGreaterThan(20);
    expect(events.length + missed).toBe(2000);
    expect(events.at(-1)!.id).toBe(2000);
  });

  it('grows its ring, and gives at most 10,000 events at a time', async () => {
    const locks = newLocks();
    const history = historyOf(locks);
    for (let turn = 0; turn < 6000; turn++) await locks.mutex('a').run(() => {});
    const first = await history.next();
    const second = await history.next();
    expect([first.events.length, second.events.length]).toEqual([10_000, 2000]);
    expect(second.events[0]!.id).toBe(10_001);
  });

  it('finds the newest events of a name', async () => {
    const locks = newLocks();
    const history = historyOf(locks);
    for (const name of ['a', 'b', 'a']) await locks.mutex(name).run(() => {});
    expect((await history.ofName('a', 3)).map(({ id }) => id)).toEqual([2, 5, 6]);
  });

  it('listens to nothing after close', async () => {
    const locks = newLocks();
    const history = historyOf(locks);
    history.close();
    await locks.mutex('a').run(() => {});
    expect((await history.next()).events).toEqual([]);
  });
});
