import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AcquireOptions, ReleaseOutcome } from '../src/index.ts';
import { suspendProcess } from './suspend-process.ts';

/** The built package. HOLDFAST_BUILD names another build. */
export const BUILD = pathToFileURL(
  process.env['HOLDFAST_BUILD'] ?? join(import.meta.dirname, '..', 'dist', 'index.js'),
).href;

/** The state of a lease, as its holder sees it without a request. */
export interface LeaseState {
  /** Of the signal that was read at the grant, and of one that is read now. */
  readonly keptSignalAborted: boolean;
  readonly leaseSignalAborted: boolean;
  /** The result of assertHeld(). */
  readonly held: boolean;
  readonly code?: string;
  readonly reason?: string;
}

interface Message {
  readonly id?: number;
  readonly event?: 'ready' | 'lost';
  readonly value?: unknown;
  readonly error?: { readonly name: string; readonly code?: string; readonly message: string };
  readonly reason?: string;
}

/** A process that holds locks, and can be stopped, continued, stalled and killed. */
export class HolderProcess {
  /** Resolves with the reason when its signal aborts. */
  readonly lost: Promise<string>;
  /** Its output, which should be empty. */
  output = '';
  readonly #child: ChildProcess;
  readonly #calls = new Map<number, (message: Message) => void>();
  #resolveLost: (reason: string) => void = () => {};
  #lastId = 0;

  static async start(port: number): Promise<HolderProcess> {
    const program = new HolderProcess(port);
    await once(program.#child, 'message');
    return program;
  }

  private constructor(port: number) {
    this.lost = new Promise((resolve) => {
      this.#resolveLost = resolve;
    });
    this.#child = fork(join(import.meta.dirname, 'lock-holder-process.child.js'), {
      env: { ...process.env, HOLDFAST_BUILD: BUILD, HOLDFAST_PORT: `${port}` },
      execArgv: [],
      silent: true,
    });
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
      });
    }
    this.#child.on('message', (message: Message) => this.#receive(message));
    this.#child.on('close', () => this.#ended());
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Acquires a mutex, or with `permits` a semaphore with this count. */
  acquire(
    name: string,
    options: Omit<AcquireOptions, 'signal'> & { readonly permits?: number } = {},
  ): Promise<{ readonly fence: number }> {
    return this.#call('acquire', { name, ...options });
  }

  leaseState(): Promise<LeaseState> {
    return this.#call('leaseState');
  }

  release(): Promise<ReleaseOutcome> {
    return this.#call('release');
  }

  /** Closes its locks. */
  close(): Promise<void> {
    return this.#call('close');
  }

  /** Blocks its event loop, and returns the state of the lease in the next statement, or in the next turn. */
  stall(durationMs: number, then?: 'then a turn'): Promise<LeaseState> {
    return this.#call('stall', { durationMs, turns: then !== undefined });
  }

  read(key: string): Promise<number> {
    return this.#call('read', { key });
  }

  /** False: the write was refused. */
  write(verb: 'write' | 'writeFenced', key: string, value: number): Promise<boolean> {
    return this.#call(verb, { key, value });
  }

  /** Stops the process by SIGSTOP, as a debugger or the suspend of a machine does. */
  stop(): void {
    suspendProcess(this.#child.pid!);
  }

  continue(): void {
    this.#child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const died = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await died;
  }

  #call<Value>(verb: string, options: object = {}): Promise<Value> {
    const id = ++this.#lastId;
    this.#child.send({ id, verb, options });
    return new Promise((resolve, reject) => {
      this.#calls.set(id, ({ value, error }) => {
        if (error === undefined) resolve(value as Value);
        else
          reject(Object.assign(new Error(error.message), { name: error.name, code: error.code }));
      });
    });
  }

  #receive({ id, event, reason, ...message }: Message): void {
    if (event === 'lost') this.#resolveLost(reason!);
    if (id === undefined) return;
    this.#calls.get(id)?.(message);
    this.#calls.delete(id);
  }

  #ended(): void {
    const error = { name: 'Error', message: `the process has ended: ${this.output}` };
    for (const settle of this.#calls.values()) settle({ error });
    this.#calls.clear();
  }
}
