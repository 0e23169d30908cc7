import { describe, expect, it } from 'vitest';
import { newSeed } from '../../../test/new-seed.ts';
import {
  exploreLibrary,
  exploreLibraryAtRandom,
  replayLibrary,
  SCENARIOS,
  type Scenario,
} from '../index.ts';
import { type Chosen, parseSchedule, scheduleText } from './option.ts';
import { perform } from './perform.ts';
import { playBack } from './replay.ts';
import { search } from './search.ts';
import { SharedStore } from './shared-store.ts';
import { Stage } from './stage.ts';

const FAULTS = { crashes: 1, pauses: 1, cuts: 1, losses: 1, breaks: 1 } as const;
const names = SCENARIOS.map(({ name }) => name);
const scenarioOf = (name: string): Scenario => SCENARIOS.find((each) => each.name === name)!;

describe('the library', () => {
  it.each(names.filter((name) => name !== 'mutex-crowd'))(
    'passes all checks in every schedule with one preemption or fault, and in a sample with two: %s',
    async (name) => {
      const { failure, schedules } = await exploreLibrary(name, { mostSchedules: 2000 });
      expect(failure).toBeUndefined();
      expect(schedules).toBeGreaterThan(1300);
      expect(schedules).toBeLessThanOrEqual(2000);
    },
  );

  it.each(names)('passes all checks in random runs: %s', async (name) => {
    const seed = Number(newSeed());
    const { failure, virtualHours } = await exploreLibraryAtRandom(name, { seed, runs: 50 });
    expect(failure).toBeUndefined();
    expect(virtualHours).toBeGreaterThan(0.05);
  });

  /** Scenario, schedule (for the notation see option.ts), and the bug that this schedule found. */
  const FIXED = [
    ['mutex', '5.13.', 'two renewals at once, one of which left its timer behind'],
    ['semaphore', '7.20.', 'two renewals at once, as with the mutex'],
    ['mutex-adopted', '4.tb.1.1.3.1.12xc.tb.tb.', 'a lease adopted too late and kept'],
    [
      'mutex-stolen',
      '1xb1rcqcrcqcrc.tdqdrd.tdqdrdmcqctcrc.tatctc.ta',
      'a place in the queue that a stolen lease left behind',
    ],
  ] as const;

  it.each(FIXED)('does not fail again: %s %s, %s', async (name, schedule) => {
    const { found } = await playBack(scenarioOf(name), parseSchedule(schedule), true);
    expect(found).toBeUndefined();
  });
});

/** An operator force-releases the lock of its holder, so that checks fail. */
const FORCED: Scenario = {
  ...scenarioOf('mutex'),
  name: 'forced',
  clients: [
    ...scenarioOf('mutex').clients,
    [
      {
        calm: ['released'],
        any: ['released'],
        async run(client) {
          await client.sleep(500);
          await client.locks.mutex('foo').forceRelease();
          return 'released';
        },
      },
    ],
  ],
};

/** Each client acts as a holder until 100 ms after its release, so that checks fail. */
const OVERSTAYING: Scenario = {
  ...scenarioOf('mutex'),
  name: 'overstaying',
  clients: Array.from({ length: 2 }, () => [
    {
      calm: ['released'],
      any: ['released'],
      async run(client) {
        const lease = await client.locks.mutex('foo').acquire({ lease: 3000, wait: 60_000 });
        const held = client.enter(
          { ...lease, isHeld: true, fence: lease.fence } as typeof lease,
          1,
        );
        await lease.release();
        await client.sleep(100);
        client.leave(held);
        return 'released';
      },
    },
  ]),
};

describe('a failure of the library', () => {
  it('is found with the fewest preemptions, with a trace of every step', async () => {
    const { failure, schedules } = await exploreLibrary(FORCED);
    expect(schedules).toBe(1);
    expect(failure).toMatchObject({
      check: 'foreign-release',
      schedule: '',
      sentence: 'C ends the lease of A',
    });
    expect(failure!.trace.at(-1)).toEqual({
      label: 'qc',
      isUsual: true,
      seconds: 0.5,
      text: 'C, its oldest request reaches the store: force C. 0',
    });
    const overstayed = await exploreLibrary(OVERSTAYING);
    expect(overstayed.failure!.check).toBe('two-awake-inside');
  });

  it('of a random run is shortened, and is found again from its seed', async () => {
    const explore = (seed: number) => exploreLibraryAtRandom(FORCED, { seed, runs: 20 });
    const { failure } = await explore(5);
    expect(failure!.schedule.length).toBeLessThan(8);
    const again = await explore(failure!.seed!);
    expect([again.schedules, again.failure!.schedule]).toEqual([1, failure!.schedule]);
  });

  it('replays the same way every time', async () => {
    const replays = await Promise.all(
      Array.from({ length: 20 }, () => replayLibrary('mutex-three', '6zb2.6wb')),
    );
    const texts = new Set(replays.map(({ trace }) => JSON.stringify(trace)));
    expect(texts.size).toBe(1);
    expect(replays[0]!.trace.filter(({ isUsual }) => !isUsual)).toHaveLength(3);
  });
});

