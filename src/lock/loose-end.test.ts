import diagnostics from 'node:diagnostics_channel';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { startListening } from '../../test/listening.ts';
import { elapse, settle } from '../../test/virtual-time.ts';
import type { ScriptRunner } from '../client/index.ts';
import { seededRandom, type VirtualClock, virtualClock } from '../clock/index.ts';
import { createEngine, type Engine } from '../engine/index.ts';
import { engineRunner } from '../stores/redis/engine-runner.ts';
import { RedisStore } from '../stores/redis/redis-store.ts';
import {
  type Lease,
  LockAbortedError,
  type LockStore,
  Locks,
  LockTimeoutError,
  LockUnavailableError,
  memoryStore,
} from './index.ts';

/** What is under way when its end is decided: nothing may be left in the store, and nobody left waiting. */

let clock: VirtualClock;
let engine: Engine;
let clients = 0;

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
});
afterEach(() => engine.close());

function open(store: LockStore = newStore()): Locks {
  return new Locks({ store, clock, random: seededRandom(++clients) });
}

function newStore(runner: ScriptRunner = engineRunner(engine)): LockStore {
  return new RedisStore(runner, { clock, clientId: `${++clients}`, requestTimeoutMs: 5000 });
}

/** A store whose answers to requests of this verb are kept back, while it is slow. */
function slowStore(verb: RegExp): { store: LockStore; slow: { isOn: boolean; answer(): void } } {
  const runner = engineRunner(engine);
  const kept: (() => void)[] = [];
  const answer = (): void => {
    for (const each of kept.splice(0)) each();
  };
  const slow = { isOn: true, answer };
  const run: ScriptRunner['run'] = async (script, keys, args) => {
    const reply = await runner.run(script, keys, args);
    const isKept = slow.isOn && args.some((word) => verb.test(word));
    if (isKept) await new Promise<void>((resolve) => kept.push(resolve));
    return reply;
  };
  return { store: newStore({ ...runner, run }), slow };
}

function passed(gate: (() => void)[]): Promise<void> {
  return new Promise((resolve) => gate.push(resolve));
}

/** The store does what it is asked for, but all answers of this kind are lost. */
function withLostAnswers(
  method: 'adopt' | 'acquireAll',
  store = newStore(),
  onLost = () => {},
): LockStore {
  const ask = store[method].bind(store) as (...words: unknown[]) => Promise<unknown>;
  const lost = async (...words: unknown[]): Promise<never> => {
    await ask(...words);
    onLost();
    throw new Error('the answer was lost');
  };
  return Object.assign(store, { [method]: lost });
}

const holdersOf = async (...names: string[]): Promise<number> =>
  (await open().all(names).inspect()).holders.length;

function onEvent(name: string, listener: () => void): void {
  diagnostics.subscribe(name, listener);
  onTestFinished(() => void diagnostics.unsubscribe(name, listener));
}

describe('several locks at once', () => {
  it('are given back if the answer was lost and then the signal aborts', async () => {
    const controller = new AbortController();
    const store = withLostAnswers('acquireAll', newStore(), () => controller.abort());
    const taken = open(store).all(['a', 'b']).acquire({ signal: controller.signal });
    await expect(taken).rejects.toThrow(LockAbortedError);
    await settle();
    expect(await holdersOf('a', 'b')).toBe(0);
  });

  it('are given back by close() while they are asked for', async () => {
    const { store, slow } = slowStore(/^all/);
    const locks = open(store);
    const failure = expect(locks.all(['a', 'b']).acquire()).rejects.toThrow(LockAbortedError);
    await settle();
    const closing = locks.close();
    await settle();
    slow.answer();
    await Promise.all([closing, failure]);
    expect(await holdersOf('a', 'b')).toBe(0);
  });

  it('are released as what they are when the first release was answered to nobody', async () => {
    const locks = open(newStore({ ...engineRunner(engine), slotOf: (key) => key.charCodeAt(6) }));
    const holder = await open().mutex('b').acquire();
    const waiting = locks.all(['a', 'b']).acquire();
    await settle();
    clock.advance(10);
    await holder.release();
    const lease = await waiting;
    // As if the request had been made before: the script knows its own last release by the fence.
    const text = "return redis.call('DEL', KEYS[1])";
    await engineRunner(engine).run({ text, sha: '' }, ['lock:{a}'], []);
    expect(await lease.release()).toBe('released');
  });
});

