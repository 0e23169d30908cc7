import type { Check } from '../checks/check.ts';
import type { Choice } from '../choice.ts';
import type { World } from '../world.ts';
import { violationIn } from './violation.ts';

/**
 * Shortens a failing run (delta debugging): leaves out pieces, large ones first, and the choices that are
 * no longer possible after that. No single step of the result can be left out. It may not be a shortest
 * run; only the exhaustive search finds that.
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

/** The first failing run that is shorter because one piece of this size is left out. */
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

/** Applies the possible ones of these choices until the check fails. Undefined if it never does. */
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
