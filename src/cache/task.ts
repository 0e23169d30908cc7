import { AsyncLocalStorage } from 'node:async_hooks';

/** What the running code belongs to, until that is over: code may outlive the load that has started it. */
interface Scope {
  tasks: readonly Task[];
}

interface Link {
  readonly to: Task;
}

const running = new AsyncLocalStorage<Scope>();
const NONE: readonly Task[] = [];

/** What the loads of a key wait for now, by place and key. */
const links = new WeakMap<object, Map<string, Set<Link>>>();

/**
 * A load, as work that others wait for and that may itself wait for others. Who waits for whom is noted, so
 * that a circle is seen when its last link is about to be made; else it would stand until somebody's
 * timeouts ends. Only links inside this process are known.
 */
export class Task {
  readonly #place: object;
  readonly #key: string;

  /** Two tasks for one key in one place exclude each other, so they count as the same. */
  constructor(place: object, key: string) {
    this.#place = place;
    this.#key = key;
  }

  /** Those that the running code belongs to: none outside of loads, several in a load of several keys. */
  static get current(): readonly Task[] {
    return running.getStore()?.tasks ?? NONE;
  }

  static async run<Result>(tasks: readonly Task[], body: () => Promise<Result>): Promise<Result> {
    const scope: Scope = { tasks };
    try {
      return await running.run(scope, body);
    } finally {
      scope.tasks = NONE;
    }
  }

  /** The running code waits for this from now on. Gives what ends that; undefined: it would wait for itself. */
  link(): (() => void) | undefined {
    const { current } = Task;
    if (current.some((task) => this.#waitsFor(task, new Set()))) return undefined;
    const link = { to: this };
    for (const task of current) task.#add(link);
    return () => {
      for (const task of current) task.#remove(link);
    };
  }

  #waitsFor(other: Task, seen: Set<Link>): boolean {
    if (this.#key === other.#key && this.#place === other.#place) return true;
    for (const link of links.get(this.#place)?.get(this.#key) ?? []) {
      if (seen.has(link)) continue;
      seen.add(link);
      if (link.to.#waitsFor(other, seen)) return true;
    }
    return false;
  }

  #add(link: Link): void {
    const ofPlace = links.get(this.#place) ?? new Map<string, Set<Link>>();
    links.set(this.#place, ofPlace);
    const ofKey = ofPlace.get(this.#key) ?? new Set<Link>();
    ofPlace.set(this.#key, ofKey.add(link));
  }

  #remove(link: Link): void {
    const ofPlace = links.get(this.#place);
    const ofKey = ofPlace?.get(this.#key);
    ofKey?.delete(link);
    if (ofKey?.size === 0) ofPlace?.delete(this.#key);
  }
}
