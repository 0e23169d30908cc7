import { expect } from 'vitest';
import { seededRandom, type VirtualClock, virtualClock } from '../src/clock/index.ts';
import { type LockStore, Locks } from '../src/lock/index.ts';
import { memoryStore } from '../src/lock/memory-store.ts';
import { settle } from './virtual-time.ts';

export interface MemoryLocks {
  readonly clock: VirtualClock;
  readonly store: LockStore;
  readonly locks: Locks;
}

/** Locks in memory, in virtual time. */
export function openMemoryLocks(): MemoryLocks {
  const clock = virtualClock();
  const store = memoryStore(clock);
  return { clock, store, locks: new Locks({ store, clock, random: seededRandom(1) }) };
}

/** Closes them, and makes sure that nothing of them is left. */
export async function closeMemoryLocks({
  clock,
  locks,
}: Omit<MemoryLocks, 'store'>): Promise<void> {
  const closing = locks.close();
  await settle();
  clock.advance(500);
  await closing;
  expect(clock.pendingTimers).toBe(0);
}