describe('the search of the library', () => {
  it('makes every run with one preemption, and no run twice', async () => {
    const scenario = scenarioOf('mutex');
    let possible = 1;
    await perform(new Stage(scenario, new SharedStore(scenario), FAULTS), (stage, usual) => {
      possible += stage.others(usual).length;
      return usual;
    });
    const seen: string[] = [];
    const isComplete = await search(scenario, {
      ...FAULTS,
      preemptions: 1,
      mostSchedules: 1e6,
      onSchedule: (_, chosen) => seen.push(scheduleText(chosen)) > 0,
    });
    expect(isComplete).toBe(true);
    expect(seen).toHaveLength(possible);
    expect(new Set(seen).size).toBe(possible);
    expect(possible).toBeGreaterThan(200);
  });

  it('samples the schedules evenly if there are more than mostSchedules, and returns false', async () => {
    const scenario = scenarioOf('mutex');
    const firsts = new Map<number, number>();
    const isComplete = await search(scenario, {
      ...FAULTS,
      preemptions: 2,
      mostSchedules: 2000,
      onSchedule: (_, chosen) => {
        const first = chosen.findIndex((each) => each !== undefined);
        firsts.set(first, (firsts.get(first) ?? 0) + 1);
        return true;
      },
    });
    expect(isComplete).toBe(false);
    const steps = [...firsts.keys()];
    expect(Math.max(...steps)).toBeGreaterThan(25);
    expect(steps.length).toBeGreaterThan(25);
    expect(Math.max(...firsts.values())).toBeLessThan(250);
  });

  it('gives the same runs if it waits for a turn of the event loop after each step', async () => {
    for (const scenario of SCENARIOS) {
      const turns: unknown[][] = [];
      const settle = (turn: () => void): void => void setImmediate(turn);
      for (const later of [undefined, settle]) {
        const labels: unknown[] = [];
        const stage = new Stage(scenario, new SharedStore(scenario, false), FAULTS);
        await perform(
          stage,
          (_, usual, step) => {
            const others = stage.others(usual);
            const taken = step % 7 === 3 ? (others[step % others.length] ?? usual) : usual;
            labels.push([stage.nowMs, taken.label]);
            return taken;
          },
          later,
        );
        turns.push(labels);
      }
      expect(turns[0]).toEqual(turns[1]);
      expect(turns[0]!.length).toBeGreaterThan(15);
    }
  });

  it('gives the same runs with and without memoized store results', async () => {
    const scenario = scenarioOf('semaphore');
    const store = new SharedStore(scenario);
    const schedules = ['', '9zb5.', 'xc4.', '11lma', '8ca6.', '7bb2sb'].map(parseSchedule);
    const play = (schedule: readonly Chosen[], at?: SharedStore) =>
      playBack(scenario, schedule, true, at);
    for (const schedule of [...schedules, ...schedules]) {
      const [memoized, computed] = [await play(schedule, store), await play(schedule)];
      expect(memoized.trace).toEqual(computed.trace);
    }
  });
});

describe('a schedule of the library', () => {
  it('is parsed from numbers of usual steps and the options between them', () => {
    const text = '12zb3.wbxalqc2lma';
    expect(scheduleText(parseSchedule(text))).toBe(text);
    expect(scheduleText(parseSchedule(' 2 3 qa 4 '))).toBe('5qa');
    expect(parseSchedule('2qa').map((step) => step?.label)).toEqual([undefined, undefined, 'qa']);
  });

  it('is refused with the nearest possible option when a step is impossible', async () => {
    await expect(replayLibrary('mutex', '3?a')).rejects.toThrow(
      'the schedule cannot be read at "?a": it is made of numbers',
    );
    await expect(replayLibrary('mutex', '2mb')).rejects.toThrow(
      /^step 3, "mb", does not fit\. What fits is ra, .*; the nearest is /,
    );
    await expect(replayLibrary('mutexes', '')).rejects.toThrow('did you mean "mutex"?');
  });
});
