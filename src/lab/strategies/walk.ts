import type { Choice } from '../choice.ts';
import type { Move, World } from '../world.ts';

/** Returns a number from 0 to `count - 1`: the next one of an odometer, or a random one. */
export type Choose = (count: number) => number;

/** Picks one of the possible choices. */
export type Pick = (choices: readonly Choice[]) => Choice;

/**
 * Makes one run from the first state until no choice is left or `visit` returns false. `pick` decides each
 * step: an odometer enumerates all runs, a random generator draws one.
 */
export function walk(world: World, pick: Pick, visit: (move: Move) => boolean): void {
  let state = world.initial;
  for (let goesOn = true; goesOn; ) {
    const choices = world.choices(state);
    if (choices.length === 0) return;
    const move = world.step(state, pick(choices));
    goesOn = visit(move);
    state = move.after;
  }
}

/** Picks with equal probability. */
export function evenly(choose: Choose): Pick {
  return (choices) => choices[choose(choices.length)]!;
}
