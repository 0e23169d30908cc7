import { AsyncLocalStorage } from 'node:async_hooks';
import diagnostics from 'node:diagnostics_channel';
import { describe, expect, it } from 'vitest';
import { elapse, gate, settle } from '../../test/virtual-time.ts';
import { seededRandom, virtualClock } from '../clock/index.ts';
import { createEngine, execute } from '../engine/index.ts';
import { type Claim, type Lease, Locks } from '../lock/index.ts';
import { type Case, CONFORMANCE, type ExaminedKeys, KEY_CONFORMANCE } from './conformance.ts';
import { engineRunner } from './engine-runner.ts';
import { toWords } from './lock-call.ts';
import { ScriptStore } from './script-store.ts';

let clients = 0;

/** A store on an engine of its own, and locks in it, whose time is moved by the test. */
function openStore() {
  const clock = virtualClock();
  const engine = createEngine({ clock, random: seededRandom(1) });
  const runner = engineRunner(engine);
  const store = new ScriptStore(runner, { clock, clientId: 'client', requestTimeoutMs: 5000 });
  return { clock, engine, runner, store, locks: new Locks({ store, clock }) };
}

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

describe('a request', () => {
  it('has its time from when it is sent, which a program that is blocked does late', async () => {
    const clock = virtualClock();
    const { opened, open } = gate();
    const runner = {
      run: () => opened.then(() => 7),
      listen: async () => {},
      close: async () => {},
    };
    const store = new ScriptStore(runner, { clock, clientId: 'client', requestTimeoutMs: 5000 });
    const locks = new Locks({ store, clock });
    const taking = locks.mutex('a').tryAcquire();
    clock.advance(6000);
    await settle();
    clock.advance(1000);
    open();
    expect((await taking)?.fence).toBe(7);
    await store.close();
  });

  it('that the client throws at has failed: whoever made it is told', async () => {
    const clock = virtualClock();
    const runner = {
      run: (): Promise<unknown> => {
        throw new Error('no client');
      },
      listen: async () => {},
      close: async () => {},
    };
    const store = new ScriptStore(runner, { clock, clientId: 'client', requestTimeoutMs: 5000 });
    const locks = new Locks({ store, clock });
    const asking = Array.from({ length: 101 }, (_, index) => locks.mutex(`${index}`).tryAcquire());
    for (const each of asking) await expect(each).rejects.toThrow('no client');
  });

  it('is not heard after its time, since who has asked again would count from then', async () => {
    const clock = virtualClock();
    const engine = createEngine({ clock, random: seededRandom(1) });
    const runner = engineRunner(engine);
    const { opened, open } = gate();
    let calls = 0;
    const slow = {
      ...runner,
      async run(...call: Parameters<typeof runner.run>) {
        if (++calls > 1) return new Promise(() => {});
        const reply = await runner.run(...call);
        await opened;
        return reply;
      },
    };
    const store = new ScriptStore(slow, { clock, clientId: 'client', requestTimeoutMs: 5000 });
    const locks = new Locks({ store, clock });
    let isGranted = false;
    const taking = locks.mutex('a').acquire({ wait: '60s' });
    taking.then(
      () => {
        isGranted = true;
      },
      () => {},
    );
    await elapse(clock, 5200);
    expect(calls).toBe(2);
    open();
    await settle();
    expect(isGranted).toBe(false);
    const closing = locks.close();
    await elapse(clock, 6000);
    await closing;
    await expect(taking).rejects.toThrow('aborted');
    engine.close();
  });

  it('that frees a lock beside others serves who waits for it, without a timer', async () => {
    const { engine, locks } = openStore();
    const names = ['a', 'b'];
    const held = await Promise.all(names.map((name) => locks.mutex(name).acquire()));
    const waiting = names.map((name) => locks.mutex(name).acquire({ wait: '50s' }));
    await settle();
    await Promise.all(held.map((lease) => lease.release()));
    for (const lease of await Promise.all(waiting)) await lease.release();
    await locks.close();
    engine.close();
  });

  it('is told of in the context of who made it, though others travel with it', async () => {
    const { engine, locks } = openStore();
    const context = new AsyncLocalStorage<string>();
    const heard: string[] = [];
    const channels = ['grant', 'release', 'fail'].map((name) => `holdfast:${name}`);
    const note = (event: unknown): void =>
      void heard.push(`${(event as { lock: string }).lock} in ${context.getStore()}`);
    for (const channel of channels) diagnostics.subscribe(channel, note);
    const use = async (name: string): Promise<void> => {
      const lease = await locks.mutex(name).acquire();
      await locks.mutex(name).tryAcquire();
      await lease.release();
    };
    await Promise.all(['a', 'b'].map((name) => context.run(name, () => use(name))));
    for (const channel of channels) diagnostics.unsubscribe(channel, note);
    expect(heard.sort()).toEqual(
      ['a', 'a', 'a', 'b', 'b', 'b'].map((name) => `${name} in ${name}`),
    );
    await locks.close();
    engine.close();
  });
});

