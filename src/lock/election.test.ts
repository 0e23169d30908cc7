import { setMaxListeners } from 'node:events';
import { hostname } from 'node:os';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { elapse, gate, settle } from '../../test/virtual-time.ts';
import { type Random, seededRandom, type VirtualClock, virtualClock } from '../clock/index.ts';
import { createEngine, type Engine, execute } from '../engine/index.ts';
import { engineRunner } from '../stores/redis/engine-runner.ts';
import { RedisStore } from '../stores/redis/redis-store.ts';
import {
  type Election,
  type ElectOptions,
  type Leader,
  LockArgumentError,
  type LockStore,
  Locks,
  memoryStore,
} from './index.ts';

const LEASE_MS = 3000;
/** The longest pause between two terms, see election.ts. */
const MAX_PAUSE_MS = 10_000;

let clock: VirtualClock;
let engine: Engine;
const opened: Locks[] = [];

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock });
});

afterEach(async () => {
  await Promise.all(opened.splice(0).map((locks) => locks.close()));
  await settle();
});

function locksIn(store: LockStore, random: Random = seededRandom(1)): Locks {
  const locks = new Locks({ store, clock, random, telemetry: false });
  opened.push(locks);
  return locks;
}

/** The locks of one more process that shares the engine with the others. */
function processOnEngine(): Locks {
  const clientId = `process${opened.length}`;
  const random = seededRandom(opened.length);
  return locksIn(
    new RedisStore(engineRunner(engine), { clock, clientId, requestTimeoutMs: 1000 }),
    random,
  );
}

/** A store whose replies wait until the gate opens. */
function slowStore(): { readonly store: LockStore; readonly slow: { open(): void } } {
  const slow = gate();
  const runner = engineRunner(engine);
  const run: typeof runner.run = async (...call) => {
    const reply = await runner.run(...call);
    await slow.opened;
    return reply;
  };
  const clientId = `process${opened.length}`;
  const store = new RedisStore({ ...runner, run }, { clock, clientId, requestTimeoutMs: 1000 });
  return { store, slow };
}

/** Time passes in steps that are short beside a lease, so that renewals happen in time. */
function pass(durationMs: number, stepMs = 100): Promise<void> {
  return elapse(clock, durationMs, Math.ceil(durationMs / stepMs));
}

const until = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve());
    if (signal.aborted) resolve();
  });

/** Counts its terms, and leads until its signal aborts. */
class Candidate {
  readonly terms: Leader[] = [];
  readonly election: Election;

  constructor(locks: Locks, options: ElectOptions = {}) {
    const lead = async (leader: Leader): Promise<void> => {
      this.terms.push(leader);
      await until(leader.signal);
    };
    this.election = locks.elect('job', lead, { lease: LEASE_MS, ...options });
  }

  get isLeading(): boolean {
    return this.terms.at(-1)?.signal.aborted === false;
  }
}

