import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { ElectOptions } from '../src/index.ts';
import { BUILD } from './lock-holder-process.ts';

interface Message {
  readonly event: 'leads' | 'ends';
  readonly fence?: number;
  readonly code?: string;
}

export interface CandidateOptions {
  readonly url: string;
  readonly options?: ElectOptions;
  readonly session?: boolean;
}

/** A process that campaigns for the leadership of `job`. It ends with `await using`. */
export class CandidateProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #messages: Message[] = [];
  #onMessage = (): void => {};

  constructor(given: CandidateOptions) {
    this.#child = fork(join(import.meta.dirname, 'candidate-process.child.js'), {
      env: {
        ...process.env,
        HOLDFAST_BUILD: BUILD,
        HOLDFAST_CANDIDATE: JSON.stringify({ session: false, options: {}, ...given }),
      },
      execArgv: [],
    });
    this.#exited = once(this.#child, 'exit');
    this.#child.on('message', (message: Message) => {
      this.#messages.push(message);
      this.#onMessage();
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** The fence of its first term. */
  async leads(): Promise<number> {
    return (await this.#next('leads')).fence!;
  }

  /** The code of the error that ended its first term. */
  async ends(): Promise<string> {
    return (await this.#next('ends')).code!;
  }

  /** Stops its election, as a program does on SIGTERM. */
  async stop(): Promise<void> {
    this.#child.send('stop');
    await this.#exited;
  }

  /** Ends the process without a word to the store. */
  async kill(): Promise<void> {
    if (this.#child.exitCode === null) this.#child.kill('SIGKILL');
    await this.#exited;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  async #next(event: Message['event']): Promise<Message> {
    for (;;) {
      const found = this.#messages.find((message) => message.event === event);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        this.#onMessage = resolve;
      });
    }
  }
}
