import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { CacheOptions } from '../src/cache/index.ts';
import { BUILD } from './lock-holder-process.ts';
import { suspendProcess } from './suspend-process.ts';

export interface Calls extends Omit<CacheOptions, 'signal' | 'serializer'> {
  readonly key: string;
  readonly callers: number;
  /** How long a load takes. */
  readonly loadMs: number;
  /** Each caller calls get until it returns this value or a later one. */
  readonly untilValue: number;
}

export interface Called {
  readonly values: readonly number[];
  readonly longestMs: number;
  readonly misses: number;
}

interface Message {
  readonly id?: number;
  readonly event?: 'ready' | 'loading';
  readonly key?: string;
  readonly value?: unknown;
  readonly error?: string;
}

/** A process with many callers of one cache, that can be stopped, continued and killed. */
export class CallerProcess {
  readonly #child: ChildProcess;
  #lastId = 0;

  static async start(port: number, session = false): Promise<CallerProcess> {
    const program = new CallerProcess(port, session);
    await once(program.#child, 'message');
    return program;
  }

  private constructor(port: number, session: boolean) {
    const given = { HOLDFAST_PORT: `${port}`, HOLDFAST_SESSION: session ? 'yes' : '' };
    this.#child = fork(join(import.meta.dirname, 'cache-caller-process.child.js'), {
      env: { ...process.env, HOLDFAST_BUILD: BUILD, ...given },
      execArgv: [],
    });
    this.#child.setMaxListeners(0);
  }

  get isAlive(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves when the process begins to load this key. */
  loading(key: string): Promise<CallerProcess> {
    return new Promise((resolve) => {
      this.#child.on('message', ({ event, key: loaded }: Message) => {
        if (event === 'loading' && loaded === key) resolve(this);
      });
    });
  }

  /** Rejects if a caller failed, or the process has ended. */
  call(options: Calls): Promise<Called> {
    const id = ++this.#lastId;
    this.#child.send({ id, options });
    return new Promise((resolve, reject) => {
      this.#child.on('message', ({ id: answered, value, error }: Message) => {
        if (answered !== id) return;
        if (error === undefined) resolve(value as Called);
        else reject(new Error(error));
      });
      this.#child.on('exit', () => reject(new Error('the process has ended')));
    });
  }

  /** Stops the process, as a debugger or a suspend does. */
  stop(): void {
    suspendProcess(this.#child.pid!);
  }

  continue(): void {
    this.#child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    if (!this.isAlive) return;
    const died = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await died;
  }
}
