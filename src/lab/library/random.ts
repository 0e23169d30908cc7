import { seededRandom } from '../../clock/index.ts';
import type { Chosen, Option, Sign } from './option.ts';
import { type Director, perform, type Run } from './perform.ts';
import type { Scenario } from './scenario.ts';
import type { SharedStore } from './shared-store.ts';
import { type Faults, Stage } from './stage.ts';

export interface RandomRun extends Run {
  readonly chosen: readonly Chosen[];
}

/** The maximum number of priority changes, and the number of steps at the start within which they happen. */
const MAX_CHANGES = 5;
const CHANGES_WITHIN = 60;
/** One step in this many is a fault, if one is left; one in `STEPS_UNTIL_END` ends a pause or a cut. */
const STEPS_A_FAULT = 20;
const STEPS_UNTIL_END = 8;
/** After this many steps all steps are usual: a run in which one client always has priority may never end. */
const RANDOM_STEPS = 200;
/** How often in a row time may pass while something is in transit. */
const MAX_TICKS = 3;

/**
 * Makes one run with random priorities (PCT, probabilistic concurrency testing). Every lane of every client,
 * and the clock, has a priority. Each step takes the possible option with the highest one; at a few random
 * steps the first option becomes the last. The probability to find a bug that needs few orderings does not
 * shrink with the length of the run, unlike with a random choice at every step.
 */
export async function playAtRandom(
  scenario: Scenario,
  store: SharedStore,
  faults: Faults,
  seed: number,
): Promise<RandomRun> {
  const chosen: Chosen[] = [];
  const pick = byPriorities(seed);
  const run = await perform(new Stage(scenario, store, faults), (stage, usual, step) => {
    const taken = pick(stage, usual, step);
    if (taken !== usual) chosen[step] = taken;
    return taken;
  });
  return { ...run, chosen: Array.from(chosen) };
}

function byPriorities(seed: number): Director {
  const random = seededRandom(seed);
  const draw = (count: number): number => Math.floor(random.next() * count);
  const priorities = new Map<string, number>();
  const changes = new Set(
    Array.from({ length: draw(MAX_CHANGES + 1) }, () => draw(CHANGES_WITHIN)),
  );
  let lowest = 0;
  let ticks = 0;

  const priorityOf = ({ label }: Option): number => {
    const known = priorities.get(label) ?? random.next();
    priorities.set(label, known);
    return known;
  };
  const first = (options: readonly Option[]): Option =>
    options.reduce((best, each) => (priorityOf(each) > priorityOf(best) ? each : best));

  const goOn = (options: readonly Option[], step: number): Option => {
    const best = first(options);
    if (!changes.has(step)) return best;
    priorities.set(best.label, --lowest);
    return first(options);
  };

  return (stage, usual, step) => {
    if (step >= RANDOM_STEPS) return usual;
    const others = stage.others(usual);
    const faults = others.filter(({ sign }) => FAULTS.has(sign));
    if (faults.length > 0 && draw(STEPS_A_FAULT) === 0) return faults[draw(faults.length)]!;
    const ends = others.filter(({ sign }) => sign === 'w' || sign === 'u');
    if (ends.length > 0 && draw(STEPS_UNTIL_END) === 0) return ends[draw(ends.length)]!;
    const mayTick = ticks < MAX_TICKS;
    const plain = others.filter(({ sign }) => (sign === '.' ? mayTick : PLAIN.has(sign)));
    const taken = goOn([usual, ...plain], step);
    ticks = taken.sign === '.' && taken !== usual ? ticks + 1 : 0;
    return taken;
  };
}

const FAULTS: ReadonlySet<Sign> = new Set(['x', 'z', 'c', 'b', 'lq', 'lr', 'lm']);
const PLAIN: ReadonlySet<Sign> = new Set(['q', 'r', 'm', 't', 's']);
