import { AsyncLocalStorage } from 'node:async_hooks';

const running = new AsyncLocalStorage<readonly Task[]>();
const NONE: readonly Task[] = [];

/**
 * A load, as work that others wait for and that may itself wait for others. Who waits for whom is noted, so
 * that a circle is seen when its last link is about to be made; else it would stand until somebody's
 * patience ends. Only links inside this process are known.
 */
export class Task {
  readonly #place: object;
  readonly #key: string;
  /** What its own code waits for now. */
  readonly #links = new Set<{ readonly to: Task }>();

  /** Two tasks for one key in one place exclude each other, so they count as the same. */
  constructor(place: object, key: string) {
    this.#place = place;
    this.#key = key;
  }

  /** Those that the running code belongs to: none outside of loads, several in a load of several keys. */
  static get current(): readonly Task[] {
    return running.getStore() ?? NONE;
  }

  static run<Result>(tasks: readonly Task[], body: () => Result): Result {
    return running.run(tasks, body);
  }

  /** The running code waits for this from now on. Gives what ends that; undefined: it would wait for itself. */
  link(): (() => void) | undefined {
    const { current } = Task;
    if (current.some((task) => this.#waitsFor(task, new Set()))) return undefined;
    const link = { to: this };
    for (const task of current) task.#links.add(link);
    return () => {
      for (const task of current) task.#links.delete(link);
    };
  }

  #waitsFor(other: Task, seen: Set<Task>): boolean {
    if (this.#key === other.#key && this.#place === other.#place) return true;
    seen.add(this);
    for (const { to } of this.#links) if (!seen.has(to) && to.#waitsFor(other, seen)) return true;
    return false;
  }
}
