import type { Check } from '../checks/check.ts';
import type { Text } from '../recipe.ts';
import type { Move, World } from '../world.ts';

/** The sentence of a check about a move, or about the state after it. Undefined if the check holds. */
export function violationIn(world: World, check: Check, move: Move): Text | undefined {
  return check.ofMove?.(move) ?? check.ofState?.(move.after, world);
}
