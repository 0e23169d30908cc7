import { type Random, seededRandom } from '../../clock/index.ts';
import type { Check } from '../checks/check.ts';
import type { Choice } from '../choice.ts';
import type { Text } from '../recipe.ts';
import type { Move, World } from '../world.ts';
import { violationIn } from './violation.ts';
import { type Choose, type Pick, walk } from './walk.ts';

export interface RandomRun {
  readonly choices: readonly Choice[];
  readonly virtualMs: number;
  readonly failing: { readonly check: Check; readonly sentence: Text } | undefined;
}

/** Makes one run drawn from a seed, until its end or the first failure. */
export function runAtRandom(world: World, checks: readonly Check[], seed: number): RandomRun {
  const choices: Choice[] = [];
  const quick = checks.filter(({ isCostly }) => !isCostly);
  let last: Move | undefined;
  let failing = undefined as RandomRun['failing'];
  walk(world, seldomFaults(chooser(seededRandom(seed))), (move) => {
    last = move;
    choices.push(move.choice);
    failing = firstFailing(world, quick, move);
    return failing === undefined;
  });
  if (last !== undefined) failing ??= firstFailing(world, checks, last);
  const endMs = (last?.after ?? world.initial).nowMs;
  return { choices, virtualMs: endMs - world.initial.nowMs, failing };
}

function firstFailing(world: World, checks: readonly Check[], move: Move): RandomRun['failing'] {
  for (const check of checks) {
    const sentence = violationIn(world, check, move);
    if (sentence !== undefined) return { check, sentence };
  }
  return undefined;
}

function chooser(random: Random): Choose {
  return (count) => Math.floor(random.next() * count);
}

/** One step in this many may be a fault. With equal probabilities all faults would happen at the start. */
const STEPS_A_FAULT = 12;

function seldomFaults(choose: Choose): Pick {
  return (choices) => {
    const faults = choices.findIndex(({ kind }) => FAULTS.has(kind));
    const progress = faults < 0 ? choices.length : faults;
    if (faults < 0 || choose(STEPS_A_FAULT) > 0) return choices[choose(progress)]!;
    return choices[progress + choose(choices.length - progress)]!;
  };
}

const FAULTS: ReadonlySet<string> = new Set(['crash', 'pause', 'lose', 'ahead', 'behind']);