describe.each([
  ['in memory', (): Locks[] => twice(locksIn(memoryStore(clock)))],
  ['in Redis', (): Locks[] => [processOnEngine(), processOnEngine()]],
])('elect() %s', (_, open) => {
  let locks: Locks;
  let other: Locks;

  beforeEach(() => {
    [locks, other] = open() as [Locks, Locks];
  });

  it('runs the callback of one candidate, and that of the next after stop()', async () => {
    const first = new Candidate(locks, { label: 'first' });
    await settle();
    const second = new Candidate(other, { label: 'second' });
    await pass(10 * LEASE_MS);
    expect([first.isLeading, second.isLeading]).toEqual([true, false]);
    await first.election.stop();
    await pass(100);
    expect([first.isLeading, second.isLeading]).toEqual([false, true]);
    expect(first.terms).toHaveLength(1);
    expect(second.terms[0]!.fence).toBeGreaterThan(first.terms[0]!.fence);
    await second.election.stop();
    expect(await second.election.leader()).toBe(null);
  });

  it('waits with one place in the queue, however long', async () => {
    const first = new Candidate(locks);
    await settle();
    const second = new Candidate(other);
    for (let lease = 0; lease < 20; lease++) {
      await pass(LEASE_MS);
      expect((await locks.mutex('job').inspect()).waiters).toHaveLength(1);
    }
    expect(second.terms).toEqual([]);
    expect(first.terms).toHaveLength(1);
  });

  it('aborts the signal after forceRelease(), and campaigns again', async () => {
    const candidate = new Candidate(locks);
    await settle();
    await other.mutex('job').forceRelease();
    await pass(LEASE_MS + MAX_PAUSE_MS);
    const [lost, held] = candidate.terms;
    expect(lost!.signal.reason).toMatchObject({ code: 'lost', reason: 'stolen' });
    expect(held!.fence).toBeGreaterThan(lost!.fence);
    expect(candidate.isLeading).toBe(true);
  });

  it('releases the leadership when the callback returns, and campaigns behind the others', async () => {
    const fences: number[] = [];
    locks.elect('job', ({ fence }) => void fences.push(fence), { lease: LEASE_MS });
    await settle();
    const second = new Candidate(other);
    await pass(MAX_PAUSE_MS);
    expect(second.isLeading).toBe(true);
    const count = fences.length;
    expect((await other.mutex('job').inspect()).waiters).toHaveLength(1);
    await second.election.stop();
    await pass(LEASE_MS);
    expect(fences.length).toBeGreaterThan(count);
  });

  it('aborts the signal of a callback that has returned', async () => {
    let kept: AbortSignal | undefined;
    const election = locks.elect('job', ({ signal }) => {
      kept ??= signal;
      expect(signal.aborted).toBe(false);
    });
    await settle();
    expect(kept!.aborted).toBe(true);
    expect(kept!.reason).toMatchObject({ code: 'not-held' });
    await election.stop();
  });

  it('names the leader: host, pid, label, fence and when its term began', async () => {
    const first = new Candidate(locks, { label: 'eu-1' });
    await settle();
    const sinceMs = clock.wallMs();
    await pass(5000);
    const second = new Candidate(other);
    const expected = {
      foreign: false,
      host: hostname(),
      pid: process.pid,
      label: 'eu-1',
      fence: first.terms[0]!.fence,
      since: new Date(sinceMs),
    };
    expect(await second.election.leader()).toEqual(expected);
    expect(await first.election.leader()).toEqual(expected);
  });

  it('leaves the queue on stop() while it waits, without a call of the callback', async () => {
    const first = new Candidate(locks);
    await settle();
    const second = new Candidate(other);
    await settle();
    await second.election.stop();
    await settle();
    expect((await locks.mutex('job').inspect()).waiters).toEqual([]);
    await first.election.stop();
    await pass(MAX_PAUSE_MS);
    expect(second.terms).toEqual([]);
    expect(await locks.mutex('job').tryAcquire()).not.toBe(null);
  });

  it('keeps the leadership after stop() until the callback has returned', async () => {
    const finished = gate();
    const election = locks.elect('job', () => finished.opened, { lease: LEASE_MS });
    await settle();
    const stopped = election.stop();
    const second = new Candidate(other);
    await pass(10 * LEASE_MS);
    expect(second.terms).toEqual([]);
    finished.open();
    await stopped;
    await pass(100);
    expect(second.isLeading).toBe(true);
  });

  it('ends on close(): aborts the signal, releases the lock and resolves done', async () => {
    const first = new Candidate(locks);
    await settle();
    const inspector = locks === other ? undefined : other;
    await locks.close();
    await first.election.done;
    expect(first.terms[0]!.signal.reason).toMatchObject({ code: 'aborted' });
    expect((await inspector?.mutex('job').inspect())?.holders ?? []).toEqual([]);
  });

  it('ends on close() while it waits and while it pauses', async () => {
    const returning = locks.elect('job', () => {});
    await settle();
    const holder = await other.mutex('other').acquire();
    const waiting = locks.elect('other', () => {});
    await settle();
    await locks.close();
    await Promise.all([returning.done, waiting.done]);
    expect(holder.name).toBe('other');
  });

  it('reports no error when stop() or close() ends the wait', async () => {
    const onError = vi.fn();
    const holder = await other.mutex('job').acquire();
    const [stopped, closed] = [
      new Candidate(locks, { onError }),
      new Candidate(locks, { onError }),
    ];
    await settle();
    await stopped.election.stop();
    await locks.close();
    await closed.election.done;
    expect(onError).not.toHaveBeenCalled();
    expect(holder.name).toBe('job');
  });

  it('ends in the pause on stop(), at once', async () => {
    const election = locks.elect('job', () => {});
    await settle();
    await election.stop();
    await pass(MAX_PAUSE_MS);
  });
});

function twice(locks: Locks): Locks[] {
  return [locks, locks];
}

