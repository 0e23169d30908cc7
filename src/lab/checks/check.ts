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

/** Something that must never happen, named for the failure. A check examines either states or moves. */
export interface Check {
  readonly name: CheckName;
  /** The failure, in one sentence. */
  readonly about: Text;
  /** Slow: a random run makes this check only at its end. */
  readonly isCostly?: true;
  /** Returns a sentence if the check fails in this state. */
  readonly ofState?: (state: State, world: World) => Text | undefined;
  /** Returns a sentence if the check fails in this move. */
  readonly ofMove?: (move: Move) => Text | undefined;
}
