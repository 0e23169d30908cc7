import type {
  Answer,
  ConsoleReply,
  Fault,
  RecipeSource,
  Request,
  Run,
  SearchResult,
  WorldChange,
} from './messages.ts';

/** A failure of a recipe: `fault` has its place. */
export class RecipeFault extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.message);
    this.fault = fault;
  }
}

/** Sends requests to a worker, and resolves with its answers. */
class Desk {
  readonly #worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' });
  readonly #pending = new Map<number, Pending>();
  #lastId = 0;

  constructor() {
    this.#worker.onmessage = ({ data }: MessageEvent<Answer>) => this.#receive(data);
    this.#worker.onerror = ({ message }) => this.#fail(message);
  }

  ask<Result>(request: Question, onProgress?: Pending['onProgress']): Promise<Result> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve: resolve as (result: unknown) => void, reject, onProgress });
      this.#worker.postMessage({ ...request, id });
    });
  }

  end(): void {
    this.#worker.terminate();
    this.#pending.clear();
  }

  #receive(answer: Answer): void {
    const pending = this.#pending.get(answer.id);
    if (answer.kind === 'progress') {
      pending?.onProgress?.(answer.states, answer.seconds);
      return;
    }
    this.#pending.delete(answer.id);
    if (answer.kind === 'done') pending?.resolve(answer.result);
    else pending?.reject(new RecipeFault(answer.fault));
  }

  #fail(message: string): void {
    const fault = { message: message || 'The worker has stopped.', line: null, column: null };
    for (const { reject } of this.#pending.values()) reject(new RecipeFault(fault));
    this.#pending.clear();
  }
}

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: RecipeFault) => void;
  readonly onProgress: ((states: number, seconds: number) => void) | undefined;
}

type WithoutId<Each> = Each extends unknown ? Omit<Each, 'id'> : never;
type Question = WithoutId<Request>;

let desk: Desk | undefined;

/** The worker for everything that is quick. It starts with the first request. */
function quickDesk(): Desk {
  desk ??= new Desk();
  return desk;
}

export function replayRun(
  source: RecipeSource,
  world: WorldChange,
  schedule: string,
): Promise<Run> {
  return quickDesk().ask({ kind: 'replay', source, world, schedule });
}

export function runCommand(client: string, line: string): Promise<readonly ConsoleReply[]> {
  return quickDesk().ask({ kind: 'command', client, line });
}

export function waitFor(durationMs: number): Promise<readonly ConsoleReply[]> {
  return quickDesk().ask({ kind: 'wait', durationMs });
}

export function clearStore(): Promise<unknown> {
  return quickDesk().ask({ kind: 'clear' });
}

/** A search in a worker of its own, so that it can be cancelled at once. */
export interface Search {
  readonly result: Promise<SearchResult>;
  cancel(): void;
}

export function startSearch(
  source: RecipeSource,
  world: WorldChange,
  onProgress: (states: number, seconds: number) => void,
): Search {
  const own = new Desk();
  const result = own.ask<SearchResult>({ kind: 'search', source, world }, onProgress);
  return { result: result.finally(() => own.end()), cancel: () => own.end() };
}
