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

// Acquisitions that end while a request is under way: no lock may stay in the store, and no caller may wait forever.

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

/** A store whose replies to requests with this verb are delayed until `reply()`, while `isOn`. */
function slowStore(verb: RegExp): { store: LockStore; slow: { isOn: boolean; reply(): void } } {
  const runner = engineRunner(engine);
  const delayed: (() => void)[] = [];
  const reply = (): void => {
    for (const each of delayed.splice(0)) each();
  };
  const slow = { isOn: true, reply };
  const run: ScriptRunner['run'] = async (script, keys, args) => {
    const result = await runner.run(script, keys, args);
    const isDelayed = slow.isOn && args.some((arg) => verb.test(arg));
    if (isDelayed) await new Promise<void>((resolve) => delayed.push(resolve));
    return result;
  };
  return { store: newStore({ ...runner, run }), slow };
}

function passed(gate: (() => void)[]): Promise<void> {
  return new Promise((resolve) => gate.push(resolve));
}

/** The store executes the requests of this method, but all replies to them are lost. */
function withLostReplies(
  method: 'adopt' | 'acquireAll',
  store = newStore(),
  onLost = () => {},
): LockStore {
  const send = store[method].bind(store) as (...args: unknown[]) => Promise<unknown>;
  const lost = async (...args: unknown[]): Promise<never> => {
    await send(...args);
    onLost();
    throw new Error('the reply was lost');
  };
  return Object.assign(store, { [method]: lost });
}

const holdersOf = async (...names: string[]): Promise<number> =>
  (await open().all(names).inspect()).holders.length;

function onEvent(name: string, listener: () => void): void {
  diagnostics.subscribe(name, listener);
  onTestFinished(() => void diagnostics.unsubscribe(name, listener));
}

describe('all()', () => {
  it('releases the locks if the reply was lost and then the signal aborts', async () => {
    const controller = new AbortController();
    const store = withLostReplies('acquireAll', newStore(), () => controller.abort());
    const taken = open(store).all(['a', 'b']).acquire({ signal: controller.signal });
    await expect(taken).rejects.toThrow(LockAbortedError);
    await settle();
    expect(await holdersOf('a', 'b')).toBe(0);
  });

  it('releases the locks if close() is called before the reply', async () => {
    const { store, slow } = slowStore(/^all/);
    const locks = open(store);
    const failure = expect(locks.all(['a', 'b']).acquire()).rejects.toThrow(LockAbortedError);
    await settle();
    const closing = locks.close();
    await settle();
    slow.reply();
    await Promise.all([closing, failure]);
    expect(await holdersOf('a', 'b')).toBe(0);
  });

  it('returns released if the reply to an earlier release of one lock was lost', async () => {
    const locks = open(newStore({ ...engineRunner(engine), slotOf: (key) => key.charCodeAt(6) }));
    const holder = await open().mutex('b').acquire();
    const waiting = locks.all(['a', 'b']).acquire();
    await settle();
    clock.advance(10);
    await holder.release();
    const lease = await waiting;
    // The same state as after a release: the script recognizes the last one by its fence.
    const text = "return redis.call('DEL', KEYS[1])";
    await engineRunner(engine).run({ text, sha: '' }, ['lock:{a}'], []);
    expect(await lease.release()).toBe('released');
  });
});

describe('adopt()', () => {
  it('releases the lease if close() is called before the reply', async () => {
    const text = (await open().mutex('a').acquire()).transfer();
    const { store, slow } = slowStore(/^adopt/);
    const locks = open(store);
    const failure = expect(locks.adopt(text)).rejects.toThrow(LockAbortedError);
    await settle();
    const closing = locks.close();
    await settle();
    slow.reply();
    await Promise.all([closing, failure]);
    expect(await holdersOf('a')).toBe(0);
  });

  it('releases the lease if no reply arrives', async () => {
    const text = (await open().mutex('a').acquire()).transfer();
    const failure = expect(open(withLostReplies('adopt')).adopt(text)).rejects.toThrow(
      LockUnavailableError,
    );
    await elapse(clock, 5000);
    await failure;
    expect(await holdersOf('a')).toBe(0);
  });

  it('releases all leases of a group if raising the fence fails', async () => {
    const text = (await open().all(['a', 'b']).acquire()).transfer();
    const failure = expect(open(withLostReplies('acquireAll')).adopt(text)).rejects.toThrow(
      LockUnavailableError,
    );
    await elapse(clock, 5000);
    await failure;
    expect(await holdersOf('a', 'b')).toBe(0);
  });
});

