import { systemClock } from '../clock/index.ts';
import { LockArgumentError, Locks, type LocksOptions, memoryStore } from '../lock/index.ts';

/**
 * `holdfast/memory`: locks of this process alone, in a bundle without a Redis client.
 *
 * @throws LockArgumentError for an option that it does not know, such as an address.
 */
export function createLocks(options: MemoryLocksOptions = {}): Locks {
  for (const name of optionNames(options)) if (!OPTIONS.includes(name)) throw unknownOption(name);
  return new Locks({ ...options, store: memoryStore(options.clock ?? systemClock) });
}

export type MemoryLocksOptions = Omit<LocksOptions, 'store'>;

const OPTIONS = ['defaults', 'clock', 'random', 'telemetry'];

function optionNames(options: unknown): string[] {
  return typeof options === 'object' && options !== null ? Object.keys(options) : [typeof options];
}

/** Its locks would be those of this process alone, unnoticed. */
function unknownOption(name: string): LockArgumentError {
  return new LockArgumentError(
    '',
    `createLocks of holdfast/memory does not know '${name}'. For locks in Redis import createLocks from 'holdfast'. ` +
      `Its options are ${OPTIONS.join(', ')}.`,
  );
}
