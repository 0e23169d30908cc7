import { type Clock, systemClock } from '../../clock/index.ts';
import { LabError } from '../lab-error.ts';
import { named } from '../nearest.ts';
import { minimise } from './minimise.ts';
import { type Chosen, parseSchedule, scheduleText } from './option.ts';
import { playAtRandom } from './random.ts';
import { type LibraryStep, playBack } from './replay.ts';
import { SCENARIOS, type Scenario } from './scenario.ts';
import { search } from './search.ts';
import { SharedStore } from './shared-store.ts';
import type { Faults } from './stage.ts';
import type { LibraryCheck } from './watcher.ts';

export interface LibraryOptions extends Partial<Faults> {
  /** The maximum number of steps that differ from the usual one. */
  readonly preemptions?: number;
  /** The maximum number of schedules. Schedules are left out evenly among those with the most preemptions. */
  readonly mostSchedules?: number;
  /** Called after every schedule; return false to stop. */
  readonly onProgress?: (progress: LibraryProgress) => boolean | undefined;
  readonly clock?: Clock;
}

export interface LibraryProgress {
  readonly schedules: number;
  readonly steps: number;
  readonly virtualHours: number;
  readonly seconds: number;
}

export interface LibraryExploration extends LibraryProgress {
  readonly scenario: Scenario;
  /** False if schedules were left out or the search was stopped. */
  readonly isComplete: boolean;
  /** The first failure: with the fewest preemptions, or shortened if a random run found it. */
  readonly failure?: LibraryFailure;
}

export interface LibraryFailure extends LibraryReplay {
  readonly check: LibraryCheck;
  readonly sentence: string;
  /** The seed with which the first run fails, if a random run found it. */
  readonly seed?: number;
}

export interface LibraryReplay {
  readonly scenario: Scenario;
  readonly schedule: string;
  readonly trace: readonly LibraryStep[];
  readonly check?: LibraryCheck;
  readonly sentence?: string;
}

const FAULTS: Faults = { crashes: 1, pauses: 1, cuts: 1, losses: 1, breaks: 1 };
const RANDOM_FAULTS: Faults = { crashes: 1, pauses: 2, cuts: 2, losses: 3, breaks: 2 };
const PREEMPTIONS = 2;
const PROGRESS_EVERY = 256;
const RUNS = 1000;

/** Runs the real library through every schedule with at most `preemptions` preemptions, fewer first. */
export async function exploreLibrary(
  requested: Scenario | string,
  options: LibraryOptions = {},
): Promise<LibraryExploration> {
  const { preemptions = PREEMPTIONS, mostSchedules = Number.POSITIVE_INFINITY } = options;
  const scenario = scenarioOf(requested);
  const progress = new Tally(options);
  let failing: readonly Chosen[] | undefined;
  const isComplete = await search(scenario, {
    ...FAULTS,
    ...faultsOf(options),
    preemptions,
    mostSchedules,
    onSchedule: (run, chosen) => {
      if (run.found !== undefined) failing = chosen;
      return progress.count(run) && failing === undefined;
    },
  });
  const seen = { scenario, ...progress.now(), isComplete };
  return failing ? { ...seen, failure: await failureOf(scenario, failing) } : seen;
}

export interface RandomLibraryOptions
  extends Omit<LibraryOptions, 'preemptions' | 'mostSchedules'> {
  readonly seed: number;
  readonly runs?: number;
}

/** Runs the real library with random priorities, drawn from a seed, until a check fails. */
export async function exploreLibraryAtRandom(
  requested: Scenario | string,
  options: RandomLibraryOptions,
): Promise<LibraryExploration> {
  const { seed, runs = RUNS } = options;
  const scenario = scenarioOf(requested);
  // Random runs share so few states that memoizing costs more than it saves.
  const store = new SharedStore(scenario, false);
  const faults = { ...RANDOM_FAULTS, ...faultsOf(options) };
  const progress = new Tally(options);
  for (let run = 0; run < runs; run++) {
    const played = await playAtRandom(scenario, store, faults, seed + run);
    const goesOn = progress.count(played);
    if (played.found !== undefined) {
      const short = await minimise(scenario, played.found.check, played.chosen);
      const failure = { ...(await failureOf(scenario, short)), seed: seed + run };
      return { scenario, ...progress.now(), isComplete: false, failure };
    }
    if (!goesOn) return { scenario, ...progress.now(), isComplete: false };
  }
  return { scenario, ...progress.now(), isComplete: true };
}

/** Replays one schedule step by step. */
export async function replayLibrary(
  requested: Scenario | string,
  schedule: string,
): Promise<LibraryReplay> {
  const scenario = scenarioOf(requested);
  const { trace, chosen, found } = await playBack(scenario, parseSchedule(schedule));
  return { scenario, schedule: scheduleText(chosen), trace, ...found };
}

async function failureOf(scenario: Scenario, chosen: readonly Chosen[]): Promise<LibraryFailure> {
  const schedule = scheduleText(chosen);
  const { check, sentence, ...replayed } = await replayLibrary(scenario, schedule);
  if (check === undefined || sentence === undefined) {
    throw new LabError(`no check fails when ${schedule} of ${scenario.name} is replayed`);
  }
  return { ...replayed, check, sentence };
}

function scenarioOf(requested: Scenario | string): Scenario {
  return typeof requested === 'string' ? named('scenario', requested, SCENARIOS) : requested;
}

function faultsOf(options: Partial<Faults>): Partial<Faults> {
  const names = Object.keys(FAULTS) as (keyof Faults)[];
  const overrides = names.filter((name) => options[name] !== undefined);
  return Object.fromEntries(overrides.map((name) => [name, options[name]]));
}

/** Counts schedules, steps and virtual time. */
class Tally {
  readonly #clock: Clock;
  readonly #onProgress: LibraryOptions['onProgress'];
  readonly #beganMs: number;
  #schedules = 0;
  #steps = 0;
  #virtualMs = 0;

  constructor({ clock = systemClock, onProgress }: LibraryOptions) {
    this.#clock = clock;
    this.#onProgress = onProgress;
    this.#beganMs = clock.monotonicMs();
  }

  /** Adds one run. Returns false if the search must stop. */
  count({ steps, virtualMs }: { readonly steps: number; readonly virtualMs: number }): boolean {
    this.#schedules++;
    this.#steps += steps;
    this.#virtualMs += virtualMs;
    if (this.#schedules % PROGRESS_EVERY !== 0) return true;
    return this.#onProgress?.(this.now()) !== false;
  }

  now(): LibraryProgress {
    return {
      schedules: this.#schedules,
      steps: this.#steps,
      virtualHours: this.#virtualMs / 3_600_000,
      seconds: (this.#clock.monotonicMs() - this.#beganMs) / 1000,
    };
  }
}
