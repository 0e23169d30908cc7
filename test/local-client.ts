import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { AcquireOptions } from '../src/index.ts';
import { BUILD } from './lock-holder-process.ts';

interface Message {
  readonly id?: number;
  readonly event?: 'ready' | 'ended' | 'lost';
  readonly value?: unknown;
  readonly error?: { readonly name: string; readonly code?: string; readonly message: string };
}

export interface LocalClientOptions {
  /** Additional environment variables. */
  readonly environment: Record<string, string>;
  /** A command that starts the program, such as one that changes the user. */
  readonly prefix?: readonly string[];
  readonly detached?: boolean;
}

/** A process that uses the local server. It ends with the test. */
export class LocalClient implements AsyncDisposable {
  /** The session ended without a close, and the signal of the lease aborted. */
  readonly ended: Promise<void>;
  readonly lost: Promise<void>;
  readonly child: ChildProcess;
  output = '';
  readonly #calls = new Map<number, (message: Message) => void>();
  #lastId = 0;

  static async start(options: LocalClientOptions): Promise<LocalClient> {
    const client = new LocalClient(options);
    await client.#event('ready');
    return client;
  }

  private constructor({ environment, prefix = [], detached = false }: LocalClientOptions) {
    const script = join(import.meta.dirname, 'local-client.child.js');
    const [program, ...args] = [...prefix, process.execPath, script];
    this.child = spawn(program!, args, {
      env: { ...process.env, HOLDFAST_BUILD: BUILD, ...environment },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
      detached,
    });
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    }
    this.ended = this.#event('ended');
    this.lost = this.#event('lost');
    this.child.on('message', (message: Message) => this.#heard(message));
    this.child.on('exit', () => this.#over());
  }

  open(): Promise<{ readonly address: `unix:${string}`; readonly pid: number }> {
    return this.#call('open');
  }

  close(): Promise<void> {
    return this.#call('close');
  }

  acquire(name: string, options: Omit<AcquireOptions, 'signal'>): Promise<{ fence: number }> {
    return this.#call('acquire', { name, ...options });
  }

  acquireAt(
    address: string,
    name: string,
    options: Omit<AcquireOptions, 'signal'>,
  ): Promise<{ fence: number }> {
    return this.#call('acquireAt', { address, name, ...options });
  }

  release(): Promise<unknown> {
    return this.#call('release');
  }

  visit(folder: string, count: number): Promise<string[]> {
    return this.#call('visit', { folder, count });
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const died = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await died;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill();
  }

  #event(name: Message['event']): Promise<void> {
    return new Promise((resolve, reject) => {
      this.child.on('message', ({ event }: Message) => event === name && resolve());
      if (name === 'ready') {
        this.child.on('exit', () => reject(new Error(`it did not start: ${this.output}`)));
      }
    });
  }

  #call<Value>(verb: string, options: object = {}): Promise<Value> {
    const id = ++this.#lastId;
    this.child.send({ id, verb, options });
    return new Promise((resolve, reject) => {
      this.#calls.set(id, ({ value, error }) => {
        if (error === undefined) resolve(value as Value);
        else
          reject(Object.assign(new Error(error.message), { name: error.name, code: error.code }));
      });
    });
  }

  #heard({ id, ...message }: Message): void {
    if (id === undefined) return;
    this.#calls.get(id)?.(message);
    this.#calls.delete(id);
  }

  #over(): void {
    const error = { name: 'Error', message: `the process has ended: ${this.output}` };
    for (const settle of this.#calls.values()) settle({ error });
    this.#calls.clear();
  }
}