describe('the pauses of an election', () => {
  it.each([
    ['returns', () => {}],
    [
      'throws',
      () => {
        throw new Error('no');
      },
    ],
  ])('are short at first, and at most ten seconds when the callback %s at once', async (_, end) => {
    const locks = locksIn(memoryStore(clock));
    const beganMs: number[] = [];
    const callback = (): void => {
      beganMs.push(clock.monotonicMs());
      end();
    };
    const election = locks.elect('job', callback, { onError: () => {} });
    await pass(60_000, 10);
    const pauses = beganMs.slice(1).map((atMs, index) => atMs - beganMs[index]!);
    expect(pauses[0]).toBeLessThanOrEqual(110);
    expect(pauses.every((pauseMs) => pauseMs >= 50 && pauseMs <= MAX_PAUSE_MS + 10)).toBe(true);
    expect(pauses.at(-1)).toBeGreaterThanOrEqual(MAX_PAUSE_MS / 2);
    expect(new Set(pauses.slice(-3)).size).toBe(3);
    await election.stop();
  });

  it('are short again after a long term', async () => {
    const locks = locksIn(memoryStore(clock));
    let callbacks = 0;
    let isLong = false;
    const election = locks.elect('job', async ({ signal }) => {
      callbacks++;
      if (isLong) await until(signal);
    });
    await pass(30_000);
    isLong = true;
    await pass(2 * MAX_PAUSE_MS);
    const before = callbacks;
    await locks.mutex('job').forceRelease();
    await pass(30_000 / 3 + 200);
    expect(callbacks).toBe(before + 1);
    await election.stop();
  });
});

describe('an error of the callback', () => {
  it('reaches onError after the release, and the election continues', async () => {
    const locks = locksIn(memoryStore(clock));
    const errors: unknown[] = [];
    const holders: Promise<unknown>[] = [];
    const error = new Error('no');
    const election = locks.elect(
      'job',
      async () => {
        throw error;
      },
      {
        onError: (each) => {
          errors.push(each);
          holders.push(election.leader());
        },
      },
    );
    await pass(1000);
    expect(errors.length).toBeGreaterThan(1);
    expect(new Set(errors)).toEqual(new Set([error]));
    expect(await Promise.all(holders)).toEqual(holders.map(() => null));
    await election.stop();
  });

  it('is a process warning without onError', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue();
    const election = locksIn(memoryStore(clock)).elect('job', () => {
      throw new Error('no such table');
    });
    await settle();
    await election.stop();
    const [message, options] = warn.mock.calls[0] as unknown as [string, { detail: string }];
    expect(message).toMatch(
      /^a term of the election of 'job' failed \(no such table\)\. .*onError/,
    );
    expect(options).toMatchObject({ type: 'HoldfastWarning', code: 'HOLDFAST_ELECTION' });
    expect(options.detail).toContain('election.test.ts');
    warn.mockRestore();
  });

  it('ends the election if onError throws it: done and stop() reject', async () => {
    const locks = locksIn(memoryStore(clock));
    const error = new Error('no');
    let terms = 0;
    const fail = (each: unknown): never => {
      throw each;
    };
    const lead = (): never => {
      terms++;
      return fail(error);
    };
    const election = locks.elect('job', lead, { onError: fail });
    await expect(election.done).rejects.toBe(error);
    await expect(election.stop()).rejects.toBe(error);
    await pass(MAX_PAUSE_MS);
    expect(terms).toBe(1);
    expect(await locks.mutex('job').tryAcquire()).not.toBe(null);
  });

  it('is not reported if it is the reason of the aborted signal, or an AbortError', async () => {
    const errors: unknown[] = [];
    const onError = (error: unknown): void => void errors.push(error);
    const ways = [
      (signal: AbortSignal): unknown => signal.reason,
      () => new DOMException('aborted', 'AbortError'),
      () => new Error('a disk is full'),
    ];
    const locks = locksIn(memoryStore(clock));
    const elections = ways.map((way, index) =>
      locks.elect(
        `job${index}`,
        async ({ signal }) => {
          await until(signal);
          throw way(signal);
        },
        { onError },
      ),
    );
    await settle();
    await Promise.all(elections.map((election) => election.stop()));
    expect(errors).toEqual([new Error('a disk is full')]);
  });
});

it('reports an AbortError that has another cause than the signal of the leader', async () => {
  const error = new DOMException('a request timed out', 'AbortError');
  const onError = vi.fn();
  const lead = (): never => {
    throw error;
  };
  const election = locksIn(memoryStore(clock)).elect('job', lead, { onError });
  await settle();
  await election.stop();
  expect(onError.mock.calls).toEqual([[error]]);
});

