import { describe, expect, it } from 'vitest';
import { seededRandom, virtualClock } from '../clock/index.ts';
import { createEngine } from '../engine/index.ts';
import { CONFORMANCE } from './conformance.ts';
import { engineRunner } from './engine-runner.ts';
import { ScriptStore } from './script-store.ts';

let clients = 0;

describe('the script store, on an engine of this process', () => {
  it.each(CONFORMANCE)('$name', async (example) => {
    const clock = virtualClock();
    const engine = createEngine({ clock, random: seededRandom(1) });
    await example.run({
      open: async () =>
        new ScriptStore(engineRunner(engine), {
          clock,
          clientId: `client${++clients}`,
          requestTimeoutMs: 5000,
        }),
      elapse: async (durationMs) => clock.advance(durationMs),
    });
    engine.close();
    expect(clock.pendingTimers).toBe(0);
  });
});
