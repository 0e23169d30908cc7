import { LabError } from '../lab-error.ts';
import type { Chosen, Option } from './option.ts';
import { type Director, perform, type Run } from './perform.ts';
import type { Scenario } from './scenario.ts';
import { SharedStore } from './shared-store.ts';
import { type Faults, Stage } from './stage.ts';

export interface SearchLimits extends Faults {
  /** In how many steps something else happens than what has waited longest; a fault is one of them. */
  readonly preemptions: number;
  /** Those that there is no time for are left out evenly. */
  readonly mostSchedules: number;
  /** Called after every schedule; false stops. */
  readonly onSchedule: (run: Run, chosen: readonly Chosen[]) => boolean;
}

/** A step in which something else happens than by itself. */
interface Preemption {
  readonly step: number;
  readonly option: Option;
}

/**
 * Every run with no preemption, then every run with one, and so on: most bugs need few (CHESS), and so
 * the first run that fails has as few as can be. A run cannot be copied, so each is played from its start;
 * the runs with one more preemption than this are found from what could have happened in its steps.
 *
 * False if it was stopped, or has left some out.
 */
export async function search(scenario: Scenario, limits: SearchLimits): Promise<boolean> {
  // Errors are made by the thousand here, and nobody reads where.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    return await goThroughAll(scenario, limits);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

async function goThroughAll(scenario: Scenario, limits: SearchLimits): Promise<boolean> {
  const store = new SharedStore(scenario);
  let schedules = 0;
  let isComplete = true;

  /** Whether to go on. */
  const play = async (preemptions: readonly Preemption[]): Promise<boolean> => {
    const run = await perform(new Stage(scenario, store, limits), director(preemptions));
    schedules++;
    return limits.onSchedule(run, chosenBy(preemptions)) && schedules < limits.mostSchedules;
  };

  const goThrough = async (
    preemptions: readonly Preemption[],
    more: number,
    most: number,
  ): Promise<boolean> => {
    if (more === 0) return play(preemptions);
    const all = await nextPreemptions(scenario, store, limits, preemptions);
    const some = spread(all, Math.max(1, Math.floor(most)));
    if (some.length < all.length) isComplete = false;
    for (const next of some) {
      if (!(await goThrough([...preemptions, next], more - 1, most / some.length))) return false;
    }
    return true;
  };

  for (let count = 0; count <= limits.preemptions; count++) {
    if (!(await goThrough([], count, limits.mostSchedules - schedules))) return false;
  }
  return isComplete;
}

/** At most so many, from all over: what comes late in a run is as likely to be wrong as what comes early. */
function spread<Item>(items: readonly Item[], most: number): readonly Item[] {
  if (items.length <= most) return items;
  const gap = items.length / most;
  return Array.from({ length: most }, (_, at) => items[Math.floor((at + 0.5) * gap)]!);
}

/** What could be the next preemption after these, in all steps to the end of the run. */
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
    if (option === usual) throw new LabError('a run is not the same when it is played again');
    return option;
  };
}

function chosenBy(preemptions: readonly Preemption[]): Chosen[] {
  const chosen: Chosen[] = [];
  for (const { step, option } of preemptions) chosen[step] = option;
  return Array.from(chosen);
}
