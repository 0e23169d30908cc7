import { describe, expect, it } from 'vitest';
import { newSeed } from '../../../test/new-seed.ts';
import { seededRandom } from '../../clock/index.ts';
import type { Check, CheckName } from '../checks/check.ts';
import { CHECKS } from '../checks/index.ts';
import { scheduleText } from '../choice.ts';
import { worldOptions } from '../options.ts';
import type { Algorithm } from '../recipe.ts';
import { RECIPES } from '../recipes/index.ts';
import { type State, stateKey } from '../state.ts';
import { World } from '../world.ts';
import { countPaths } from './count-paths.ts';
import { exhaust } from './exhaustive.ts';
import { minimise } from './minimise.ts';
import { odometer } from './odometer.ts';
import { runAtRandom } from './random.ts';
import { smooth } from './smooth.ts';
import { violationIn } from './violation.ts';
import { evenly, walk } from './walk.ts';

const NO_LIMITS = { mostStates: 1_000_000, onProgress: () => true };

/** `npm run search:lab` searches larger worlds of the library's own locks. */
const isWholeSearch = process.env['HOLDFAST_LAB'] === 'whole';

/** Small enough to execute every run. */
const SMALL = [
  ['setnx-only', 'crash', { ticks: 2, crashes: 1, pauses: 0 }],
  ['multi-setnx-expire', 'crash', { ticks: 3, crashes: 1, pauses: 0 }],
  ['set-nx-ex-del', 'pause', { ticks: 3, crashes: 1, pauses: 1 }],
  ['set-nx-px-get-del', 'pause', { ticks: 3, crashes: 0, pauses: 1 }],
  ['set-nx-px-lua-del', 'pause', { ticks: 3, crashes: 1, pauses: 1 }],
  ['set-nx-px-lua-del', 'lost-reply', { ticks: 3, crashes: 0, pauses: 1, lostReplies: 1 }],
  ['timestamp-getset', 'skewed-clocks', { ticks: 1, crashes: 0, pauses: 0, skews: 1 }],
  ['timestamp-getset', 'loser-prolongs', { ticks: 2, crashes: 0, pauses: 1 }],
  ['memcached-add', 'cas', { ticks: 3, crashes: 1, pauses: 0 }],
  ['watchdog', 'pause', { ticks: 2, crashes: 1, pauses: 1 }],
  ['fenced', 'pause', { ticks: 3, crashes: 1, pauses: 1 }],
  ['holdfast-mutex', 'pause', { ticks: isWholeSearch ? 3 : 2, crashes: 1, pauses: 1 }],
  [
    'holdfast-semaphore',
    'lost-reply',
    { ticks: isWholeSearch ? 2 : 1, crashes: 0, pauses: 1, lostReplies: 1 },
  ],
] as const;

/** Clients with different sleeps, which write without having entered. */
const RESTLESS: Algorithm = {
  name: 'restless',
  lockKey: 'lock',
  *client({ name, command, sleep, write }) {
    const fence = Number(yield* command`INCR fence`);
    if (name === 'A') {
      yield* sleep(2000);
      if ((yield* command`EXISTS stop`) === 1) yield* sleep(1000);
    } else yield* command`SET stop 1 EX 1`;
    yield* write(fence);
    return 'done';
  },
};

/** Publishes one message with a comma in it, or two messages: state keys must distinguish the two. */
const MESSAGING: Algorithm = {
  name: 'mailing',
  lockKey: 'lock',
  *client({ name, command, listen }) {
    if (name === 'A') {
      yield* command`SET key 1`;
      yield* command`DEL key`;
    } else if (name === 'B') yield* command`EVAL ${PUBLISH} 1 key`;
    else if ((yield* listen(9000))?.[0] === 'x') yield* command`SET lock 1`;
    return 'done';
  },
};

const PUBLISH = `
local texts = redis.call('exists', KEYS[1]) == 1 and {'x,y'} or {'x', 'y'}
for _, text in ipairs(texts) do redis.call('publish', 'C', text) end`;

/** Worlds in which many runs lead to the same states. */
const MERGED = [
  ['setnx-then-expire', 'crash', { clients: 3, ticks: 4, crashes: 2, pauses: 1 }],
  ['restless', 'own', { clients: 3, ticks: 5, crashes: 1, pauses: 1 }],
  ['mailing', 'own', { clients: 4, ticks: 5, crashes: 1, pauses: 1 }],
  ['set-nx-ex-del', 'pause', { ticks: 5, crashes: 1, pauses: 2 }],
  ['set-nx-px-get-del', 'pause', { clients: 3, ticks: 4, crashes: 1, pauses: 1 }],
  ['fenced', 'pause', { rounds: 2, ticks: 7, crashes: 1, pauses: 1, lostReplies: 1 }],
  ['timestamp-getset', 'skewed-clocks', { clients: 3, ticks: 3, pauses: 0, skews: 2 }],
  ['timestamp-getset', 'loser-prolongs', { ticks: 5, crashes: 1, pauses: 2 }],
  [
    'holdfast-mutex',
    'pause',
    { ticks: isWholeSearch ? 5 : 3, crashes: 1, pauses: 1, lostReplies: 1 },
  ],
  [
    'holdfast-read-write',
    'pause',
    { clients: isWholeSearch ? 3 : 2, ticks: isWholeSearch ? 2 : 3, crashes: 1, pauses: 1 },
  ],
] as const;

