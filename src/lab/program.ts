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

/** What a client is told instead of a reply when the connection broke. */
export const LOST = Symbol('the reply was lost');
export type Told = Answer | boolean | undefined | typeof LOST;

/** How a client's run ended: by what it returned, or because it did not cope with a lost reply. */
export type Ending = Outcome | 'gave-up';

/**
 * A recipe's generator cannot be copied, but where it stands follows from what it was told. So a place
 * in a program is a node in a tree of tellings: to get to a new place the generator runs once more from
 * the start, is told the same again, and then the new thing. Each place is reached only once; after
 * that it is found in the tree.
 */
export class Position {
  readonly id: number;
  readonly program: Program;
  /** What the client marked on its way here. */
  readonly marks: readonly Mark[];
  /** What it waits to do; undefined when it ended. */
  readonly action: Step | SleepAction | undefined;
  readonly ending: Ending | undefined;
  readonly #told: readonly Told[];
  readonly #children = new Map<Told, Position>();
  /** After lists, by their text: one that looks like a text that was told is another. */
  readonly #childrenOfLists = new Map<string, Position>();

  constructor(program: Program, told: readonly Told[]) {
    const { marks, stop } = program.run(told);
    this.id = program.nextId();
    this.program = program;
    this.marks = marks;
    this.action = typeof stop === 'string' ? undefined : stop;
    this.ending = typeof stop === 'string' ? stop : undefined;
    this.#told = told;
  }

  /** Where the client is after it was told this. */
  after(told: Told): Position {
    return Array.isArray(told)
      ? this.#child(this.#childrenOfLists, JSON.stringify(told), told)
      : this.#child(this.#children, told, told);
  }

  #child<Key>(children: Map<Key, Position>, key: Key, told: Told): Position {
    const known = children.get(key);
    if (known !== undefined) return known;
    const child = new Position(this.program, [...this.#told, told]);
    children.set(key, child);
    return child;
  }
}

/** One client's way through a recipe, for one acquisition. */
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

  /** Runs the client from its start through all that it was told, up to where it waits or ends. */
  run(told: readonly Told[]): { marks: Mark[]; stop: Step | SleepAction | Ending } {
    if (told.length > MOST_STEPS) throw this.#fault(`never ends: it took ${MOST_STEPS} steps`);
    const client = this.#begin();
    let marks: Mark[] = [];
    let result = client.next();
    for (let at = 0; ; ) {
      if (result.done) return { marks, stop: this.#ending(result.value) };
      const action: Action = result.value;
      if (isMark(action)) {
        marks.push(action);
        result = client.next();
        continue;
      }
      if (at === told.length) return { marks, stop: action };
      marks = [];
      const next = tell(client, told[at++]);
      if (next === LOST) return { marks, stop: 'gave-up' };
      result = next;
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

/** More than any recipe takes in one acquisition. */
const MOST_STEPS = 1000;

function isMark(action: Action): action is Mark {
  return action.kind === 'enter' || action.kind === 'extend' || action.kind === 'leave';
}

/** The generator's next stop; LOST if it does not catch the loss of a reply. */
function tell(client: Client, told: Told): IteratorResult<Action, Outcome> | typeof LOST {
  if (told !== LOST) return client.next(told);
  try {
    return client.throw(new LostReply());
  } catch (error) {
    if (error instanceof LostReply) return LOST;
    throw error;
  }
}

/** Thrown into a recipe whose command happened, but whose reply did not arrive. */
class LostReply extends Error {
  override readonly name = 'LostReply';
}
