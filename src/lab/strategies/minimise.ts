import type { Check } from '../checks/check.ts';
import type { Choice } from '../choice.ts';
import type { World } from '../world.ts';
import { violationIn } from './violation.ts';

/**
 * A shorter run in which the same check still fails: pieces are left out, large ones first, and what no
 * longer fits after that is left out too. The result has no single step too many, though there may be
 * another run that is shorter still; only the exhaustive search knows the shortest.
 */
export function minimise(world: World, check: Check, failing: readonly Choice[]): Choice[] {
  let shortest = failingPart(world, check, failing) ?? [...failing];
  for (let size = shortest.length >> 1; size > 0; ) {
    const shorter = withoutPiece(world, check, shortest, size);
    if (shorter === undefined) size >>= 1;
    else shortest = shorter;
  }
  return shortest;
}

/** The first shorter run that some piece of that size can be left out for. */
function withoutPiece(
  world: World,
  check: Check,
  choices: readonly Choice[],
  size: number,
): Choice[] | undefined {
  for (let at = 0; at < choices.length; at += size) {
    const candidate = [...choices.slice(0, at), ...choices.slice(at + size)];
    const part = failingPart(world, check, candidate);
    if (part !== undefined && part.length < choices.length) return part;
  }
  return undefined;
}

/** What happens of the choices, each one that fits, up to where the check fails; undefined if it never does. */
function failingPart(world: World, check: Check, choices: readonly Choice[]): Choice[] | undefined {
  const taken: Choice[] = [];
  let state = world.initial;
  for (const choice of choices) {
    if (!world.choices(state).includes(choice)) continue;
    const move = world.step(state, choice);
    taken.push(choice);
    if (violationIn(world, check, move) !== undefined) return taken;
    state = move.after;
  }
  return undefined;
}