describe('a lease that is adopted', () => {
  it('is given back by close() while it is asked for', async () => {
    const text = (await open().mutex('a').acquire()).transfer();
    const { store, slow } = slowStore(/^adopt/);
    const locks = open(store);
    const failure = expect(locks.adopt(text)).rejects.toThrow(LockAbortedError);
    await settle();
    const closing = locks.close();
    await settle();
    slow.answer();
    await Promise.all([closing, failure]);
    expect(await holdersOf('a')).toBe(0);
  });

  it('is given back if no answer ever came', async () => {
    const text = (await open().mutex('a').acquire()).transfer();
    const failure = expect(open(withLostAnswers('adopt')).adopt(text)).rejects.toThrow(
      LockUnavailableError,
    );
    await elapse(clock, 5000);
    await failure;
    expect(await holdersOf('a')).toBe(0);
  });

  it('is given back if it is one of several that cannot have one fence', async () => {
    const text = (await open().all(['a', 'b']).acquire()).transfer();
    const failure = expect(open(withLostAnswers('acquireAll')).adopt(text)).rejects.toThrow(
      LockUnavailableError,
    );
    await elapse(clock, 5000);
    await failure;
    expect(await holdersOf('a', 'b')).toBe(0);
  });
});

describe('a key that is no lock', () => {
  it('is told at once, and not asked for nor released again', async () => {
    const runner = engineRunner(engine);
    const text = "return redis.call('HSET', KEYS[1], 'field', 'value')";
    await runner.run({ text, sha: '' }, ['lock:{a}'], []);
    let calls = 0;
    const run: ScriptRunner['run'] = (...call) => {
      calls++;
      return runner.run(...call);
    };
    const lock = open(newStore({ ...runner, run })).mutex('a');
    const waiting = lock.acquire({ wait: Number.POSITIVE_INFINITY, lease: '1d' });
    await expect(waiting).rejects.toThrow(LockUnavailableError);
    await elapse(clock, 60_000);
    expect(calls).toBe(2);
  });
});

describe('a place in line', () => {
  it('is left also if that fails for longer than the lease would have been', async () => {
    await open().mutex('a').acquire({ lease: '60s', renew: false });
    const store = newStore();
    const release = store.release.bind(store);
    const untilMs = clock.monotonicMs() + 3000;
    store.release = (...words) =>
      clock.monotonicMs() < untilMs ? Promise.reject(new Error('cut')) : release(...words);
    const waiting = open(store).mutex('a').acquire({ lease: '500ms', wait: '1s' });
    const failure = expect(waiting).rejects.toThrow(LockTimeoutError);
    await elapse(clock, 5000);
    await failure;
    expect((await open().mutex('a').inspect()).waiters).toEqual([]);
  });
});

describe('the wait timeout', () => {
  it('ends a request that the store has not answered', async () => {
    const { store, slow } = slowStore(/^(?:acquire|queue)/);
    const locks = open(store);
    await locks.ready();
    const failure = expect(locks.mutex('a').acquire({ wait: '1s' })).rejects.toThrow(
      LockUnavailableError,
    );
    await elapse(clock, 1000);
    await failure;
    slow.answer();
    await settle();
    expect(await holdersOf('a')).toBe(0);
  });

  it('ends a request that is in the queue', async () => {
    await open().mutex('a').acquire();
    const failure = expect(open().mutex('a').acquire({ wait: '1s' })).rejects.toThrow(
      LockTimeoutError,
    );
    await elapse(clock, 1000);
    await failure;
    expect((await open().mutex('a').inspect()).waiters).toEqual([]);
  });
});

