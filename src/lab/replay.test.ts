import { describe, expect, it } from 'vitest';
import { parseSchedule } from './choice.ts';
import { explore, RECIPES, replay } from './index.ts';
import { worldOptions } from './options.ts';
import { World } from './world.ts';

describe('a replay', () => {
  it('returns every step of a foreign release', () => {
    const { trace, violations, next } = replay('set-nx-ex-del', 'a.aza.bwaa');
    expect(
      trace.map(({ seconds, client, action, reply }) => [seconds, client, action, reply]),
    ).toEqual([
      [0, 'A', 'SET lock 1 NX EX 2', 'OK'],
      [1, null, '1 s passes', null],
      [1, 'A', 'write', 'taken'],
      [1, 'A', 'pause', null],
      [2, null, '1 s passes', null],
      [2, 'B', 'SET lock 1 NX EX 2', 'OK'],
      [2, 'A', 'resume', null],
      [2, 'A', 'DEL lock', '(integer) 1'],
    ]);
    expect(trace.map(({ keys }) => keys.map(({ value, ttlMs }) => [value, ttlMs]))).toEqual([
      [['1', 2000]],
      [['1', 1000]],
      [['1', 1000]],
      [['1', 1000]],
      [],
      [['1', 2000]],
      [['1', 2000]],
      [],
    ]);
    expect(trace.map(({ notes }) => notes.map(({ en }) => en).join('; '))).toEqual([
      'A holds the lock',
      '',
      'A has finished its work',
      '',
      'lock ends',
      'B holds the lock',
      '',
      'A is done',
    ]);
    expect(violations).toEqual([
      {
        check: 'foreign-release',
        step: 8,
        sentence: {
          en: 'Step 8: A removes the lock that B holds.',
          zh: '第 8 步：A 删除了 B 正持有的锁。',
        },
        isPromised: true,
      },
    ]);
    const [inside] = replay('fenced', 'a.za.b').violations;
    expect(inside).toMatchObject({
      check: 'two-inside',
      isPromised: false,
      sentence: { zh: '第 5 步：A 和 B 同时在临界区内。' },
    });
    expect(next).toEqual(['c', '.', 'xb', 'xc']);
  });

  it('shows scripts by name, transactions whole, fences, lost replies and clocks', () => {
    const [take, , , , refused] = replay('fenced', 'a.za.b.bwaa').trace.filter(
      ({ client }) => client !== null,
    );
    expect(take!.action).toBe('EVAL <set nx px, and the next fence> 2 lock fence A1 2000');
    expect(take!.lines![0]![1]).toContain("redis.call('incr', KEYS[2])");
    expect(refused).toMatchObject({ client: 'A', kind: 'resume' });
    const last = replay('fenced', 'a.za.b.bwaa').trace.at(-1)!;
    expect([last.action, last.reply]).toEqual(['write with fence 1', 'refused']);
    expect(last.notes[0]!.en).toBe('the resource refuses the write of A');

    const [multi] = replay('multi-setnx-expire', 'a').trace;
    expect(multi!.action).toBe('MULTI; SETNX lock 1; EXPIRE lock 2; EXEC');
    expect(multi!.reply).toBe('[(integer) 1, (integer) 1]');
    const [lost] = replay('setnx-only', 'la', { lostReplies: 1 }).trace;
    expect([lost!.reply, lost!.notes[0]!.en]).toEqual(['(the reply is lost)', 'A gives up']);
    const clocks = replay('timestamp-getset', '+ab a', { variant: 'skewed-clocks' }).trace;
    expect(clocks.map(({ action, reply }) => [action, reply])).toEqual([
      ['clock 3 s ahead', null],
      ['unix time', '1000'],
      ['unix time', '1003'],
    ]);
  });

  it('gives the same result every time', () => {
    const [first, ...others] = Array.from({ length: 100 }, () =>
      JSON.stringify(
        replay('timestamp-getset', 'aabbbzb.aa.cc.wbbb', { variant: 'loser-prolongs' }),
      ),
    );
    expect(new Set(others)).toEqual(new Set([first]));
  });

  it('runs on one engine that is never restored', () => {
    const recipe = RECIPES.find(({ name }) => name === 'set-nx-ex-del')!;
    const world = new World(recipe, 'pause', worldOptions(), false);
    let state = world.initial;
    for (const choice of parseSchedule('a.aza.bwaa')) state = world.step(state, choice).after;
    expect([world.store.restored, world.store.executed]).toEqual([0, 3]);
  });

  it.each(RECIPES)('agrees with the search on every failure of $name', ({ name, variants }) => {
    for (const variant of variants.filter(({ fails }) => fails.length > 0)) {
      const { verdicts } = explore(name, { variant: variant.name, ticks: 4, mostStates: 6000 });
      for (const { check, failure } of verdicts) {
        if (failure === undefined) continue;
        const again = replay(name, failure.schedule, { variant: variant.name });
        const violation = again.violations.find((each) => each.check === check);
        expect(violation?.step).toBe(failure.steps);
      }
    }
  });
});

describe('a schedule that is impossible', () => {
  const message = (schedule: string, options = {}): string => {
    try {
      replay('set-nx-ex-del', schedule, options);
    } catch (error) {
      return (error as Error).message;
    }
    return 'it fits';
  };

  it('is refused with its step, the reason and the possible choices', () => {
    expect(message('aa')).toBe(
      'step 2, "a", does not fit: A is asleep, for 1 s more. What fits is b, c, ., xa, xb, zb, xc, zc; the nearest is xa',
    );
    expect(message('xaxb')).toMatch(
      /^step 2, "xb", does not fit: no crash is left\. .* nearest is b$/,
    );
    expect(message('zawaza')).toMatch(/^step 3, "za", does not fit: no pause is left/);
    expect(message('la')).toMatch(/no lost reply is left/);
    expect(message('wa')).toMatch(/A is ready/);
    expect(message('.')).toMatch(/the clock stands still, or its 6 ticks are over/);
    expect(message('d')).toMatch(/there is no D, only A to C\./);
    expect(message('+a')).toMatch(/clocks are skewed at the start or not at all/);
    expect(message('a.aaa', { clients: 1 })).toBe(
      'step 5, "a", does not fit: the run is over before it',
    );
  });

  it('is refused with the place that cannot be read', () => {
    expect(message('a.qa')).toMatch(
      /^step 3 of the schedule cannot be read at "qa": a step is "\."/,
    );
    expect(message('ax')).toMatch(/^step 2 .* at "x"/);
  });

  it('may contain spaces', () => {
    expect(message('a . a za . b wa a')).toBe('it fits');
    expect(message('')).toBe('it fits');
  });
});
