import type { Check, CheckName } from '../checks/check.ts';
import type { Choice } from '../choice.ts';
import { type State, stateKey } from '../state.ts';
import type { World } from '../world.ts';
import { countPaths, type Graph, type IsOpen, probabilityOfPaths } from './count-paths.ts';

export interface Exhaustion {
  /** A shortest schedule to the first failure of each check that failed. */
  readonly failures: ReadonlyMap<CheckName, readonly Choice[]>;
  readonly states: number;
  readonly moves: number;
  /** Complete runs, from the first state to one without choices. */
  readonly interleavings: bigint;
  /** The runs in which at least one of these checks fails. */
  readonly failing: (checks: readonly CheckName[]) => FailingRuns;
  /** False if the search was stopped before it had visited every state. */
  readonly isComplete: boolean;
}

export interface FailingRuns {
  readonly interleavings: bigint;
  /** The probability that a run fails if each step is drawn at random from the possible choices. */
  readonly chance: number;
}

export interface Limits {
  readonly mostStates: number;
  /** Called every `PROGRESS_EVERY` states; false stops the search. */
  readonly onProgress: (seen: Seen) => boolean;
}

export interface Seen {
  readonly states: number;
  readonly moves: number;
  /** Counts the runs from the first state to a state that is not expanded yet, or to their end. Slow. */
  readonly interleavings: () => bigint;
}

/**
 * Breadth-first search through every reachable state, so that the first failure of a check is a shortest
 * one. Runs that reach the same state have the same futures, so each state is expanded once. The number
 * of complete runs is still exact: the graph is acyclic, because every move uses up a step, a fault or
 * time, and so the number is a sum over its edges.
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
  /** States that are not expanded yet; undefined after that, to free the memory. */
  readonly #states: (State | undefined)[] = [];
  /** The checks that fail in each state: one bit for each check. */
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

  /** All runs minus those that take only moves in which none of the checks fails. */
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
      chance: failing === 0n ? 0 : 1 - probabilityOfPaths(graph, isClean),
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

  /** Returns the state's number. A new state gets the next number and is checked. */
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

  /** Returns the checks that fail, one bit for each, and keeps the first failure of each check. */
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