describe('a lease that is released', () => {
  it('leaves no timer behind, from when the request is on its way', async () => {
    const { store, slow } = slowStore(/^release/);
    slow.isOn = false;
    const locks = open(store);
    await locks.mutex('a').run(() => {});
    const before = clock.pendingTimers;
    const lease = await locks.mutex('a').acquire({ maxHold: '1h' });
    expect(clock.pendingTimers).toBe(before + 1);
    slow.isOn = true;
    const released = lease.release();
    await settle();
    expect(clock.pendingTimers).toBe(before);
    slow.answer();
    expect(await released).toBe('released');
  });
});

describe('close()', () => {
  it('ends what was asked for in the same turn, and leaves nothing held', async () => {
    const { store, slow } = slowStore(/^(acquire|queue)/);
    const locks = open(store);
    let isOver = false;
    const failure = expect(locks.mutex('a').acquire())
      .rejects.toThrow(LockAbortedError)
      .then(() => {
        isOver = true;
      });
    const closing = locks.close();
    await settle();
    expect(isOver).toBe(true);
    slow.answer();
    await Promise.all([failure, closing]);
    expect(await holdersOf('a')).toBe(0);
  });

  it('resolves when all is done, also if it was called before', async () => {
    const { store, slow } = slowStore(/^release/);
    const locks = open(store);
    await locks.mutex('a').acquire();
    const first = locks.close();
    let isDone = false;
    const second = locks.close().then(() => {
      isDone = true;
    });
    await settle();
    expect(isDone).toBe(false);
    slow.answer();
    await Promise.all([first, second]);
  });
});

describe('a reply that was overtaken by the hand-over', () => {
  /** A client whose waiter is granted the lock while the reply to its request is missing. */
  async function overtaken(): Promise<{ store: LockStore; lease: Lease; answer(): void }> {
    const { store, slow } = slowStore(/^queue/);
    const locks = open(store);
    slow.isOn = false;
    const holder = await locks.mutex('a').acquire();
    slow.isOn = true;
    const waiting = locks.mutex('a').acquire({ wait: '60s', lease: '60s' });
    await settle();
    await holder.release();
    return { store, lease: await waiting, answer: slow.answer };
  }

  it('does not end the lease that was given away meanwhile', async () => {
    const { lease, answer } = await overtaken();
    const text = lease.transfer();
    answer();
    await settle();
    expect((await open().adopt(text)).isHeld).toBe(true);
  });

  it('has the lease checked when the request times out', async () => {
    const { store, lease } = await overtaken();
    await open().mutex('a').forceRelease();
    expect(lease.isHeld).toBe(true);
    await elapse(clock, 5100);
    expect(lease.isHeld).toBe(false);
    await store.close();
  });
});