function worldOf(name: string, variant: string, overrides: object, remembers = true): World {
  const recipe = [...RECIPES, RESTLESS, MESSAGING].find((each) => each.name === name)!;
  return new World(recipe, variant, worldOptions({ clients: 2, ...overrides }), remembers);
}

describe('the exhaustive search', () => {
  it.each(SMALL)(
    'gives the counts and verdicts of all runs one by one: %s %s',
    (name, variant, overrides) => {
      // The costly checks are slow after every step of every run, so they are made only where they can fail.
      const recipe = RECIPES.find((each) => each.name === name)!;
      const { fails } = recipe.variants.find((each) => each.name === variant)!;
      const checks = CHECKS.filter(({ isCostly, name }) => !isCostly || fails.includes(name));
      const found = exhaust(worldOf(name, variant, overrides), checks, NO_LIMITS);
      const steps = [...found.failures].map(([check, choices]) => [check, choices.length] as const);
      const byHand = everyRun(worldOf(name, variant, overrides, false), checks);
      expect(byHand.runs).toBe(found.interleavings);
      expect(byHand.shortest).toEqual(new Map(steps));
      for (const check of checks) {
        const failing = found.failing([check.name]);
        expect(failing.interleavings, check.name).toBe(byHand.failing.get(check.name) ?? 0n);
        expect(failing.chance, check.name).toBeCloseTo(byHand.chances.get(check.name) ?? 0, 9);
      }
      expect(byHand.runs).toBeGreaterThan(100n);
    },
  );

  it.each(MERGED)('merges only states with equal futures: %s %s', (name, variant, overrides) => {
    const world = worldOf(name, variant, overrides);
    const futures = new Map<string, string>();
    const open = [world.initial];
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      const { future, next } = oneStepOn(world, state);
      const known = futures.get(stateKey(state));
      if (known !== undefined) expect(future).toBe(known);
      else {
        futures.set(stateKey(state), future);
        open.push(...next);
      }
    }
    expect(futures.size).toBeGreaterThan(1000);
  });

  it('stops at mostStates or when onProgress returns false, and is not complete', () => {
    const world = (): World => worldOf('fenced', 'pause', { clients: 3 });
    const whole = exhaust(world(), CHECKS, NO_LIMITS);
    const few = exhaust(world(), CHECKS, { ...NO_LIMITS, mostStates: 3000 });
    const none = exhaust(world(), CHECKS, { ...NO_LIMITS, onProgress: () => false });
    expect([whole.isComplete, few.isComplete, none.isComplete]).toEqual([true, false, false]);
    expect(few.states).toBeLessThan(3100);
    expect(few.interleavings).toBeLessThan(whole.interleavings);
    expect(none.interleavings).toBe(0n);
  });
});

/** Everything visible within one step of a state: if states with equal keys agree on this, they agree on all runs. */
function oneStepOn(world: World, state: State): { future: string; next: State[] } {
  const seen: unknown[] = CHECKS.map((check) => check.ofState?.(state, world)?.en);
  const next: State[] = [];
  for (const choice of world.choices(state)) {
    const move = world.step(state, choice);
    const found = CHECKS.map((check) => check.ofMove?.(move)?.en);
    seen.push(choice.label, move.step, move.result, stateKey(move.after), found);
    next.push(move.after);
  }
  return { future: JSON.stringify(seen), next };
}

/** Executes every run on a new engine, without memoizing. */
function everyRun(world: World, checks: readonly Check[]): EveryRun {
  const { choose, next } = odometer();
  const found: EveryRun = { runs: 0n, shortest: new Map(), failing: new Map(), chances: new Map() };
  const { shortest, failing, chances } = found;
  do {
    found.runs++;
    let steps = 0;
    let chance = 1;
    const failed = new Set<Check>();
    const chooseOne = (count: number): number => {
      chance /= count;
      return choose(count);
    };
    walk(world, evenly(chooseOne), (move) => {
      steps++;
      for (const check of checks) {
        if (failed.has(check) || violationIn(world, check, move) === undefined) continue;
        failed.add(check);
        shortest.set(check.name, Math.min(steps, shortest.get(check.name) ?? steps));
      }
      return true;
    });
    for (const { name } of failed) {
      failing.set(name, (failing.get(name) ?? 0n) + 1n);
      chances.set(name, (chances.get(name) ?? 0) + chance);
    }
  } while (next());
  return found;
}

interface EveryRun {
  runs: bigint;
  readonly shortest: Map<CheckName, number>;
  readonly failing: Map<CheckName, bigint>;
  readonly chances: Map<CheckName, number>;
}

