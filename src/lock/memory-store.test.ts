import { describe, expect, it } from 'vitest';
import { virtualClock } from '../clock/index.ts';
import { CONFORMANCE } from '../stores/conformance.ts';
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
});
