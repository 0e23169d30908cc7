import { systemClock } from '../clock/index.ts';
import { CHECKS } from './checks/index.ts';
import { scheduleText } from './choice.ts';
import { chosenChecks, type ExploreOptions, type Failure, failureOf } from './explore.ts';
import type { Algorithm } from './recipe.ts';
import { type Setting, settingOf } from './setting.ts';
import { minimise } from './strategies/minimise.ts';
import { type RandomRun, runAtRandom } from './strategies/random.ts';
import { smooth } from './strategies/smooth.ts';
import { World } from './world.ts';

export interface RandomOptions extends Omit<ExploreOptions, 'mostStates' | 'onProgress'> {
  readonly seed: number;
  readonly runs?: number;
  /** Called after every run; false stops. */
  readonly onProgress?: (progress: RandomProgress) => boolean | undefined;
}

export interface RandomProgress {
  readonly runs: number;
  readonly steps: number;
  readonly virtualHours: number;
  readonly seconds: number;
}

export interface RandomExploration extends Setting, RandomProgress {
  readonly seed: number;
  readonly failure?: RandomFailure;
}

export interface RandomFailure extends Failure {
  /** The seed with which the first run fails, and the number of steps of that run. */
  readonly seed: number;
  readonly stepsFound: number;
}

/** Larger than an exhaustive search can cover. */
const SIZE = { clients: 5, rounds: 4, ticks: 120 } as const;
const FAULTS = { pauses: 4, crashes: 2 } as const;
const RUNS = 100;
/** A world keeps every position that its clients reached, so it is replaced after this many runs. */
const RUNS_A_WORLD = 100;

/**
 * Draws runs from a seed until a check fails, and shortens the failing run. By default it makes only the
 * checks that the variant expects to hold.
 */
export function exploreAtRandom(
  recipe: Algorithm | string,
  options: RandomOptions,
): RandomExploration {
  const {
    checks: names,
    seed,
    runs = RUNS,
    onProgress,
    clock = systemClock,
    ...overrides
  } = options;
  const setting = settingOf(recipe, { ...SIZE, ...overrides }, FAULTS);
  const checks = names
    ? chosenChecks(names)
    : CHECKS.filter(({ name }) => !setting.variant.fails.includes(name));
  const beganMs = clock.monotonicMs();
  let progress: RandomProgress = { runs: 0, steps: 0, virtualHours: 0, seconds: 0 };
  let world = newWorld(setting);
  while (progress.runs < runs) {
    if (progress.runs % RUNS_A_WORLD === RUNS_A_WORLD - 1) world = newWorld(setting);
    const runSeed = seed + progress.runs;
    const run = runAtRandom(world, checks, runSeed);
    progress = {
      runs: progress.runs + 1,
      steps: progress.steps + run.choices.length,
      virtualHours: progress.virtualHours + run.virtualMs / 3_600_000,
      seconds: (clock.monotonicMs() - beganMs) / 1000,
    };
    const failure = shortFailure(setting, world, run, runSeed);
    if (failure !== undefined) return { ...setting, ...progress, seed, failure };
    if (onProgress?.(progress) === false) break;
  }
  return { ...setting, ...progress, seed };
}

function newWorld({ recipe, variant, world }: Setting): World {
  return new World(recipe, variant.name, world, false);
}

function shortFailure(
  setting: Setting,
  world: World,
  { choices, failing }: RandomRun,
  seed: number,
): RandomFailure | undefined {
  if (failing === undefined) return undefined;
  const { check } = failing;
  const short = smooth(world, check, minimise(world, check, choices));
  const failure = failureOf(setting, check.name, scheduleText(short));
  return { ...failure, seed, stepsFound: choices.length };
}
