import { AsyncLocalStorage } from 'node:async_hooks';

/** The loads that the running code is part of. Cleared at their end: code may outlive the load that started it. */
interface RunContext {
  tasks: readonly Task[];
}

interface Link {
  readonly to: Task;
}

const running = new AsyncLocalStorage<RunContext>();
const NONE: readonly Task[] = [];

/** What the load of a key waits for, by group and key. */
const links = new WeakMap<object, Map<string, Set<Link>>>();

/**
 * A load as a node of the wait-for graph of this process. A cycle is found when its last link is about to be
 * added; without this its callers would wait for their timeouts.
 */
export class Task {
  readonly #group: object;
  readonly #key: string;

  /** Two tasks of one key and one group exclude each other, so they are the same node. */
  constructor(group: object, key: string) {
    this.#group = group;
    this.#key = key;
  }

  /** The tasks that the running code is part of: none outside of loads, many in a batch load. */
  static get current(): readonly Task[] {
    return running.getStore()?.tasks ?? NONE;
  }

  static async run<Result>(
    tasks: readonly Task[],
    callback: () => Promise<Result>,
  ): Promise<Result> {
    const context: RunContext = { tasks };
    try {
      return await running.run(context, callback);
    } finally {
      context.tasks = NONE;
    }
  }

  /** Links the running code to this task. Returns a function that unlinks; undefined: the link closes a cycle. */
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
    if (this.#key === other.#key && this.#group === other.#group) return true;
    for (const link of links.get(this.#group)?.get(this.#key) ?? []) {
      if (seen.has(link)) continue;
      seen.add(link);
      if (link.to.#waitsFor(other, seen)) return true;
    }
    return false;
  }

  #add(link: Link): void {
    const ofGroup = links.get(this.#group) ?? new Map<string, Set<Link>>();
    links.set(this.#group, ofGroup);
    const ofKey = ofGroup.get(this.#key) ?? new Set<Link>();
    ofGroup.set(this.#key, ofKey.add(link));
  }

  #remove(link: Link): void {
    const ofGroup = links.get(this.#group);
    const ofKey = ofGroup?.get(this.#key);
    ofKey?.delete(link);
    if (ofKey?.size === 0) ofGroup?.delete(this.#key);
  }
}
