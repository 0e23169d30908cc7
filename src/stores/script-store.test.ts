import { describe, expect, it } from 'vitest';
import { seededRandom, virtualClock } from '../clock/index.ts';
import { createEngine } from '../engine/index.ts';
import { CONFORMANCE } from './conformance.ts';
import { engineRunner } from './engine-runner.ts';
import { ScriptStore } from './script-store.ts';

let clients = 0;

describe('the script store', () => {
  it('waits for an answer for so long, and no longer', async () => {
    const clock = virtualClock();
    const runner = {
      run: () => new Promise(() => {}),
      listen: async () => {},
      close: async () => {},
    };
    const store = new ScriptStore(runner, { clock, clientId: 'client', requestTimeoutMs: 5000 });
    const target = { kind: 'mutex', name: 'a', slots: 1 } as const;
    const failures = [store.inspect(target), store.forceRelease(target)].map((request) =>
      expect(request).rejects.toThrow('no answer within 5000 ms'),
    );
    await Promise.resolve();
    clock.advance(5000);
    await Promise.all(failures);
    const underWay = expect(store.inspect(target)).rejects.toThrow('the store was closed');
    await Promise.resolve();
    const unsent = expect(store.inspect(target)).rejects.toThrow('the store was closed');
    await store.close();
    await Promise.all([underWay, unsent]);
    expect(clock.pendingTimers).toBe(0);
  });
});

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