describe('the fence', () => {
  it.each(['mutex', 'rw', 'semaphore'] as const)(
    'of a %s is known for long after a lease that was renewed for a day',
    async (kind) => {
      const { clock, engine, runner, locks } = openStore();
      const lock = { mutex: locks.mutex('a'), rw: locks.readWrite('a').write };
      const lease = await (kind === 'semaphore' ? locks.semaphore('a', 3) : lock[kind]).acquire();
      for (let hour = 0; hour < 25; hour++) {
        // As if it had been renewed in between, which takes longer.
        clock.advance(29_000);
        await lease.extend();
        const sooner =
          "return redis.call('PEXPIRE', KEYS[1], redis.call('PTTL', KEYS[1]) - 3571000)";
        await runner.run({ text: sooner, sha: '' }, [KEYS_OF_A[kind]], []);
      }
      const left = "return redis.call('PTTL', KEYS[1])";
      const leftMs = await runner.run({ text: left, sha: '' }, [KEYS_OF_A[kind]], []);
      expect(leftMs).toBeGreaterThan(11 * 3_600_000);
      await locks.close();
      engine.close();
    },
  );
});

const KEYS_OF_A = {
  mutex: 'lock:{a}:fence',
  rw: 'rw:{a}:fence',
  semaphore: 'semaphore:{a}:fence',
} as const;