describe('a key of another type', () => {
  it('fails the request at once, and is neither requested nor released again', async () => {
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

describe('a place in the queue', () => {
  it('is released also if the store fails for longer than the lease', async () => {
    await open().mutex('a').acquire({ lease: '60s', renew: false });
    const store = newStore();
    const release = store.release.bind(store);
    const untilMs = clock.monotonicMs() + 3000;
    store.release = (...args) =>
      clock.monotonicMs() < untilMs ? Promise.reject(new Error('cut')) : release(...args);
    const waiting = open(store).mutex('a').acquire({ lease: '500ms', wait: '1s' });
    const failure = expect(waiting).rejects.toThrow(LockTimeoutError);
    await elapse(clock, 5000);
    await failure;
    expect((await open().mutex('a').inspect()).waiters).toEqual([]);
  });
});

describe('the wait timeout', () => {
  it('ends a request without a reply', async () => {
    const { store, slow } = slowStore(/^(?:acquire|queue)/);
    const locks = open(store);
    await locks.ready();
    const failure = expect(locks.mutex('a').acquire({ wait: '1s' })).rejects.toThrow(
      LockUnavailableError,
    );
    await elapse(clock, 1000);
    await failure;
    slow.reply();
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
  it('has no timers once the release request is sent', async () => {
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
    slow.reply();
    expect(await released).toBe('released');
  });
});

describe('close()', () => {
  it('rejects a request of the same turn, and releases the lock if it is granted', async () => {
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
    slow.reply();
    await Promise.all([failure, closing]);
    expect(await holdersOf('a')).toBe(0);
  });

  it('resolves on a second call when the first one has finished', async () => {
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
    slow.reply();
    await Promise.all([first, second]);
  });
});

describe('a reply that arrives after the hand-over', () => {
  /** A client whose waiter is granted the lock before the reply to its request has arrived. */
  async function overtaken(): Promise<{ store: LockStore; lease: Lease; reply(): void }> {
    const { store, slow } = slowStore(/^queue/);
    const locks = open(store);
    slow.isOn = false;
    const holder = await locks.mutex('a').acquire();
    slow.isOn = true;
    const waiting = locks.mutex('a').acquire({ wait: '60s', lease: '60s' });
    await settle();
    await holder.release();
    return { store, lease: await waiting, reply: slow.reply };
  }

  it('does not release a lease that was transferred meanwhile', async () => {
    const { lease, reply } = await overtaken();
    const text = lease.transfer();
    reply();
    await settle();
    expect((await open().adopt(text)).isHeld).toBe(true);
  });

  it('makes the lease check itself in the store if it never arrives', async () => {
    const { store, lease } = await overtaken();
    await open().mutex('a').forceRelease();
    expect(lease.isHeld).toBe(true);
    await elapse(clock, 5100);
    expect(lease.isHeld).toBe(false);
    await store.close();
  });
});

describe('a lock that is handed over', () => {
  it('is granted if the request in the queue overtook the release, as in a pool', async () => {
    const runner = engineRunner(engine);
    const requests: (() => void)[] = [];
    const replies: (() => void)[] = [];
    let isSlow = false;
    const run: ScriptRunner['run'] = async (script, keys, args) => {
      const [verb] = args;
      const isDelayed = isSlow;
      if (isDelayed && verb === 'release') await passed(requests);
      const reply = await runner.run(script, keys, args);
      if (isDelayed && verb === 'queue') await passed(replies);
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
    for (const gate of [requests, replies]) {
      for (const goOn of gate) goOn();
      await settle();
    }
    expect((await waiting).isHeld).toBe(true);
  });

  it('is not granted when the signal aborts during deadlock detection', async () => {
    // The wall clock of the locks jumps; the clock of the engine does not.
    const ours = virtualClock();
    const pass = async (durationMs: number): Promise<void> => {
      for (let passedMs = 0; passedMs < durationMs; passedMs += 100) {
        clock.advance(100);
        ours.advance(100);
        await settle();
      }
    };
    const runner = engineRunner(engine);
    const replies: (() => void)[] = [];
    let isSlow = false;
    const run: ScriptRunner['run'] = async (script, keys, args) => {
      const reply = await runner.run(script, keys, args);
      if (isSlow && keys.includes('lock:{b}')) await passed(replies);
      return reply;
    };
    const options = { clock: ours, clientId: `${++clients}`, requestTimeoutMs: 5000 };
    const store = new RedisStore({ ...runner, run }, options);
    const locks = new Locks({ store, clock: ours, random: seededRandom(1) });
    await startListening(locks, settle);
    const begun: (() => void)[] = [];
    let failure: unknown;
    const runOfA = locks.mutex('a').run(
      async ({ signal }) => {
        await passed(begun);
        isSlow = true;
        const inner = locks.mutex('b').acquire({ signal, wait: '60s', lease: '5s' });
        failure = await inner.catch((error: unknown) => error);
      },
      { lease: '10s' },
    );
    const runOfB = locks.mutex('b').run(() => locks.mutex('a').acquire({ wait: '3s' }));
    const runs = Promise.allSettled([runOfA, runOfB]);
    await pass(200);
    for (const goOn of begun) goOn();
    await settle();
    isSlow = false;
    ours.jumpWall(9999);
    for (const goOn of replies) goOn();
    await settle();
    expect(failure).toBeInstanceOf(LockAbortedError);
    await pass(40_000);
    await runs;
    expect((await locks.mutex('b').inspect()).holders).toEqual([]);
  });
});

describe('a store that replies busy synchronously, with a retry time', () => {
  it('makes the request time out, not fail as unavailable', async () => {
    const store = memoryStore(clock);
    store.acquire = () => ({ type: 'busy', retryInMs: 5000 });
    const waiting = open(store).mutex('a').acquire({ wait: '1s' });
    const failure = expect(waiting).rejects.toThrow(LockTimeoutError);
    clock.advance(1500);
    await failure;
  });
});

describe('a subscriber of an event', () => {
  it('can abort the signal of the request that starts to wait', async () => {
    await open().mutex('a').acquire({ lease: '1s', renew: false });
    const controller = new AbortController();
    onEvent('holdfast:wait', () => controller.abort());
    const locks = open();
    const waiting = locks.mutex('a').acquire({ wait: '60s', signal: controller.signal });
    await expect(waiting).rejects.toThrow(LockAbortedError);
    await elapse(clock, 3000);
    expect(await locks.mutex('a').inspect()).toEqual({ holders: [], waiters: [] });
  });

  it('can abort the signal of the request that is granted, and other waiters are still rejected by close()', async () => {
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

  it('can use the lease that is lost, and receives one event', async () => {
    const lease = await open().mutex('a').acquire({ lease: '1s', renew: false });
    let losses = 0;
    onEvent('holdfast:lose', () => {
      if (++losses < 10) expect(lease.isHeld).toBe(false);
    });
    await elapse(clock, 2000);
    expect(losses).toBe(1);
  });
});
