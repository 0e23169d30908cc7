import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { BUILD } from './lock-holder-process.ts';

/** A lock that a task takes. */
export type Step =
  | { readonly kind: 'mutex' | 'read' | 'write'; readonly name: string }
  | { readonly kind: 'semaphore'; readonly name: string; readonly slots: number }
  | { readonly kind: 'all'; readonly names: readonly string[] };

/** The end of a task. */
export interface Ended {
  readonly result: 'done' | 'deadlock' | 'timeout';
  readonly message?: string;
}

interface Message extends Ended {
  readonly id: number;
  readonly event: 'ready' | 'held' | 'ended';
}

/** A process that takes locks inside each other. */
export class NestingProcess {
  readonly child: ChildProcess;
  readonly #tasks = new Map<number, { held(): void; ended(result: Ended): void }>();
  #lastId = 0;

  static async start(url: string): Promise<NestingProcess> {
    const program = new NestingProcess(url);
    await once(program.child, 'message');
    return program;
  }

  private constructor(url: string) {
    this.child = fork(join(import.meta.dirname, 'deadlock-process.child.js'), {
      env: { ...process.env, HOLDFAST_BUILD: BUILD, HOLDFAST_STORE: url },
      execArgv: [],
    });
    this.child.on('message', ({ id, event, ...ended }: Message) => {
      if (event === 'held') this.#tasks.get(id)?.held();
      if (event === 'ended') this.#tasks.get(id)?.ended(ended);
    });
  }

  /** Starts a task and waits until it holds its first lock. */
  async hold(...steps: readonly Step[]): Promise<Task> {
    return this.holdFor(30_000, ...steps);
  }

  async holdFor(wait: number, ...steps: readonly Step[]): Promise<Task> {
    const id = ++this.#lastId;
    let held = (): void => {};
    const isHeld = new Promise<void>((resolve) => {
      held = resolve;
    });
    const ended = this.#ended(id, held);
    this.child.send({ id, steps, hasGate: true, wait });
    await isHeld;
    return { ended, go: () => void this.child.send({ id, opens: true }) };
  }

  /** Runs a task with a pause inside of each lock. */
  run(steps: readonly Step[], pauseMs: number): Promise<Ended> {
    const id = ++this.#lastId;
    const ended = this.#ended(id, () => {});
    this.child.send({ id, steps, pauseMs, wait: 30_000 });
    return ended;
  }

  #ended(id: number, held: () => void): Promise<Ended> {
    return new Promise((ended) => this.#tasks.set(id, { held, ended }));
  }
}

export interface Task {
  readonly ended: Promise<Ended>;
  /** Makes it request its second lock. */
  go(): void;
}

export function mutex(name: string): Step {
  return { kind: 'mutex', name };
}