describe('requests that travel together', () => {
  it('do not fail for a key among them that is no lock', async () => {
    const { engine, runner, locks } = openStore();
    const text = "return redis.call('HSET', KEYS[1], 'field', 'value')";
    await runner.run({ text, sha: '' }, ['lock:{bad}'], []);
    const names = ['a', 'bad', 'b', 'c'];
    const tries = names.map((name) => locks.mutex(name).tryAcquire());
    const both = locks.all(['d', 'e']).tryAcquire();
    const outcomes = await Promise.allSettled([...tries, both]);
    const shown = outcomes.map((each) =>
      each.status === 'fulfilled' ? each.value?.isHeld : String(each.reason.cause),
    );
    expect(shown).toEqual([true, expect.stringContaining('WRONGTYPE'), true, true, true]);
    await locks.close();
    engine.close();
  });

  it('fail together if they belong together and one of their keys is no lock', async () => {
    const clock = virtualClock();
    const engine = createEngine({ clock, random: seededRandom(1) });
    const runner = engineRunner(engine);
    let calls = 0;
    const counted: typeof runner.run = async (...call) => {
      if (++calls > 10) throw new Error('it is asked for again and again');
      return runner.run(...call);
    };
    const store = new ScriptStore(
      { ...runner, run: counted },
      { clock, clientId: 'client', requestTimeoutMs: 5000 },
    );
    const locks = new Locks({ store, clock });
    const text = "return redis.call('HSET', KEYS[1], 'field', 'value')";
    await runner.run({ text, sha: '' }, ['lock:{bad}'], []);
    const failure = await locks
      .all(['bad', 'good'])
      .tryAcquire()
      .catch((error) => error.cause);
    expect(String(failure)).toContain('WRONGTYPE');
    engine.close();
  });

  it('stand in line also if they were sent before the first could hear, and answered after', async () => {
    const clock = virtualClock();
    const engine = createEngine({ clock, random: seededRandom(1) });
    const runner = engineRunner(engine);
    const gates = { listen: [] as (() => void)[], second: [] as (() => void)[] };
    const passed = (gate: (() => void)[]) => new Promise<void>((resolve) => gate.push(resolve));
    const store = new ScriptStore(
      {
        ...runner,
        async run(script, keys, args) {
          const reply = await runner.run(script, keys, args);
          const [verb, token] = toWords(args);
          if (verb === 'ask' && token?.includes('second')) await passed(gates.second);
          return reply;
        },
        async listen(...hearing) {
          await passed(gates.listen);
          await runner.listen(...hearing);
        },
      },
      { clock, clientId: 'client', requestTimeoutMs: 5000 },
    );
    const locks = new Locks({ store, clock });
    const lock = locks.mutex('a');
    const holder = await lock.acquire();
    const settle = async (): Promise<void> => {
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    };
    const first = lock.acquire({ label: 'first' });
    await settle();
    const second = lock.acquire({ label: 'second' });
    for (const gate of [gates.listen, gates.second]) {
      await settle();
      for (const open of gate) open();
    }
    await settle();
    const { waiters } = await lock.inspect();
    expect(waiters.map(({ label }) => label)).toEqual(['first', 'second']);
    // Each by the release before it, without a timer.
    await holder.release();
    await (await first).release();
    await (await second).release();
    await locks.close();
    engine.close();
  });

  it('are not heard after the time for their answer, so that nobody stands in line in vain', async () => {
    const clock = virtualClock();
    const engine = createEngine({ clock, random: seededRandom(1) });
    const runner = engineRunner(engine);
    const answers: (() => void)[] = [];
    const slow = {
      ...runner,
      run: (...call: Parameters<typeof runner.run>) =>
        new Promise<unknown>((resolve) => {
          answers.push(() => resolve(runner.run(...call)));
        }),
    };
    const options = { clock, requestTimeoutMs: 5000 };
    const here = new Locks({
      store: new ScriptStore(runner, { ...options, clientId: 'a' }),
      clock,
    });
    const there = new Locks({ store: new ScriptStore(slow, { ...options, clientId: 'b' }), clock });
    await here.mutex('a').acquire({ lease: '60s', renew: false });
    const failure = expect(there.mutex('a').acquire({ wait: '5s' })).rejects.toThrow(/no answer/);
    await new Promise(setImmediate);
    clock.advance(5000);
    await failure;
    for (let answer = answers.shift(); answer; answer = answers.shift()) {
      answer();
      for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
    }
    expect((await here.mutex('a').inspect()).waiters).toEqual([]);
    await here.close();
    engine.close();
  });
});

describe('a release that the client sends twice', () => {
  it('leaves nobody waiting of those whom the first one served', async () => {
    const clock = virtualClock();
    const engine = createEngine({ clock, random: seededRandom(1) });
    const runner = engineRunner(engine);
    const twice = {
      ...runner,
      async run(...call: Parameters<typeof runner.run>) {
        const reply = await runner.run(...call);
        return call[2].includes('release') ? runner.run(...call) : reply;
      },
    };
    const store = new ScriptStore(twice, { clock, clientId: 'client', requestTimeoutMs: 5000 });
    const locks = new Locks({ store, clock });
    const first = await locks.mutex('a').acquire();
    const second = locks.mutex('a').acquire();
    const other = locks.mutex('b');
    await (await other.acquire()).release();
    await first.release();
    expect((await second).isHeld).toBe(true);
    await locks.close();
    engine.close();
  });
});

