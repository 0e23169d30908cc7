import type { Text } from '../recipe.ts';
import type { State } from '../state.ts';
import type { Move, World } from '../world.ts';

export type CheckName =
  | 'two-live-leases'
  | 'two-awake-inside'
  | 'two-inside'
  | 'foreign-release'
  | 'held-for-ever'
  | 'held-by-none'
  | 'prolonged-by-loser'
  | 'late-write'
  | 'silent-loss'
  | 'fence-order'
  | 'out-of-turn'
  | 'waiter-not-served';

/** Something that must never happen, named for what went wrong. It looks either at states or at moves. */
export interface Check {
  readonly name: CheckName;
  /** What must never be. */
  readonly about: Text;
  /** It takes long, so that a random run is looked at only at its end. */
  readonly isCostly?: true;
  /** A sentence on what is wrong in this state, if something is. */
  readonly ofState?: (state: State, world: World) => Text | undefined;
  /** A sentence on what went wrong in this move, if something did. */
  readonly ofMove?: (move: Move) => Text | undefined;
}
