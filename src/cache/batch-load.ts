import { currentRunContext, type RunContext, withRunContext } from '../lock/index.ts';
import { type LoadContext, NOT_BEGUN } from './shared-load.ts';
import { Task } from './task.ts';

/** Returns a Map with a value for each key. The signal aborts when the leases of all keys are lost. */
export type LoadMany<Value> = (
  keys: readonly string[],
  context: { readonly signal: AbortSignal; readonly fences: ReadonlyMap<string, number> },
) => Promise<ReadonlyMap<string, Value>> | ReadonlyMap<string, Value>;

interface KeyRequest {
  readonly key: string;
  readonly context: LoadContext;
  readonly tasks: readonly Task[];
  /** The run() whose callback waits for the value. */
  readonly scope: RunContext | undefined;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

/**
 * Loads many keys in one call, which begins when it is known for each key whether this process loads it. A key
 * that has to be loaded later, because its loader has died, is a call of its own.
 */
export class BatchLoad {
  readonly #load: LoadMany<unknown>;
  readonly #undecided: Set<string>;
  readonly #isClosed: () => boolean;
  /** A key whose lease is lost before the call begins is requested again: the later request counts. */
  readonly #requests = new Map<string, KeyRequest>();

  constructor(load: LoadMany<unknown>, keys: readonly string[], isClosed: () => boolean) {
    this.#load = load;
    this.#isClosed = isClosed;
    this.#undecided = new Set(keys);
  }

  load(key: string, context: LoadContext): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const [tasks, scope] = [Task.current, currentRunContext()];
      this.#requests.set(key, { key, context, tasks, scope, resolve, reject });
      this.decided(key);
    });
  }

  /** Called when it is known whether this process loads the key. */
  decided(key: string): void {
    this.#undecided.delete(key);
    if (this.#undecided.size > 0) return;
    const requests = [...this.#requests.values()].filter(({ context }) => !context.signal.aborted);
    this.#requests.clear();
    if (requests.length > 0) void this.#loadAll(requests);
  }

  async #loadAll(requests: readonly KeyRequest[]): Promise<void> {
    const keys = requests.map(({ key }) => key);
    const fences = new Map(requests.map(({ key, context }) => [key, context.fence]));
    const signal = whenAllAborted(requests.map(({ context }) => context.signal));
    const tasks = requests.flatMap((each) => each.tasks);
    const waiting = requests.find(({ scope }) => scope !== undefined);
    const load = async (): Promise<ReadonlyMap<string, unknown>> =>
      withRunContext(waiting?.scope, () => this.#load(keys, { signal, fences }));
    try {
      if (this.#isClosed()) throw NOT_BEGUN;
      const values = await Task.run(tasks, load);
      if (!(values instanceof Map)) throw new TypeError('a batch load must return a Map');
      for (const each of requests) settle(each, values);
    } catch (error) {
      for (const { reject } of requests) reject(error);
    }
  }
}

function settle({ key, resolve, reject }: KeyRequest, values: ReadonlyMap<string, unknown>): void {
  if (values.has(key)) resolve(values.get(key));
  else reject(new Error(`the batch load returned no value for '${key}'`));
}

/**
 * Counts aborts instead of checking all signals again: reading `aborted` of a lease's signal checks the clock and
 * may abort it. After a pause each abort would trigger the next one, thousands of frames deep.
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
