import { type Clock, systemClock } from '../clock/index.ts';
import type { Check, CheckName } from './checks/check.ts';
import { CHECKS } from './checks/index.ts';
import { scheduleText } from './choice.ts';
import { LabError } from './lab-error.ts';
import { named } from './nearest.ts';
import { type WorldOptions, worldOptions } from './options.ts';
import type { Algorithm, Text } from './recipe.ts';
import { replay } from './replay.ts';
import { type Setting, settingOf } from './setting.ts';
import { type Exhaustion, exhaust, type FailingRuns, type Seen } from './strategies/exhaustive.ts';
import { smooth } from './strategies/smooth.ts';
import type { TraceStep } from './trace.ts';
import { isExpected, isPromised } from './verdict.ts';
import { World } from './world.ts';

export interface ExploreOptions extends Partial<WorldOptions> {
  readonly variant?: string;
  /** The checks to make. Default: all. */
  readonly checks?: readonly CheckName[];
  /** Stops the search after this many states. Default 1,500,000. */
  readonly mostStates?: number;
  /** Called every few thousand states; return false to stop the search. */
  readonly onProgress?: (progress: Progress) => boolean | undefined;
  readonly clock?: Clock;
}

export interface Progress extends Seen {
  readonly seconds: number;
}

export interface Exploration extends Setting {
  readonly verdicts: readonly Verdict[];
  /** Every verdict is the one that the variant expects for a world of this size. */
  readonly isExpected: boolean;
  /** No check fails that the recipe promises to hold. */
  readonly keepsPromises: boolean;
  /** False if the search was stopped: then a check that holds has held only in the states visited. */
  readonly isComplete: boolean;
  readonly states: number;
  readonly moves: number;
  /** The number of complete runs through these states. */
  readonly interleavings: bigint;
  /** How many of them fail a check that the recipe promises. Null if the search was stopped. */
  readonly failing: FailingRuns | null;
  readonly seconds: number;
  /** The failure to show: the one that the variant names, or else the shortest. */
  readonly failure?: Failure;
}

export interface Verdict {
  readonly check: CheckName;
  readonly holds: boolean;
  readonly isExpected: boolean;
  /** False if the variant lists the check as `unpromised`. */
  readonly isPromised: boolean;
  /** The runs in which the check fails at least once. Null if the search was stopped. */
  readonly failing: FailingRuns | null;
  /** A shortest run in which the check fails. */
  readonly failure?: Failure;
}

export interface Failure {
  readonly check: CheckName;
  readonly schedule: string;
  /** The step after which the check fails. The schedule of a scene may continue after it. */
  readonly steps: number;
  readonly sentence: Text;
  readonly trace: readonly TraceStep[];
}

/** Fits into the default heap of Node. */
const MAX_STATES = 1_500_000;

const NO_RUNS: FailingRuns = { interleavings: 0n, chance: 0 };

/** Runs every interleaving of a recipe's clients, and returns which checks hold. */
export function explore(recipe: Algorithm | string, options: ExploreOptions = {}): Exploration {
  const {
    checks: names,
    mostStates = MAX_STATES,
    onProgress,
    clock = systemClock,
    ...overrides
  } = options;
  const setting = settingOf(recipe, overrides);
  const checks = chosenChecks(names);
  const beganMs = clock.monotonicMs();
  const seconds = (): number => (clock.monotonicMs() - beganMs) / 1000;
  const world = new World(setting.recipe, setting.variant.name, setting.world);
  const found = exhaust(world, checks, {
    mostStates,
    onProgress: (seen) => onProgress?.({ ...seen, seconds: seconds() }) !== false,
  });
  const verdicts = checks.map((check) => verdictOf(check, found, world, setting));
  const failure = failureToShow(verdicts, setting);
  const { states, moves, interleavings, isComplete } = found;
  return {
    ...setting,
    verdicts,
    isExpected: verdicts.every((verdict) => verdict.isExpected),
    keepsPromises: verdicts.every(({ holds, isPromised }) => holds || !isPromised),
    isComplete,
    states,
    moves,
    interleavings,
    failing: isComplete ? found.failing(brokenPromises(verdicts)) : null,
    seconds: seconds(),
    ...(failure === undefined ? {} : { failure }),
  };
}

/** The checks of those names, or all. */
export function chosenChecks(names: readonly CheckName[] | undefined): readonly Check[] {
  return names === undefined ? CHECKS : names.map((name) => named('check', name, CHECKS));
}

function verdictOf(check: Check, found: Exhaustion, world: World, setting: Setting): Verdict {
  const { name } = check;
  const failing = found.failures.get(name);
  const holds = failing === undefined;
  const verdict = {
    check: name,
    holds,
    isExpected: isExpected(setting, name, holds),
    isPromised: isPromised(setting, name),
    failing: failingRuns(found, name),
  };
  if (holds) return verdict;
  const schedule = scheduleText(smooth(world, check, failing));
  return { ...verdict, failure: failureOf(setting, name, schedule) };
}

function failingRuns({ failures, failing, isComplete }: Exhaustion, check: CheckName) {
  if (!isComplete) return null;
  return failures.has(check) ? failing([check]) : NO_RUNS;
}

function brokenPromises(verdicts: readonly Verdict[]): CheckName[] {
  return verdicts.filter(({ holds, isPromised }) => isPromised && !holds).map(({ check }) => check);
}

function failureToShow(verdicts: readonly Verdict[], setting: Setting): Failure | undefined {
  const failures = verdicts.flatMap(({ failure }) => failure ?? []);
  const shown = failures.find(({ check }) => check === setting.variant.shows);
  if (shown !== undefined) return sceneOf(setting, shown.check) ?? shown;
  return failures.sort((a, b) => a.steps - b.steps)[0];
}

/** The run that the variant names as its scene. Its schedule is valid only in the variant's own world. */
function sceneOf(setting: Setting, check: CheckName): Failure | undefined {
  const { variant, world } = setting;
  if (variant.scene === undefined) return undefined;
  const own = worldOptions(variant.world);
  const isOwn = Object.entries(own).every(
    ([name, value]) => world[name as keyof WorldOptions] === value,
  );
  return isOwn ? failureOf(setting, check, variant.scene) : undefined;
}

/** Replays the schedule from its start on one engine, and returns the failure of the check. */
export function failureOf(setting: Setting, check: CheckName, schedule: string): Failure {
  const { recipe, variant, world } = setting;
  const { trace, violations } = replay(recipe, schedule, { ...world, variant: variant.name });
  const violation = violations.find((each) => each.check === check);
  if (violation === undefined)
    throw new LabError(`${check} does not fail when ${schedule} is replayed`);
  return { check, schedule, steps: violation.step, sentence: violation.sentence, trace };
}
