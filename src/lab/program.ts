import { LabError } from './lab-error.ts';
import type {
  Action,
  Algorithm,
  Answer,
  Client,
  Mark,
  Outcome,
  SleepAction,
  Step,
} from './recipe.ts';
import { toolsFor } from './tools.ts';

/** The result of a step whose reply was lost. */
export const LOST = Symbol('the reply was lost');
export type StepResult = Answer | boolean | undefined | typeof LOST;

/** How a client's run ended: the outcome that it returned, or `gave-up` if it did not catch a lost reply. */
export type Ending = Outcome | 'gave-up';

/**
 * A point in a client's program at which it waits for the result of a step. A generator cannot be copied,
 * but its position follows from the results that it has received. Positions form a tree: the child for a
 * new result is made by running the generator again from its start with all results so far. Each position
 * is computed once.
 */
export class Position {
  readonly id: number;
  readonly program: Program;
  /** The marks since the previous position. */
  readonly marks: readonly Mark[];
  /** The action that comes next; undefined if the client has ended. */
  readonly action: Step | SleepAction | undefined;
  readonly ending: Ending | undefined;
  readonly #results: readonly StepResult[];
  readonly #children = new Map<StepResult, Position>();
  /** Children after a list, by its JSON. A separate map, since a string result may look like that JSON. */
  readonly #childrenOfLists = new Map<string, Position>();

  constructor(program: Program, results: readonly StepResult[]) {
    const { marks, stop } = program.run(results);
    this.id = program.nextId();
    this.program = program;
    this.marks = marks;
    this.action = typeof stop === 'string' ? undefined : stop;
    this.ending = typeof stop === 'string' ? stop : undefined;
    this.#results = results;
  }

  /** The position after this result. */
  after(result: StepResult): Position {
    return Array.isArray(result)
      ? this.#child(this.#childrenOfLists, JSON.stringify(result), result)
      : this.#child(this.#children, result, result);
  }

  #child<Key>(children: Map<Key, Position>, key: Key, result: StepResult): Position {
    const known = children.get(key);
    if (known !== undefined) return known;
    const child = new Position(this.program, [...this.#results, result]);
    children.set(key, child);
    return child;
  }
}

/** One client's program for one acquisition. */
export class Program {
  readonly start: Position;
  readonly #recipe: Algorithm;
  readonly #begin: () => Client;
  readonly #clientName: string;
  readonly #ids: { next: number };

  constructor(
    recipe: Algorithm,
    variant: string,
    clientName: string,
    round: number,
    ids: { next: number },
  ) {
    this.#recipe = recipe;
    this.#clientName = clientName;
    this.#ids = ids;
    this.#begin = () => recipe.client(toolsFor(clientName, round, variant));
    this.start = new Position(this, []);
  }

  nextId(): number {
    return this.#ids.next++;
  }

  /** Runs the client from its start with these results, until it waits for the next one or ends. */
  run(results: readonly StepResult[]): { marks: Mark[]; stop: Step | SleepAction | Ending } {
    if (results.length > MAX_STEPS) throw this.#fault(`never ends: it took ${MAX_STEPS} steps`);
    const client = this.#begin();
    let marks: Mark[] = [];
    let yielded = client.next();
    for (let at = 0; ; ) {
      if (yielded.done) return { marks, stop: this.#ending(yielded.value) };
      const action: Action = yielded.value;
      if (isMark(action)) {
        marks.push(action);
        yielded = client.next();
        continue;
      }
      if (at === results.length) return { marks, stop: action };
      marks = [];
      const next = resume(client, results[at++]);
      if (next === LOST) return { marks, stop: 'gave-up' };
      yielded = next;
    }
  }

  #ending(outcome: Outcome): Outcome {
    if (outcome === 'done' || outcome === 'busy' || outcome === 'lost') return outcome;
    throw this.#fault(`must return done, busy or lost, not ${outcome}`);
  }

  #fault(text: string): LabError {
    return new LabError(`client ${this.#clientName} of ${this.#recipe.name} ${text}`);
  }
}

/** More steps than any recipe of the gallery takes in one acquisition. */
const MAX_STEPS = 1000;

function isMark(action: Action): action is Mark {
  return action.kind === 'enter' || action.kind === 'extend' || action.kind === 'leave';
}

/** Passes a result to the generator. Returns LOST if the generator does not catch the error of a lost reply. */
function resume(client: Client, result: StepResult): IteratorResult<Action, Outcome> | typeof LOST {
  if (result !== LOST) return client.next(result);
  try {
    return client.throw(new LostReply());
  } catch (error) {
    if (error instanceof LostReply) return LOST;
    throw error;
  }
}

/** Thrown into a recipe if the store executed its command and the reply was lost. */
class LostReply extends Error {
  override readonly name = 'LostReply';
}
