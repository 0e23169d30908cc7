import { describe, expect, it } from 'vitest';
import { systemClock } from '../clock/index.ts';
import { Locks } from './index.ts';
import { memoryStore } from './memory-store.ts';

describe('the memory store', () => {
  it('keeps the process alive while a caller waits without a timeout', async () => {
    const locks = new Locks({ store: memoryStore(systemClock) });
    const timers = (): number =>
      process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
    const lease = await locks.mutex('a').acquire({ renew: false });
    const before = timers();
    const waiting = locks.mutex('a').acquire({ wait: Number.POSITIVE_INFINITY });
    expect(timers()).toBe(before + 1);
    await lease.release();
    await waiting;
    expect(timers()).toBe(before);
    await locks.close();
  });
});
