import type { Choice } from '../choice.ts';
import type { Move, World } from '../world.ts';

/** The one source of chance: which of `count` possibilities, from 0. */
export type Choose = (count: number) => number;

/** Which of the things that can happen does. */
export type Pick = (choices: readonly Choice[]) => Choice;

/**
 * One run from the first state until nothing more can happen or `visit` returns false. What the run is
 * like follows from `pick`: an odometer goes through all runs, a generator draws one at random.
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

/** Everything that can happen is as likely as everything else. */
export function evenly(choose: Choose): Pick {
  return (choices) => choices[choose(choices.length)]!;
}
