import { describe, expect, it } from 'vitest';
import { virtualClock } from '../clock/index.ts';
import { CONFORMANCE } from '../stores/conformance.ts';
import { Locks } from './index.ts';
import { memoryStore } from './memory-store.ts';

describe('the memory store', () => {
  it.each(CONFORMANCE)('$name', async (example) => {
    const clock = virtualClock();
    const store = memoryStore(clock);
    await example.run({
      open: async () => store,
      elapse: async (durationMs) => clock.advance(durationMs),
    });
    expect(clock.pendingTimers).toBe(0);
  });

  it('removes locks that are not in use, but none that all() is about to grant', async () => {
    const clock = virtualClock();
    const locks = new Locks({ store: memoryStore(clock), clock });
    for (let count = 1; count < 1000; count++) {
      await (await locks.mutex(`${count}`).acquire()).release();
    }
    const both = await locks.all(['a', 'b']).acquire();
    expect(await locks.mutex('a').tryAcquire()).toBe(null);
    expect(await both.release()).toBe('released');
    await locks.close();
  });
});
