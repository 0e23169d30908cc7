import { describe, expect, it } from 'vitest';
import { seededRandom } from '../clock/index.ts';
import { choice, parseSchedule } from './choice.ts';
import { type WorldOptions, worldOptions } from './options.ts';
import { RECIPES } from './recipes/index.ts';
import type { State } from './state.ts';
import { evenly, walk } from './strategies/walk.ts';
import { World } from './world.ts';

function worldOf(name: string, overrides: Partial<WorldOptions>): World {
  const recipe = RECIPES.find((each) => each.name === name)!;
  return new World(recipe, recipe.variants[0]!.name, worldOptions(overrides));
}

function stateAfter(world: World, schedule: string): State {
  return parseSchedule(schedule).reduce((state, next) => {
    expect(world.choices(state)).toContain(next);
    return world.step(state, next).after;
  }, world.initial);
}

function labels(world: World, schedule: string): string {
  return world
    .choices(stateAfter(world, schedule))
    .map(({ label }) => label)
    .join(' ');
}

describe('the choices of a world', () => {
  it('include exactly the number of faults of the options', () => {
    const overrides = { clients: 4, ticks: 8, crashes: 2, pauses: 3, lostReplies: 2, skews: 2 };
    const world = worldOf('timestamp-getset', overrides);
    const random = seededRandom(3);
    const most: Record<string, number> = {};
    for (let run = 0; run < 200; run++) {
      const counts: Record<string, number> = {};
      walk(
        world,
        evenly((count) => Math.floor(random.next() * count)),
        ({ choice }) => {
          const kind = choice.kind === 'behind' ? 'ahead' : choice.kind;
          counts[kind] = (counts[kind] ?? 0) + 1;
          most[kind] = Math.max(most[kind] ?? 0, counts[kind]);
          return true;
        },
      );
    }
    const { tick, crash, pause, resume, lose, ahead } = most;
    expect({ tick, crash, pause, resume, lose, ahead }).toEqual({
      tick: 8,
      crash: 2,
      pause: 3,
      resume: 3,
      lose: 2,
      ahead: 2,
    });
  });

  it('are empty when only a fault could happen', () => {
    const world = worldOf('setnx-only', { clients: 1, ticks: 0, pauses: 1 });
    expect(labels(world, '')).toBe('a xa za');
    expect(labels(world, 'a')).toBe('');
    expect(labels(world, 'za')).toBe('wa xa');
  });

  it('let clients start at any time, but let no time pass within an attempt without a pause', () => {
    const world = worldOf('setnx-then-expire', { clients: 2, crashes: 0, pauses: 1 });
    expect(labels(world, '')).toBe('a b za zb');
    expect(labels(world, 'a')).toBe('a b za zb');
    expect(labels(world, 'aa')).toBe('b . zb');
    expect(labels(world, 'aza')).toBe('b . wa');
  });

  it('skew clocks before any other choice, one client after the other', () => {
    const world = worldOf('timestamp-getset', { clients: 2, crashes: 0, pauses: 0, skews: 2 });
    expect(labels(world, '')).toBe('a b +a -a +b -b');
    expect(labels(world, '-a')).toBe('a b +b -b');
    expect(labels(world, '+b')).toBe('a b');
    expect(labels(world, 'a')).toBe('a b');
  });
});

describe('the state of a world', () => {
  it('has the lease end by the store’s clock when the client’s clock is skewed', () => {
    const until = (schedule: string): number => {
      const world = worldOf('timestamp-getset', { crashes: 0, pauses: 0, skews: 1 });
      return stateAfter(world, schedule).clients[0]!.untilMs;
    };
    expect([until('aa'), until('+aaa'), until('-aaa')]).toEqual([1_002_000, 1_002_000, 1_002_000]);
  });

  it('has no holder after the lock expires or is released', () => {
    const world = worldOf('set-nx-px-lua-del', {});
    expect(stateAfter(world, 'a')).toMatchObject({ holder: 0, writer: 0 });
    expect(stateAfter(world, 'axa..')).toMatchObject({ holder: -1, writer: -1 });
    expect(stateAfter(world, 'a.aa')).toMatchObject({ holder: -1, writer: -1 });
    const given = stateAfter(world, 'a.aa').clients[0];
    expect(given).toMatchObject({ status: 'finished', inside: false, untilMs: 0 });
  });

  it('wakes sleeping clients at their wake time', () => {
    const world = worldOf('set-nx-px-lua-del', { clients: 2 });
    const status = (schedule: string): string =>
      stateAfter(world, schedule)
        .clients.map(({ status }) => status)
        .join(' ');
    expect(status('ab')).toBe('asleep asleep');
    expect(status('ab.')).toBe('ready ready');
    expect(status('a.zab')).toBe('paused asleep');
    expect(status('a.zab.')).toBe('paused ready');
    expect(status('a.zabxa')).toBe('crashed asleep');
  });

  it('starts every acquisition at the first step, with a new token', () => {
    const world = worldOf('set-nx-px-lua-del', { clients: 1, rounds: 2 });
    expect(stateAfter(world, 'a.aa.a').image.lock?.value).toBe('A2');
    expect(world.choices(stateAfter(world, 'a.aa.a.aa'))).toEqual([]);
  });

  it('continues fairly: paused clients first, then each ready client, then the clock, without a time limit', () => {
    const world = worldOf('set-nx-px-lua-del', { clients: 2, ticks: 1 });
    expect(world.fairChoice(stateAfter(world, 'a.zab'))).toBe(choice('resume', 0));
    expect(world.fairChoice(stateAfter(world, 'a.zabwa'))).toBe(choice('step', 0));
    const late = stateAfter(world, 'a.aab');
    expect(world.choices(late)).toEqual([]);
    expect(world.fairChoice(late)?.kind).toBe('tick');
  });
});
