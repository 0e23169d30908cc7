import type { Check, CheckName } from '../checks/check.ts';
import type { Choice } from '../choice.ts';
import { type State, stateKey } from '../state.ts';
import type { World } from '../world.ts';
import { chanceOfPaths, countPaths, type Graph, type IsOpen } from './count-paths.ts';

export interface Exhaustion {
  /** The first failure of each check that failed, with a shortest way to it. */
  readonly failures: ReadonlyMap<CheckName, readonly Choice[]>;
  readonly states: number;
  readonly moves: number;
  /** Complete runs from the first state to where nothing more can happen. */
  readonly interleavings: bigint;
  /** In how many of them at least one of these checks fails. */
  readonly failing: (checks: readonly CheckName[]) => FailingRuns;
  /** False if the search was stopped before it had seen every state. */
  readonly isComplete: boolean;
}

export interface FailingRuns {
  readonly interleavings: bigint;
  /** The share of runs in which each next step is drawn at random from those that are possible. */
  readonly chance: number;
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
  readonly #checks: readonly Check[];
  readonly #failures = new Map<CheckName, readonly Choice[]>();
  readonly #numbers = new Map<string, number>();
  /** Dropped once expanded. */
  readonly #states: (State | undefined)[] = [];
  /** The checks that fail in each state: one bit a check. */
  readonly #faultsOfStates: number[] = [];
  /** How each state was first reached. */
  readonly #parents: number[] = [];
  readonly #choices: (Choice | undefined)[] = [];
  /** The moves of state n lead to `targets` from `firstTargets[n]` up to `firstTargets[n + 1]`. */
  readonly #targets: number[] = [];
  readonly #firstTargets: number[] = [];
  /** The checks that fail in each move, or in the state that it leads to. */
  readonly #faultsOfMoves: number[] = [];

  constructor(world: World, checks: readonly Check[]) {
    this.#world = world;
    this.#checks = checks;
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
    const graph = { firstTargets: this.#firstTargets, targets: this.#targets, known: expanded };
    const interleavings = countPaths(graph);
    return {
      failures: this.#failures,
      states,
      moves: this.#targets.length,
      interleavings,
      failing: (names) => this.#failing(names, graph, interleavings),
      isComplete: expanded === states,
    };
  }

  /** All runs, without those that take only moves in which none of the checks fails. */
  #failing(names: readonly CheckName[], graph: Graph, interleavings: bigint): FailingRuns {
    let bits = 0;
    for (const [index, { name }] of this.#checks.entries()) {
      if (names.includes(name)) bits |= 1 << index;
    }
    if ((this.#faultsOfStates[0]! & bits) !== 0) return { interleavings, chance: 1 };
    const isClean: IsOpen = (move) => (this.#faultsOfMoves[move]! & bits) === 0;
    const failing = interleavings - countPaths(graph, isClean);
    return {
      interleavings: failing,
      chance: failing === 0n ? 0 : 1 - chanceOfPaths(graph, isClean),
    };
  }

  #seen(expanded: number): Seen {
    return {
      states: expanded,
      moves: this.#targets.length,
      interleavings: () => {
        const states = this.#states.length;
        const unexpanded = new Array<number>(states - expanded).fill(this.#targets.length);
        const firstTargets = [...this.#firstTargets, ...unexpanded];
        return countPaths({ firstTargets, targets: this.#targets, known: states });
      },
    };
  }

  #expand(index: number): void {
    const state = this.#states[index]!;
    this.#states[index] = undefined;
    this.#firstTargets.push(this.#targets.length);
    for (const choice of this.#world.choices(state)) {
      const move = this.#world.step(state, choice);
      const faults = this.#faultsOf(
        (check) => check.ofMove?.(move) !== undefined,
        () => [...this.#wayTo(index), choice],
      );
      const target = this.#number(move.after, index, choice);
      this.#targets.push(target);
      this.#faultsOfMoves.push(faults | this.#faultsOfStates[target]!);
    }
  }

  /** The state's number; a state that is new gets the next one and is checked. */
  #number(state: State, parent: number, choice: Choice | undefined): number {
    const key = stateKey(state);
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    const number = this.#states.push(state) - 1;
    this.#numbers.set(key, number);
    this.#parents.push(parent);
    this.#choices.push(choice);
    const faults = this.#faultsOf(
      (check) => check.ofState?.(state, this.#world) !== undefined,
      () => this.#wayTo(number),
    );
    this.#faultsOfStates.push(faults);
    return number;
  }

  /** The checks that fail, one bit each; of each the first failure is kept. */
  #faultsOf(fails: (check: Check) => boolean, wayThere: () => readonly Choice[]): number {
    let faults = 0;
    for (const [index, check] of this.#checks.entries()) {
      if (!fails(check)) continue;
      faults |= 1 << index;
      if (!this.#failures.has(check.name)) this.#failures.set(check.name, wayThere());
    }
    return faults;
  }

  #wayTo(index: number): Choice[] {
    const choices: Choice[] = [];
    for (let at = index; this.#choices[at] !== undefined; at = this.#parents[at]!) {
      choices.push(this.#choices[at]!);
    }
    return choices.reverse();
  }
}