describe('an election', () => {
  it('reports a store that refuses, and campaigns again when it admits', async () => {
    const store = memoryStore(clock);
    let isRefused = true;
    const refusal = Object.assign(new Error('WRONGPASS'), { isFinal: true });
    const guarded = storeWith(store, {
      acquire: (request, waiter) =>
        isRefused ? Promise.reject(refusal) : store.acquire(request, waiter),
    });
    const errors: unknown[] = [];
    const candidate = new Candidate(locksIn(guarded), {
      onError: (error) => void errors.push(error),
    });
    await pass(60_000);
    expect(errors.length).toBeGreaterThan(5);
    expect(errors.length).toBeLessThan(25);
    expect(errors[0]).toMatchObject({ code: 'unavailable', cause: refusal });
    isRefused = false;
    await pass(MAX_PAUSE_MS);
    expect(candidate.isLeading).toBe(true);
  });

  it('leads again after an outage of the store, without a report', async () => {
    const store = memoryStore(clock);
    let isDown = false;
    const down = (): Promise<never> => Promise.reject(new Error('ECONNREFUSED'));
    const guarded = storeWith(store, {
      acquire: (request, waiter) => (isDown ? down() : store.acquire(request, waiter)),
      extend: (request) => (isDown ? down() : store.extend(request)),
      release: (request, fence) => (isDown ? down() : store.release(request, fence)),
    });
    const onError = vi.fn();
    const candidate = new Candidate(locksIn(guarded), { onError });
    await settle();
    isDown = true;
    await pass(20 * LEASE_MS);
    expect(candidate.terms).toHaveLength(1);
    expect(candidate.terms[0]!.signal.reason).toMatchObject({ reason: 'unreachable' });
    isDown = false;
    await pass(LEASE_MS);
    expect(candidate.isLeading).toBe(true);
    expect(onError).not.toHaveBeenCalled();
  });

  it('does not start the callback after stop(), also if it is called during the grant', async () => {
    for (let turns = 0; turns < 10; turns++) {
      const locks = locksIn(memoryStore(clock));
      let isStopped = false;
      const starts: boolean[] = [];
      const election = locks.elect('job', () => void starts.push(isStopped));
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      isStopped = true;
      await election.stop();
      expect(starts).not.toContain(true);
      expect(await locks.mutex('job').tryAcquire()).not.toBe(null);
    }
  });

  it('has left the mutex free when stop() resolves, also if the request was under way', async () => {
    const other = processOnEngine();
    for (let turns = 0; turns < 10; turns++) {
      const { store, slow } = slowStore();
      const election = locksIn(store).elect('job', () => {});
      for (let turn = 0; turn < turns; turn++) await Promise.resolve();
      const stopped = election.stop();
      await settle();
      slow.open();
      await stopped;
      const { holders, waiters } = await other.mutex('job').inspect();
      expect([holders, waiters]).toEqual([[], []]);
    }
  });

  it('resolves stop() after half a second if the store does not reply', async () => {
    const { store, slow } = slowStore();
    const election = locksIn(store).elect('job', () => {});
    let isStopped = false;
    void election.stop().then(() => {
      isStopped = true;
    });
    await pass(400);
    expect(isStopped).toBe(false);
    await pass(200);
    expect(isStopped).toBe(true);
    slow.open();
  });

  it('aborts the signal when it is read after the lease has ended, before any timer runs', async () => {
    let read: { before: boolean; after: boolean } | undefined;
    const election = locksIn(memoryStore(clock)).elect('job', ({ signal }) => {
      const before = signal.aborted;
      clock.jumpWall(60_000);
      read ??= { before, after: signal.aborted };
    });
    await settle();
    await election.stop();
    expect(read).toEqual({ before: false, after: true });
  });

  it('does not run its callback again while the former call is at work', async () => {
    const locks = locksIn(memoryStore(clock));
    const finished = gate();
    let running = 0;
    const election = locks.elect('job', async () => {
      expect(++running).toBe(1);
      await finished.opened;
      running--;
    });
    await settle();
    await locks.mutex('job').forceRelease();
    await pass(60_000);
    expect(running).toBe(1);
    finished.open();
    await election.stop();
  });

  it('that is started inside run() is no part of that callback', async () => {
    const locks = locksIn(memoryStore(clock));
    const outer = locks.mutex('outer');
    let election: Election | undefined;
    const order: string[] = [];
    await outer.run(async () => {
      election = locks.elect('job', () => outer.run(() => void order.push('led')));
      await settle();
      order.push('returned');
    });
    await settle();
    expect(order).toEqual(['returned', 'led']);
    await election!.stop();
  });

  it('keeps no listener and no timer of a term that is over', async () => {
    const locks = locksIn(memoryStore(clock));
    const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
    const election = locks.elect('job', ({ signal }) => setMaxListeners(1, signal));
    const counts = new Set<number>();
    for (let minute = 0; minute < 10; minute++) {
      await pass(60_000);
      counts.add(clock.pendingTimers);
    }
    expect(Math.max(...counts)).toBeLessThanOrEqual(4);
    await election.stop();
    await locks.close();
    expect(clock.pendingTimers).toBe(0);
    expect(warned).not.toHaveBeenCalled();
    warned.mockRestore();
  });

  it('stops at the end of a block with await using', async () => {
    const locks = locksIn(memoryStore(clock));
    const terms: AbortSignal[] = [];
    {
      await using _election = locks.elect('job', async ({ signal }) => {
        terms.push(signal);
        await until(signal);
      });
      await settle();
    }
    expect(terms.map(({ aborted }) => aborted)).toEqual([true]);
    expect((await locks.mutex('job').inspect()).holders).toEqual([]);
  });

  it('uses the defaults of createLocks for lease and label, and its own options before them', async () => {
    const defaults = { lease: '7s', label: 'eu-1', wait: 0 } as const;
    const store = memoryStore(clock);
    const locks = new Locks({ store, clock, defaults, telemetry: false });
    opened.push(locks);
    const elections = [{}, { lease: '9s', label: 'eu-2' } as const].map((options, index) =>
      locks.elect(`job${index}`, ({ signal }) => until(signal), options),
    );
    await settle();
    const shown = await Promise.all([0, 1].map((index) => locks.mutex(`job${index}`).inspect()));
    expect(shown.map(({ holders }) => holders)).toMatchObject([
      [{ label: 'eu-1', leftMs: 7000 }],
      [{ label: 'eu-2', leftMs: 9000 }],
    ]);
    await Promise.all(elections.map((election) => election.stop()));
  });

  it('names a foreign holder of the key as such', async () => {
    const locks = processOnEngine();
    execute(engine.session(), ['SET', 'lock:{job}', 'a cron job', 'PX', '60000']);
    const { election } = new Candidate(locks);
    await settle();
    expect(await election.leader()).toEqual({ foreign: true, type: 'string', value: 'a cron job' });
  });

  it('uses the keys of the mutex of its name and no others', async () => {
    const keys = (): unknown => (execute(engine.session(), ['KEYS', '*']) as string[]).sort();
    const [first, second] = [processOnEngine(), processOnEngine()];
    const lease = await first.mutex('job').acquire();
    const waiting = second.mutex('job').acquire();
    await settle();
    const expected = keys();
    await lease.release();
    await (await waiting).release();
    await pass(120_000);
    new Candidate(first);
    await settle();
    new Candidate(second);
    await settle();
    expect(keys()).toEqual(expected);
  });
});

