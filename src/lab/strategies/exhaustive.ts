import type { Check, CheckName } from '../checks/check.ts';
import type { Choice } from '../choice.ts';
import { type State, stateKey } from '../state.ts';
import type { Move, World } from '../world.ts';
import { countPaths } from './count-paths.ts';

export interface Exhaustion {
  /** The first failure of each check that failed, with a shortest way to it. */
  readonly failures: ReadonlyMap<CheckName, readonly Choice[]>;
  readonly states: number;
  readonly moves: number;
  /** Complete runs from the first state to where nothing more can happen. */
  readonly interleavings: bigint;
  /** False if the search was stopped before it had seen every state. */
  readonly isComplete: boolean;
}

export interface Limits {
  readonly mostStates: number;
  /** Called now and then with what was seen so far; false stops the search. */
  readonly onProgress: (seen: Seen) => boolean;
}

export interface Seen {
  readonly states: number;
  readonly moves: number;
  /** Runs from the first state to where the search is, or to their end before. Counted when asked. */
  readonly interleavings: () => bigint;
}

/**
 * Breadth first through every state that can be reached, so that the first failure of a check is one of
 * its shortest. Two runs that lead to the same state have the same futures, so a state is expanded once
 * however many runs lead to it. Those runs are not lost count of: the graph has no circle, because every
 * move spends a step, a fault or a second, and so the number of complete runs is a sum over its edges.
 */
export function exhaust(world: World, checks: readonly Check[], limits: Limits): Exhaustion {
  return new Search(world, checks).run(limits);
}

const PROGRESS_EVERY = 4096;

class Search {
  readonly #world: World;
  readonly #open: Set<Check>;
  readonly #failures = new Map<CheckName, readonly Choice[]>();
  readonly #numbers = new Map<string, number>();
  /** Let go of once expanded. */
  readonly #states: (State | undefined)[] = [];
  /** How each state was first reached. */
  readonly #parents: number[] = [];
  readonly #choices: (Choice | undefined)[] = [];
  /** The moves of state n lead to `targets` from `firstTargets[n]` up to `firstTargets[n + 1]`. */
  readonly #targets: number[] = [];
  readonly #firstTargets: number[] = [];

  constructor(world: World, checks: readonly Check[]) {
    this.#world = world;
    this.#open = new Set(checks);
  }

  run({ mostStates, onProgress }: Limits): Exhaustion {
    this.#number(this.#world.initial, -1, undefined);
    let expanded = 0;
    for (let goesOn = true; goesOn && expanded < this.#states.length; expanded++) {
      this.#expand(expanded);
      if (expanded % PROGRESS_EVERY === 0) goesOn = onProgress(this.#seen(expanded));
      goesOn &&= this.#states.length <= mostStates;
    }
    const states = this.#states.length;
    for (let at = expanded; at <= states; at++) this.#firstTargets.push(this.#targets.length);
    return {
      failures: this.#failures,
      states,
      moves: this.#targets.length,
      interleavings: countPaths(this.#firstTargets, this.#targets, expanded),
      isComplete: expanded === states,
    };
  }

  #seen(expanded: number): Seen {
    return {
      states: expanded,
      moves: this.#targets.length,
      interleavings: () => {
        const states = this.#states.length;
        const unexpanded = new Array<number>(states - expanded).fill(this.#targets.length);
        return countPaths([...this.#firstTargets, ...unexpanded], this.#targets, states);
      },
    };
  }

  #expand(index: number): void {
    const state = this.#states[index]!;
    this.#states[index] = undefined;
    this.#firstTargets.push(this.#targets.length);
    for (const choice of this.#world.choices(state)) {
      const move = this.#world.step(state, choice);
      this.#checkMove(move, index);
      this.#targets.push(this.#number(move.after, index, choice));
    }
  }

  /** The state's number; a state that is new gets the next one and is looked at. */
  #number(state: State, parent: number, choice: Choice | undefined): number {
    const key = stateKey(state);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.#states.push(state) - 1;
    this.#numbers.set(key, number);
    this.#parents.push(parent);
    this.#choices.push(choice);
    for (const check of this.#open) {
      if (check.ofState?.(state, this.#world)) this.#fail(check, this.#wayTo(number));
    }
    return number;
  }

  #checkMove(move: Move, from: number): void {
    for (const check of this.#open) {
      if (check.ofMove?.(move)) this.#fail(check, [...this.#wayTo(from), move.choice]);
    }
  }

  #fail(check: Check, choices: readonly Choice[]): void {
    this.#open.delete(check);
    this.#failures.set(check.name, choices);
  }

  #wayTo(index: number): Choice[] {
    const choices: Choice[] = [];
    for (let at = index; this.#choices[at] !== undefined; at = this.#parents[at]!) {
      choices.push(this.#choices[at]!);
    }
    return choices.reverse();
  }
}
