import {
  copyOf,
  initialState,
  keyOf,
  type ModelState,
  type ModelStep,
  type QuorumModel,
  stepsOf,
} from './quorum-model.ts';

/** The result of a search through all states of a model. */
export interface QuorumSearch {
  readonly states: number;
  /** A shortest schedule that breaks the order of the fences. Undefined: none does. */
  readonly failure: QuorumFailure | undefined;
}

export interface QuorumFailure {
  readonly steps: readonly string[];
  readonly violation: string;
}

/** Searches all states, breadth first, so that the first failure has the fewest steps. */
export function searchQuorum(model: QuorumModel): QuorumSearch {
  const first = initialState(model);
  const firstKey = keyOf(first);
  /** The key of the state before each state. */
  const previous = new Map<string, string | undefined>([[firstKey, undefined]]);
  let layer: (readonly [string, ModelState])[] = [[firstKey, first]];
  while (layer.length > 0) {
    const next: (readonly [string, ModelState])[] = [];
    for (const [key, state] of layer) {
      for (const step of stepsOf(model, state)) {
        const after = performed(state, step);
        const afterKey = keyOf(after);
        if (previous.has(afterKey)) continue;
        previous.set(afterKey, key);
        if (after.violation !== '') {
          return { states: previous.size, failure: replay(model, pathTo(afterKey, previous)) };
        }
        next.push([afterKey, after]);
      }
    }
    layer = next;
  }
  return { states: previous.size, failure: undefined };
}

function performed(state: ModelState, step: ModelStep): ModelState {
  const after = copyOf(state);
  step.run(after);
  return after;
}

function pathTo(key: string, previous: ReadonlyMap<string, string | undefined>): string[] {
  const path: string[] = [];
  for (let at: string | undefined = key; at !== undefined; at = previous.get(at)) path.push(at);
  return path.reverse().slice(1);
}

/** Keys do not name the nodes: walks along them from the start, so that each node keeps its name. */
function replay(model: QuorumModel, path: readonly string[]): QuorumFailure {
  let state = initialState(model);
  const steps: string[] = [];
  for (const key of path) {
    const found = stepsOf(model, state)
      .map((step) => ({ step, after: performed(state, step) }))
      .find(({ after }) => keyOf(after) === key)!;
    steps.push(found.step.text());
    state = found.after;
  }
  return { steps, violation: state.violation };
}
