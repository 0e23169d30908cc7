import { LOCK_SCRIPT } from '../../stores/index.ts';
import { holdfastView } from '../holdfast-view.ts';
import type { CommandAction } from '../recipe.ts';
import { type Image, type Result, Store } from '../store.ts';
import type { Request } from './client.ts';
import type { Scenario } from './scenario.ts';

/** The cache is cleared when it holds this many results. */
const MAX_RESULTS = 300_000;

/**
 * The store for all runs of a scenario. The effect of a request depends only on the keys and the time, and
 * runs with a common prefix share its requests: the engine executes each of them once.
 */
export class SharedStore {
  readonly #scenario: Scenario;
  readonly #remembers: boolean;
  #store: Store;
  #actions = new Map<string, CommandAction>();

  constructor(scenario: Scenario, remembers = true) {
    this.#scenario = scenario;
    this.#remembers = remembers;
    this.#store = this.#open();
  }

  /** The image at the start of a run. */
  begin(): Image {
    if (this.#store.executed > MAX_RESULTS) {
      this.#store = this.#open();
      this.#actions = new Map();
    }
    return this.#store.empty;
  }

  run(image: Image, nowMs: number, request: Request): Result {
    return this.#store.run(image, nowMs, this.#action(request));
  }

  at(image: Image, nowMs: number): Image {
    return this.#store.at(image, nowMs);
  }

  #open(): Store {
    const { name, key } = this.#scenario;
    return new Store({ name, lockKey: key, view: holdfastView(key) }, this.#remembers);
  }

  /** Returns the same action object for equal arguments, since the store memoizes by identity. */
  #action({ keys, args }: Request): CommandAction {
    let id = '';
    for (const key of keys) id += `${key}\n`;
    for (const arg of args) id += `${arg}\n`;
    const known = this.#actions.get(id);
    if (known !== undefined) return known;
    const argv = ['EVAL', LOCK_SCRIPT, String(keys.length), ...keys, ...args];
    const action: CommandAction = { kind: 'command', lines: [argv] };
    this.#actions.set(id, action);
    return action;
  }
}
