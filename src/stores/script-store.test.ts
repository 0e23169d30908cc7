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

describe('the fence', () => {
  it('rises though the store went back to an older state, as after a failover', async () => {
    const clock = virtualClock();
    const engine = createEngine({ clock, random: seededRandom(1) });
    const runner = engineRunner(engine);
    const store = new ScriptStore(runner, { clock, clientId: 'client', requestTimeoutMs: 5000 });
    const info = { host: '', pid: 0, label: '' };
    const target = { kind: 'mutex', name: 'a', slots: 1, take: 1, info } as const;
    const grant = async (owner: string): Promise<number> => {
      clock.advance(1);
      const claim = { ...target, owner, leaseMs: 1000 };
      const answer = await store.ask(claim, false);
      await store.release(claim);
      return answer.held ? answer.fence : 0;
    };
    const text = "return redis.call('SET', KEYS[1], ARGV[1])";
    const first = await grant('one');
    let last = first;
    for (const owner of ['two', 'three', 'four']) last = await grant(owner);
    await runner.run({ text, sha: '' }, ['lock:{a}:fence'], [String(first)]);
    expect(await grant('five')).toBeGreaterThan(last);
    await store.close();
    engine.close();
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
