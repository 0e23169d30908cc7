import { systemClock } from '../clock/index.ts';
import { Locks, type LocksOptions, memoryStore } from '../lock/index.ts';

/** `holdfast/memory`: locks of this process alone, in a bundle without a Redis client. */
export function createLocks(options: MemoryLocksOptions = {}): Locks {
  return new Locks({ ...options, store: memoryStore(options.clock ?? systemClock) });
}

export type MemoryLocksOptions = Omit<LocksOptions, 'store'>;
