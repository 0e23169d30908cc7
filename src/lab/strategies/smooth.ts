import type { Check } from '../checks/check.ts';
import type { Choice } from '../choice.ts';
import type { World } from '../world.ts';
import { violationIn } from './violation.ts';

/**
 * Reorders a failing run so that it is easier to read: moves steps next to other steps of the same client,
 * as long as the same check still fails after the last step. The length stays the same.
 */
export function smooth(world: World, check: Check, failing: readonly Choice[]): readonly Choice[] {
  let best = failing;
  for (let better: readonly Choice[] | undefined = best; better !== undefined; ) {
    best = better;
    better = smoother(world, check, best);
  }
  return best;
}

function smoother(world: World, check: Check, choices: readonly Choice[]): Choice[] | undefined {
  const turns = countTurns(choices);
  for (let from = 0; from < choices.length; from++) {
    for (let to = 0; to < choices.length; to++) {
      const candidate = choices.toSpliced(from, 1).toSpliced(to, 0, choices[from]!);
      if (countTurns(candidate) < turns && failsAtEnd(world, check, candidate)) return candidate;
    }
  }
  return undefined;
}

/** The number of changes from one client to another. Skewed clocks are not attributed to a client. */
function countTurns(choices: readonly Choice[]): number {
  const actors = choices.map(({ kind, client }) =>
    kind === 'ahead' || kind === 'behind' ? kind : client,
  );
  return actors.filter((actor, index) => actor !== actors[index - 1]).length;
}

function failsAtEnd(world: World, check: Check, choices: readonly Choice[]): boolean {
  let state = world.initial;
  for (const [index, choice] of choices.entries()) {
    if (!world.choices(state).includes(choice)) return false;
    const move = world.step(state, choice);
    if (violationIn(world, check, move) !== undefined) return index === choices.length - 1;
    state = move.after;
  }
  return false;
}
