import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../src/clock/index.ts';
import { LockTimeoutError } from '../src/index.ts';
import { elapse, LockScene, lossOf, settled, until } from './lock-scene.ts';
import { withinMs } from './within.ts';

/**
 * The failure modes of a lock in Redis, by number. Each has tests in the files lock-faults*.test.ts, whose `describe`
 * names the mode, or a reason why it is tested elsewhere.
 */
const MODES: Readonly<Record<number, readonly [failure: string, elsewhere?: string]>> = {
  1: ['the holder is paused'],
  2: ['the holder crashes'],
  3: ['the lease ends while its holder works'],
  4: ['the server restarts without its keys'],
  5: ['the server restarts with its keys'],
  6: ['a failover loses a grant', 'needs a replica that is promoted: the suite of Sentinel'],
  7: ['a wall clock jumps'],
  8: ['a partition'],
  9: ['the reply is lost after success'],
  10: ['the client sends a request again, or never settles it'],
  11: ['a release arrives twice or late'],
  12: ['a renewal outlives the release'],
  13: ['a grant arrives after the wait has ended'],
  14: ['a quorum without a majority', 'needs several stores'],
  15: ['the server evicts a lock'],
  16: ['the server has lost the script'],
  17: ['a wake-up is lost'],
  18: ['slots migrate', 'needs a cluster: the conformance suite runs there'],
  19: ['a thundering herd at each release'],
  20: ['very many waiters', 'bench/locks has a hundred thousand; here are some hundreds'],
  21: ['the fence goes back'],
  22: ['a tick between check and act', 'of recipes without scripts: the lab'],
};

describe('the failure modes', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => name.startsWith('lock-faults'));
  const texts = files.map((name) => readFileSync(join(import.meta.dirname, name), 'utf8'));
  const tested = texts.flatMap((text) =>
    [...text.matchAll(/'modes? ([\d, and]+): /g)].flatMap(([, list]) =>
      list!.match(/\d+/g)!.map(Number),
    ),
  );

  it.each(Object.entries(MODES))('%s has a test, or a reason why not', (number, [, elsewhere]) => {
    expect(tested.includes(Number(number))).toBe(elsewhere === undefined);
  });
});

/** The clock of a machine whose wall clock can be set. */
function settableClock(offsetMs = 0): Clock & { offsetMs: number } {
  const clock = {
    ...systemClock,
    offsetMs,
    wallMs: (): number => systemClock.wallMs() + clock.offsetMs,
  };
  return clock;
}

const HOUR_MS = 3_600_000;

// src/lock/store-lease.test.ts tests clock steps in virtual time. These tests use a real server.
describe.concurrent('mode 7: a wall clock that jumps', () => {
  it('ahead ends the lease for its holder, as after the sleep of a machine', async () => {
    await using scene = await LockScene.open();
    const clock = settableClock();
    const locks = await scene.locks({ clock });
    const lease = await locks.mutex('a').acquire({ lease: '10s' });
    const { signal } = lease;
    clock.offsetMs = HOUR_MS;
    expect(lease.isHeld).toBe(false);
    expect(signal.aborted).toBe(true);
    expect(() => lease.assertHeld()).toThrow(expect.objectContaining({ code: 'lost' }));
  });

  it('back does not extend a lease', async () => {
    await using scene = await LockScene.open();
    const clock = settableClock();
    const locks = await scene.locks({ clock });
    const lease = await locks.mutex('a').acquire({ lease: '3s', renew: false });
    const loss = lossOf(lease);
    clock.offsetMs = -HOUR_MS;
    const endMs = await scene.endMs('a');
    const { reason, atMs, lateMs } = await loss;
    expect(reason).toMatchObject({ reason: 'expired' });
    expect(atMs - lateMs).toBeLessThan(endMs);
  });

  it('back does not stop the renewal', async () => {
    await using scene = await LockScene.open();
    const clock = settableClock();
    const locks = await scene.locks({ clock });
    const lease = await locks.mutex('a').acquire({ lease: '1s' });
    clock.offsetMs = -HOUR_MS;
    await elapse(2500);
    expect(lease.isHeld).toBe(true);
    expect(await lease.release()).toBe('released');
  });

  it.each([HOUR_MS, -HOUR_MS])('by %i ms does not change the wait timeout', async (offsetMs) => {
    await using scene = await LockScene.open();
    const clock = settableClock();
    const locks = await scene.locks({ clock });
    await scene.neighbour().mutex('a').acquire();
    const beganMs = performance.now();
    const waiting = settled(locks.mutex('a').acquire({ wait: 700 }));
    await until(async () => (await scene.waitersOf('a')) === 1);
    clock.offsetMs = offsetMs;
    expect(await waiting).toBeInstanceOf(LockTimeoutError);
    expect(performance.now() - beganMs).toBeGreaterThan(690);
    expect(performance.now() - beganMs).toBeLessThan(withinMs(5000));
  });

  it('differently in each program grants no more permits', async () => {
    await using scene = await LockScene.open();
    const offsets = [0, HOUR_MS, -HOUR_MS];
    const programs = await Promise.all(
      offsets.map((offsetMs) => scene.locks({ clock: settableClock(offsetMs) })),
    );
    const granted = await Promise.all(
      [...programs, ...programs].map((locks) =>
        locks.semaphore('s', 2).tryAcquire({ lease: '5s' }),
      ),
    );
    expect(granted.filter((lease) => lease !== null)).toHaveLength(2);
    expect(granted.filter((lease) => lease?.isHeld)).toHaveLength(2);
  });
});

describe.concurrent('mode 19: a release', () => {
  it('notifies exactly one waiter, which sends one request', async () => {
    await using scene = await LockScene.open();
    const programs = await Promise.all(Array.from({ length: 10 }, () => scene.locks()));
    const first = await scene.neighbour().mutex('a').acquire();
    const order: number[] = [];
    const tasks: Promise<unknown>[] = [];
    for (const [number, locks] of programs.entries()) {
      tasks.push(locks.mutex('a').run(() => order.push(number), { wait: '25s' }));
      await until(async () => (await scene.waitersOf('a')) === number + 1);
    }
    await scene.forgetCalls();
    await first.release();
    await Promise.all(tasks);
    expect(order).toEqual([...programs.keys()]);
    expect(await scene.callsOf('publish')).toBe(10);
    // Eleven releases and ten confirmations. Each program may have sent a refresh meanwhile.
    const calls = await scene.callsOf('evalsha');
    expect(calls).toBeGreaterThanOrEqual(21);
    expect(calls).toBeLessThanOrEqual(21 + 10);
  });

  it('serves 600 waiters of three programs, in the order of each program', async () => {
    await using scene = await LockScene.open();
    const programs = await Promise.all([1, 2, 3].map(() => scene.locks()));
    const orders: number[][] = programs.map(() => []);
    const first = await scene.neighbour().mutex('a').acquire();
    const tasks = programs.flatMap((locks, program) =>
      Array.from({ length: 200 }, (_, number) =>
        locks.mutex('a').run(() => orders[program]!.push(number), { wait: '25s' }),
      ),
    );
    await until(async () => (await scene.waitersOf('a')) >= 3);
    await first.release();
    await Promise.all(tasks);
    for (const order of orders) expect(order).toEqual([...Array(200).keys()]);
  });
});