describe('what others did to a lock', () => {
  it('is seen as it is: a token of any form, a fence that is gone', async () => {
    const { clock, engine, runner, store } = openStore();
    const foreign = {
      text: "return redis.call('SET', 'lock:{a}', 'x [abc]', 'PX', 1000)",
      sha: '',
    };
    await runner.run(foreign, [], []);
    const info = { host: 'h', pid: 1, label: '' };
    const claim = { kind: 'mutex', slots: 1, take: 1, leaseMs: 1000, owner: 'me', info } as const;
    const { holders } = await store.inspect({ ...claim, name: 'a' });
    expect(holders).toMatchObject([{ foreign: true, value: 'x [abc]' }]);
    const first = await store.ask({ ...claim, name: 'b' }, false);
    await runner.run({ text: "return redis.call('DEL', 'lock:{b}:fence')", sha: '' }, [], []);
    clock.advance(1);
    const again = await store.ask({ ...claim, name: 'b' }, false);
    expect(again).toMatchObject({ held: true });
    expect((again as { fence: number }).fence).toBeGreaterThan((first as { fence: number }).fence);
    await store.close();
    engine.close();
  });
});

describe('a mutex that the store has forgotten', () => {
  it('was not held until its release', async () => {
    const { engine, runner, locks } = openStore();
    const lease = await locks.mutex('a').acquire();
    await runner.run({ text: "return redis.call('FLUSHALL')", sha: '' }, [], []);
    expect(await lease.release()).toBe('notHeld');
    await locks.close();
    engine.close();
  });
});

describe('several locks at once', () => {
  it('are not kept from anybody by the dead who stand in line', async () => {
    const clock = virtualClock();
    const engine = createEngine({ clock, random: seededRandom(1) });
    const options = { clock, requestTimeoutMs: 5000 };
    const dead = new ScriptStore(engineRunner(engine), { ...options, clientId: 'dead' });
    const store = new ScriptStore(engineRunner(engine), { ...options, clientId: 'living' });
    const info = { host: '', pid: 0, label: '' };
    const claim = { kind: 'mutex', name: 'a', slots: 1, take: 1, leaseMs: 1000, info } as const;
    await dead.ask({ ...claim, owner: 'holder' }, false);
    await dead.ask({ ...claim, owner: 'waiter' }, true);
    clock.advance(20_000);
    const locks = new Locks({ store, clock });
    expect(await locks.all(['a', 'b']).tryAcquire()).not.toBe(null);
    await locks.close();
    await dead.close();
    engine.close();
  });
});

describe('a lock of several holders', () => {
  it('is free once its holders have died, at whatever time its keys end', async () => {
    const clock = virtualClock();
    const engine = createEngine({ clock, random: seededRandom(1) });
    const store = new ScriptStore(engineRunner(engine), {
      clock,
      clientId: 'client',
      requestTimeoutMs: 5000,
    });
    const locks = new Locks({ store, clock });
    const permit = locks.semaphore('s', 1);
    const hour = 3_600_000;
    for (const heldHours of [0, 18, 5, 30, 1]) {
      const lease = await permit.tryAcquire({ lease: '30s', renew: false });
      expect(lease, `after ${heldHours} hours`).not.toBe(null);
      for (let half = 0; half < heldHours * 2; half++) {
        clock.advance(hour / 2);
        await store.ask({ ...claimOf(lease!), leaseMs: 1.2 * hour }, false);
      }
      clock.advance(12 * hour);
    }
    await locks.close();
    engine.close();
  });
});

function claimOf(lease: Lease): Claim {
  return (lease as unknown as { claim: Claim }).claim;
}

describe('the fence', () => {
  it('rises though the store went back to an older state, as after a failover', async () => {
    const { clock, engine, runner, store } = openStore();
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
  it.each<Case<ExaminedKeys>>([...CONFORMANCE, ...KEY_CONFORMANCE])('$name', async (example) => {
    const clock = virtualClock();
    const engine = createEngine({ clock, random: seededRandom(1) });
    const session = engine.session();
    await example.run({
      open: async () =>
        new ScriptStore(engineRunner(engine), {
          clock,
          clientId: `client${++clients}`,
          requestTimeoutMs: 5000,
        }),
      elapse: async (durationMs) => clock.advance(durationMs),
      set: async (key, value, ttlMs) => {
        const bytes = Buffer.from(value, 'utf8').toString('latin1');
        const end = ttlMs === undefined ? [] : ['PX', String(ttlMs)];
        return execute(session, ['SET', key, bytes, ...end]);
      },
    });
    session.close();
    engine.close();
    expect(clock.pendingTimers).toBe(0);
  });
});