/** A store of which some methods are replaced. */
function storeWith(store: LockStore, replaced: Partial<LockStore>): LockStore {
  return new Proxy(store, {
    get(target, name) {
      const own = Reflect.get(target, name, target);
      const bound = typeof own === 'function' ? own.bind(target) : own;
      return Reflect.get(replaced, name) ?? bound;
    },
  });
}

describe('elect() refuses', () => {
  const lead = (): void => {};
  it.each<[string, unknown[], RegExp]>([
    ['no name', ['', lead], /needs a name/],
    ['no callback', ['job'], /elect\(\) needs a callback .*got undefined/],
    ['options in the place of the callback', ['job', {}, lead], /elect\(\) needs a callback/],
    ['options that are none', ['job', lead, '10s'], /options of elect\(\) are an object.*10s/],
    ['options that are null', ['job', lead, null], /options of elect\(\) are an object.*null/],
    ['a wait', ['job', lead, { wait: '5s' }], /no option 'wait'. It has: lease, label, onError/],
    ['an unknown option', ['job', lead, { Lease: '5s' }], /no option 'Lease'/],
    ['a lease without an end', ['job', lead, { lease: Infinity }], /lease must be a duration/],
    ['a label that is no string', ['job', lead, { label: 7 }], /label must be a string/],
    ['an onError that is no function', ['job', lead, { onError: true }], /onError must be a func/],
  ])('%s, and does not campaign', async (_, args, message) => {
    const locks = locksIn(memoryStore(clock));
    const elect = locks.elect.bind(locks) as (...args: unknown[]) => unknown;
    expect(() => elect(...args)).toThrow(LockArgumentError);
    expect(() => elect(...args)).toThrow(message);
    await settle();
    expect(await locks.mutex('job').tryAcquire()).not.toBe(null);
  });
});
