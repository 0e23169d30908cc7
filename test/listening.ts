import type { Locks } from '../src/lock/index.ts';

/** Somebody waits once, and is served: from then on the store can be called. */
export async function startListening(locks: Locks, settle: () => Promise<void>): Promise<void> {
  const lease = await locks.mutex('before').acquire();
  const waiting = locks.mutex('before').acquire();
  await settle();
  await lease.release();
  await (await waiting).release();
}