describe('a lock that is handed over', () => {
  it('is not lost if the request that waits for it overtook the release, as in a pool', async () => {
    const runner = engineRunner(engine);
    const requests: (() => void)[] = [];
    const answers: (() => void)[] = [];
    let isSlow = false;
    const run: ScriptRunner['run'] = async (script, keys, args) => {
      const [verb] = args;
      const isHeldUp = isSlow;
      if (isHeldUp && verb === 'release') await passed(requests);
      const reply = await runner.run(script, keys, args);
      if (isHeldUp && verb === 'queue') await passed(answers);
      return reply;
    };
    const locks = open(newStore({ ...runner, run }));
    await startListening(locks, settle);
    const lease = await locks.mutex('a').acquire();
    isSlow = true;
    void lease.release();
    await settle();
    const waiting = locks.mutex('a').acquire({ wait: '20s' });
    await settle();
    isSlow = false;
    for (const gate of [requests, answers]) {
      for (const goOn of gate) goOn();
      await settle();
    }
    expect((await waiting).isHeld).toBe(true);
  });

  it('is not taken by one whose signal aborts while deadlocks are looked for', async () => {
    // The wall clock of the locks jumps; that of the engine does not.
    const ours = virtualClock();
    const pass = async (durationMs: number): Promise<void> => {
      for (let passedMs = 0; passedMs < durationMs; passedMs += 100) {
        clock.advance(100);
        ours.advance(100);
        await settle();
      }
    };
    const runner = engineRunner(engine);
    const answers: (() => void)[] = [];
    let isSlow = false;
    const run: ScriptRunner['run'] = async (script, keys, args) => {
      const reply = await runner.run(script, keys, args);
      if (isSlow && keys.includes('lock:{b}')) await passed(answers);
      return reply;
    };
    const options = { clock: ours, clientId: `${++clients}`, requestTimeoutMs: 5000 };
    const store = new RedisStore({ ...runner, run }, options);
    const locks = new Locks({ store, clock: ours, random: seededRandom(1) });
    await startListening(locks, settle);
    const begun: (() => void)[] = [];
    let told: unknown;
    const bodyOfA = locks.mutex('a').run(
      async ({ signal }) => {
        await passed(begun);
        isSlow = true;
        const inner = locks.mutex('b').acquire({ signal, wait: '60s', lease: '5s' });
        told = await inner.catch((error: unknown) => error);
      },
      { lease: '10s' },
    );
    const bodyOfB = locks.mutex('b').run(() => locks.mutex('a').acquire({ wait: '3s' }));
    const bodies = Promise.allSettled([bodyOfA, bodyOfB]);
    await pass(200);
    for (const goOn of begun) goOn();
    await settle();
    isSlow = false;
    ours.jumpWall(9999);
    for (const goOn of answers) goOn();
    await settle();
    expect(told).toBeInstanceOf(LockAbortedError);
    await pass(40_000);
    await bodies;
    expect((await locks.mutex('b').inspect()).holders).toEqual([]);
  });
});

describe('a store that answers at once, with a time', () => {
  it('is busy, not away', async () => {
    const store = memoryStore(clock);
    store.acquire = () => ({ type: 'busy', retryInMs: 5000 });
    const told = open(store).mutex('a').acquire({ wait: '1s' });
    const failure = expect(told).rejects.toThrow(LockTimeoutError);
    clock.advance(1500);
    await failure;
  });
});

describe('who hears an event', () => {
  it('may abort the one that waits', async () => {
    await open().mutex('a').acquire({ lease: '1s', renew: false });
    const controller = new AbortController();
    onEvent('holdfast:wait', () => controller.abort());
    const locks = open();
    const waiting = locks.mutex('a').acquire({ wait: '60s', signal: controller.signal });
    await expect(waiting).rejects.toThrow(LockAbortedError);
    await elapse(clock, 3000);
    expect(await locks.mutex('a').inspect()).toEqual({ holders: [], waiters: [] });
  });

  it('may abort the one that was granted it, and no other is forgotten', async () => {
    const locks = open();
    await open().mutex('other').acquire();
    const other = expect(locks.mutex('other').acquire()).rejects.toThrow(LockAbortedError);
    await settle();
    const controller = new AbortController();
    onEvent('holdfast:grant', () => controller.abort());
    const taken = locks.mutex('a').acquire({ signal: controller.signal });
    await expect(taken).rejects.toThrow(LockAbortedError);
    await locks.close();
    await other;
    expect(await holdersOf('a')).toBe(0);
  });

  it('may look at the lease that is lost, and is told once', async () => {
    const lease = await open().mutex('a').acquire({ lease: '1s', renew: false });
    let losses = 0;
    onEvent('holdfast:lose', () => {
      if (++losses < 10) expect(lease.isHeld).toBe(false);
    });
    await elapse(clock, 2000);
    expect(losses).toBe(1);
  });
});
