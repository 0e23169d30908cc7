import { LockArgumentError, type LockStore } from '../lock/index.ts';

/** Refuses a value that is no store, such as the locks themselves, or an address. */
export function checkStore(store: LockStore, caller: string): void {
  if (typeof store?.acquire === 'function' && typeof store.release === 'function') return;
  throw new LockArgumentError(
    '',
    `${caller} needs a store, such as ${caller}(memoryStore(clock), { clock })`,
  );
}
