import { currentRunContext, type RunContext, withRunContext } from '../lock/index.ts';
import { type LoadContext, NOT_BEGUN } from './flight.ts';
import { Task } from './task.ts';

/** Gives a Map with a value for each of the keys. The signal aborts when all of them are lost. */
export type LoadMany<Value> = (
  keys: readonly string[],
  context: { readonly signal: AbortSignal; readonly fences: ReadonlyMap<string, number> },
) => Promise<ReadonlyMap<string, Value>> | ReadonlyMap<string, Value>;

interface Wanted {
  readonly key: string;
  readonly context: LoadContext;
  readonly tasks: readonly Task[];
  /** The body of a run() that waits for it. */
  readonly scope: RunContext | undefined;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * The loads of several keys as one: it begins as soon as it is known of each key whether this process
 * loads it. A key that turns out to need it later, since its loader has died, is a load of its own.
 */
export class Gathering {
  readonly #load: LoadMany<unknown>;
  readonly #undecided: Set<string>;
  readonly #isClosed: () => boolean;
  /** A key that is lost while the others are gathered is asked for again: the later one counts. */
  readonly #wanted = new Map<string, Wanted>();

  constructor(load: LoadMany<unknown>, keys: readonly string[], isClosed: () => boolean) {
    this.#load = load;
    this.#isClosed = isClosed;
    this.#undecided = new Set(keys);
  }

  load(key: string, context: LoadContext): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const [tasks, scope] = [Task.current, currentRunContext()];
      this.#wanted.set(key, { key, context, tasks, scope, resolve, reject });
      this.decided(key);
    });
  }

  /** It is known whether this key is loaded here. */
  decided(key: string): void {
    this.#undecided.delete(key);
    if (this.#undecided.size > 0) return;
    const wanted = [...this.#wanted.values()].filter(({ context }) => !context.signal.aborted);
    this.#wanted.clear();
    if (wanted.length > 0) void this.#loadAll(wanted);
  }

  async #loadAll(wanted: readonly Wanted[]): Promise<void> {
    const keys = wanted.map(({ key }) => key);
    const fences = new Map(wanted.map(({ key, context }) => [key, context.fence]));
    const signal = whenAllAborted(wanted.map(({ context }) => context.signal));
    const tasks = wanted.flatMap((each) => each.tasks);
    const waiting = wanted.find(({ scope }) => scope !== undefined);
    const load = async (): Promise<ReadonlyMap<string, unknown>> =>
      withRunContext(waiting?.scope, () => this.#load(keys, { signal, fences }));
    try {
      if (this.#isClosed()) throw NOT_BEGUN;
      const values = await Task.run(tasks, load);
      if (!(values instanceof Map)) throw new TypeError('the load of several keys gives a Map');
      for (const each of wanted) settle(each, values);
    } catch (error) {
      for (const { reject } of wanted) reject(error);
    }
  }
}

function settle({ key, resolve, reject }: Wanted, values: ReadonlyMap<string, unknown>): void {
  if (values.has(key)) resolve(values.get(key));
  else reject(new Error(`the load gave no value for '${key}'`));
}

/**
 * They are counted, and not looked at again: a signal of a lease looks at the clock when it is asked, and may
 * abort by that. After a pause each would ask for the next, thousands deep.
 */
function whenAllAborted(signals: readonly AbortSignal[]): AbortSignal {
  const controller = new AbortController();
  let leftCount = signals.length;
  const aborted = (): void => {
    if (--leftCount === 0) controller.abort(signals[0]?.reason);
  };
  for (const signal of signals) {
    if (signal.aborted) aborted();
    else signal.addEventListener('abort', aborted, { once: true });
  }
  return controller.signal;
}
