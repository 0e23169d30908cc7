import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../src/clock/index.ts';
import { LockTimeoutError } from '../src/index.ts';
import { elapse, LockScene, lossOf, settled, until } from './lock-scene.ts';
import { withinMs } from './within.ts';

/**
 * What a lock in Redis must survive or report, by number. What one store can show is shown by tests whose
 * `describe` names the mode, in the files lock-faults*.test.ts; for the rest a reason is given.
 */
const MODES: Readonly<Record<number, readonly [failure: string, elsewhere?: string]>> = {
  1: ['the holder is paused'],
  2: ['the holder crashes'],
  3: ['the lease ends while its holder works'],
  4: ['the server restarts and has kept nothing'],
  5: ['the server restarts and has kept everything'],
  6: ['a failover loses a grant', 'needs a replica that is promoted: the suite of Sentinel'],
  7: ['a wall clock jumps'],
  8: ['a partition'],
  9: ['the reply is lost after success'],
  10: ['the client sends again, or never answers'],
  11: ['a release comes twice or late'],
  12: ['a renewal outlives the release'],
  13: ['success comes after giving up'],
  14: ['a quorum without a majority', 'needs several stores'],
  15: ['the server evicts a lock'],
  16: ['the server has forgotten the script'],
  17: ['a wake-up is lost'],
  18: ['slots migrate', 'needs a cluster: the conformance suite runs there'],
  19: ['a herd at each release'],
  20: ['very many wait', 'a hundred thousand are measured in bench/locks; here are some hundreds'],
  21: ['the fence goes back'],
  22: ['a tick between check and act', 'of recipes without scripts: the lab'],
};

describe('the failure modes', () => {
  const files = readdirSync(import.meta.dirname).filter((name) => name.startsWith('lock-faults'));
  const texts = files.map((name) => readFileSync(join(import.meta.dirname, name), 'utf8'));
  const shown = texts.flatMap((text) =>
    [...text.matchAll(/'modes? ([\d, and]+): /g)].flatMap(([, list]) =>
      list!.match(/\d+/g)!.map(Number),
    ),
  );

  it.each(Object.entries(MODES))('%s is shown, or said why not', (number, [, elsewhere]) => {
    expect(shown.includes(Number(number))).toBe(elsewhere === undefined);
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

// The steps of every clock are in src/lock/lock.test.ts, in virtual time; these are on a real server.
describe.concurrent('mode 7: a wall clock that jumps', () => {
  it('ahead ends the lease for its holder: the machine may have slept', async () => {
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

  it('back prolongs no lease', async () => {
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

  it.each([HOUR_MS, -HOUR_MS])(
    'by %i ms does not change how long somebody waits',
    async (offsetMs) => {
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
    },
  );

  it('apart between programs lets no more in', async () => {
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
  it('wakes exactly one, who asks once', async () => {
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
    // Eleven releases and ten confirmations; each program may have refreshed its place meanwhile.
    const calls = await scene.callsOf('evalsha');
    expect(calls).toBeGreaterThanOrEqual(21);
    expect(calls).toBeLessThanOrEqual(21 + 10);
  });

  it('serves some hundred waiters of a few programs, each program in its order', async () => {
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
