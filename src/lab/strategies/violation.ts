import type { Check } from '../checks/check.ts';
import type { Text } from '../recipe.ts';
import type { Move, World } from '../world.ts';

/** What a check says of a move and of the state that it leads to. */
export function violationIn(world: World, check: Check, move: Move): Text | undefined {
  return check.ofMove?.(move) ?? check.ofState?.(move.after, world);
}
