import { LabError } from '../lab-error.ts';
import type { Chosen, Option } from './option.ts';
import { type Director, perform, type Run } from './perform.ts';
import type { Scenario } from './scenario.ts';
import { SharedStore } from './shared-store.ts';
import { type Faults, Stage } from './stage.ts';

export interface SearchLimits extends Faults {
  /** The maximum number of steps that differ from the usual one. Faults count. */
  readonly preemptions: number;
  /** The maximum number of schedules. If there are more, they are left out evenly. */
  readonly mostSchedules: number;
  /** Called after every schedule; false stops. */
  readonly onSchedule: (run: Run, chosen: readonly Chosen[]) => boolean;
}

/** A step that takes another option than the usual one. */
interface Preemption {
  readonly step: number;
  readonly option: Option;
}

/**
 * Makes every run without preemption, then every run with one, and so on (iterative context bounding, as in
 * CHESS). Most bugs need few preemptions, and the first failing run has the fewest. A run cannot be copied,
 * so each starts from the beginning. The other options in the steps of a run give the runs with one more
 * preemption.
 *
 * Returns false if the search was stopped, or if it left out schedules.
 */
export async function search(scenario: Scenario, limits: SearchLimits): Promise<boolean> {
  // A search creates thousands of errors, and stack traces are slow.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return await searchAll(scenario, limits);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

async function searchAll(scenario: Scenario, limits: SearchLimits): Promise<boolean> {
  const store = new SharedStore(scenario);
  let schedules = 0;
  let isComplete = true;

  /** Makes one run. Returns false if the search must stop. */
  const play = async (preemptions: readonly Preemption[]): Promise<boolean> => {
    const run = await perform(new Stage(scenario, store, limits), director(preemptions));
    schedules++;
    return limits.onSchedule(run, chosenBy(preemptions)) && schedules < limits.mostSchedules;
  };

  const searchFrom = async (
    preemptions: readonly Preemption[],
    more: number,
    most: number,
  ): Promise<boolean> => {
    if (more === 0) return play(preemptions);
    const all = await nextPreemptions(scenario, store, limits, preemptions);
    const some = spread(all, Math.max(1, Math.floor(most)));
    if (some.length < all.length) isComplete = false;
    for (const next of some) {
      if (!(await searchFrom([...preemptions, next], more - 1, most / some.length))) return false;
    }
    return true;
  };

  for (let count = 0; count <= limits.preemptions; count++) {
    if (!(await searchFrom([], count, limits.mostSchedules - schedules))) return false;
  }
  return isComplete;
}

/** At most `most` items, evenly spaced, so that late steps of a run are covered as well as early ones. */
function spread<Item>(items: readonly Item[], most: number): readonly Item[] {
  if (items.length <= most) return items;
  const gap = items.length / most;
  return Array.from({ length: most }, (_, at) => items[Math.floor((at + 0.5) * gap)]!);
}

/** All possible next preemptions after these, in every step to the end of the run. */
async function nextPreemptions(
  scenario: Scenario,
  store: SharedStore,
  faults: Faults,
  preemptions: readonly Preemption[],
): Promise<Preemption[]> {
  const found: Preemption[] = [];
  const follow = director(preemptions);
  const first = (preemptions.at(-1)?.step ?? -1) + 1;
  await perform(new Stage(scenario, store, faults), (stage, usual, step) => {
    if (step < first) return follow(stage, usual, step);
    for (const option of stage.others(usual)) found.push({ step, option });
    return usual;
  });
  return found;
}

function director(preemptions: readonly Preemption[]): Director {
  let at = 0;
  return (_, usual, step) => {
    if (preemptions[at]?.step !== step) return usual;
    const { option } = preemptions[at++]!;
    if (option === usual)
      throw new LabError('the run is not deterministic: a replay of the same schedule differs');
    return option;
  };
}

function chosenBy(preemptions: readonly Preemption[]): Chosen[] {
  const chosen: Chosen[] = [];
  for (const { step, option } of preemptions) chosen[step] = option;
  return Array.from(chosen);
}