describe('the odometer', () => {
  it('enumerates all sequences, also if a choice changes the number of later choices', () => {
    const { choose, next } = odometer();
    const seen: string[] = [];
    do {
      const first = choose(3);
      seen.push(first === 1 ? `${first}${choose(2)}${choose(2)}` : `${first}`);
    } while (next());
    expect(seen).toEqual(['0', '100', '101', '110', '111', '2']);
  });
});

describe('the count of paths', () => {
  it('equals the number of paths found by walking them all', () => {
    const seed = Number(newSeed());
    const random = seededRandom(seed);
    for (let graph = 0; graph < 50; graph++) {
      const edges = Array.from({ length: 12 }, (_, node) =>
        Array.from({ length: 12 - node - 1 }, (_, more) => node + more + 1).filter(
          (to) => to === node + 1 || random.next() < 0.3,
        ),
      );
      const follow = (node: number): bigint =>
        edges[node]!.length === 0 ? 1n : edges[node]!.reduce((sum, to) => sum + follow(to), 0n);
      const firstTargets = [0];
      for (const targets of edges) firstTargets.push(firstTargets.at(-1)! + targets.length);
      const found = countPaths({ firstTargets, targets: edges.flat(), known: 12 });
      expect(found, `seed ${seed}`).toBe(follow(0));
    }
  });

  it('is exact above the precision of a double', () => {
    const nodes = 61;
    const firstTargets = Array.from({ length: nodes + 1 }, (_, node) => Math.min(node, 60) * 2);
    const targets = Array.from({ length: 120 }, (_, edge) => Math.floor(edge / 2) + 1);
    expect(countPaths({ firstTargets, targets, known: nodes })).toBe(2n ** 60n);
  });

  it('throws for a cycle', () => {
    for (const [firstTargets, targets] of [
      [
        [0, 1, 2],
        [1, 0],
      ],
      [
        [0, 1, 2, 3],
        [1, 2, 1],
      ],
    ] as const) {
      const graph = { firstTargets, targets, known: 3 };
      expect(() => countPaths(graph)).toThrow('the states form a cycle');
    }
  });
});

const foreignRelease = CHECKS.find(({ name }) => name === 'foreign-release')!;

describe('random runs', () => {
  const large = (): World =>
    worldOf('set-nx-ex-del', 'pause', { clients: 5, rounds: 3, ticks: 60, pauses: 4 });

  it('are the same for the same seed', () => {
    const run = (seed: number): string => scheduleText(runAtRandom(large(), [], seed).choices);
    expect(run(5)).toBe(run(5));
    expect(run(5)).not.toBe(run(6));
  });

  it('are shortened until no single step can be left out', () => {
    const world = large();
    const { choices, seed } = firstFailure(world, foreignRelease);
    const short = minimise(world, foreignRelease, choices);
    expect(fails(world, foreignRelease, short), `seed ${seed}`).toBe(true);
    for (const left of short.keys()) {
      expect(fails(world, foreignRelease, short.toSpliced(left, 1)), `seed ${seed}`).toBe(false);
    }
    expect(short.length).toBeLessThan(20);
    expect(choices.length).toBeGreaterThan(short.length);
  });

  it('find failures of costly checks at their end', () => {
    const waits = CHECKS.find(({ name }) => name === 'waiter-not-served')!;
    const world = worldOf('setnx-only', 'crash', { clients: 4, ticks: 20, pauses: 0 });
    expect(firstFailure(world, waits).choices.length).toBeGreaterThan(2);
  });
});

function firstFailure(
  world: World,
  check: Check,
): { choices: ReturnType<typeof runAtRandom>['choices']; seed: number } {
  const seed = Number(newSeed());
  for (let run = 0; run < 1000; run++) {
    const { choices, failing } = runAtRandom(world, [check], seed + run);
    if (failing !== undefined) return { choices, seed: seed + run };
  }
  throw new Error(`no run failed from seed ${seed}`);
}

/** Returns true if the choices are possible and the check fails after the last of them, and not before. */
function fails(
  world: World,
  check: Check,
  choices: readonly { readonly label: string }[],
): boolean {
  let state = world.initial;
  for (const [index, { label }] of choices.entries()) {
    const choice = world.choices(state).find((each) => each.label === label);
    if (choice === undefined) return false;
    const move = world.step(state, choice);
    if (violationIn(world, check, move) !== undefined) return index === choices.length - 1;
    state = move.after;
  }
  return false;
}

describe('smoothing', () => {
  it('groups the steps of each client, and keeps length and failure', () => {
    const world = worldOf('timestamp-getset', 'skewed-clocks', { pauses: 0, skews: 1 });
    const twoInside = CHECKS.find(({ name }) => name === 'two-inside')!;
    const found = exhaust(world, [twoInside], NO_LIMITS).failures.get('two-inside')!;
    const smoothed = smooth(world, twoInside, found);
    expect(smoothed.length).toBe(found.length);
    expect(fails(world, twoInside, smoothed)).toBe(true);
    expect(scheduleText(smoothed)).toBe('+abbaaaaa');
  });
});
