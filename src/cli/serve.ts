import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../clock/index.ts';
import { describeOptions } from './options.ts';
import { messageText } from './printable.ts';
import { heapMegabytes, isHeapGiven, maxmemoryBytes } from './serve/heap.ts';
import type { ServerMessage, ServerOrder, ServerThreadData } from './serve/messages.ts';
import { readServeOptions, SERVE_OPTIONS, type ServeValues } from './serve-options.ts';
import { type Io, print, UsageError, type Verb, VerbError } from './verb.ts';
import { version } from './version.ts';

/** `holdfast serve`: the engine behind sockets, until a signal or SHUTDOWN ends it. */
export const serve: Verb = {
  options: SERVE_OPTIONS,

  help: `holdfast serve: starts a server that any Redis client can use

Usage: holdfast serve [options]

${describeOptions(SERVE_OPTIONS)}

Every option has a variable too, such as HOLDFAST_PORT for --port; a flag overrides it.
CONFIG GET shows the values under the same names (host is bind, unix unixsocket, password requirepass).
(*) Other users can read flags with ps: prefer HOLDFAST_PASSWORD or --password-file.
SIGTERM and SIGINT end the server after its pending replies; SIGHUP reads the password file again.

Examples:
  holdfast serve                            listens on 127.0.0.1:6379
  holdfast serve --port 7001 --databases 1
  holdfast serve --maxmemory 4gb
  holdfast serve --unix /run/holdfast/socket
  HOLDFAST_PASSWORD=… holdfast serve --host 0.0.0.0`,

  async run(args, io) {
    const given = readServeOptions(args, io.environment);
    if (given.help) return print(io, this.help);
    const values = { ...DURABLE, ...given };
    const readAgain = (): ServeValues => readServeOptions(args, io.environment);
    return new ServerProcess(values, io, readAgain).run();
  },
};

/** The process of the server: starts the thread that serves, and handles signals and the log. */
class ServerProcess {
  readonly #values: ServeValues;
  readonly #io: Io;
  readonly #readAgain: () => ServeValues;
  readonly #graceMs: number;
  readonly #thread: Worker;
  #failure: Error | undefined;
  /** 1 unless the thread reports a regular end. */
  #exitCode = 1;

  constructor(values: ServeValues, io: Io, readAgain: () => ServeValues) {
    this.#values = values;
    this.#io = io;
    this.#readAgain = readAgain;
    this.#graceMs = graceOption(values);
    this.#thread = startThread(values, io.environment);
  }

  /** Resolves to the exit code when the server has ended. */
  async run(): Promise<number> {
    // Not events.once, which would reject after a crash that has been reported.
    const exited = new Promise((resolve) => this.#thread.once('exit', resolve));
    this.#thread.on('message', (message: ServerMessage) => this.#receive(message));
    this.#thread.on('error', (error) => this.#crash(error));
    this.#listenToSignals();
    // Loaded while the thread loads the engine.
    const { markPath } = await import('./serve/mark-path.ts');
    const mark = markPath(this.#values, this.#io.environment);
    this.#send({ kind: 'start', mark, graceMs: this.#graceMs });
    await exited;
    if (this.#failure !== undefined) throw this.#failure;
    return this.#exitCode;
  }

  #receive(message: ServerMessage): void {
    switch (message.kind) {
      case 'listening':
        print(this.#io, greeting(message));
        break;
      case 'refused':
        this.#failure = new (message.isUsage ? UsageError : VerbError)(message.message);
        break;
      case 'report':
        this.#report(message.message);
        break;
      case 'ended':
        this.#exitCode = message.exitCode;
        break;
    }
  }

  /** The heap is full although maxmemory should have prevented that, or the thread has a fault. */
  #crash(error: Error): void {
    this.#report(`the server crashed: ${error.stack ?? error.message}`);
  }

  #listenToSignals(): void {
    const stop = (): void => {
      this.#send({ kind: 'stop' });
      // A second signal does not wait for clients.
      for (const signal of STOP_SIGNALS) {
        process.removeListener(signal, stop);
        process.once(signal, () => process.exit(1));
      }
    };
    for (const signal of STOP_SIGNALS) process.once(signal, stop);
    process.on('SIGHUP', () => this.#reload());
    // Without a handler Node would open its debugger at SIGUSR1, for everybody on the machine.
    process.on('SIGUSR1', () => {});
  }

  /** Reads the password file again. The log goes to stderr, which need not be reopened. */
  #reload(): void {
    try {
      const { password } = this.#readAgain();
      if (password !== undefined) this.#send({ kind: 'password', password });
      this.#report(password === undefined ? 'SIGHUP: nothing to reload' : 'reloaded the password');
    } catch (error) {
      this.#report(`reloaded nothing: ${(error as Error).message}`);
    }
  }

  #send(order: ServerOrder): void {
    this.#thread.postMessage(order);
  }

  #report(message: string): void {
    const time = new Date(systemClock.wallMs()).toISOString();
    this.#io.errors.write(`${time} ${messageText(message)}\n`);
  }
}

/** A server keeps its data unless its operator decides otherwise. */
const DURABLE = { appendonly: 'yes', dir: './holdfast-data' };

/** The lease of the lock library unless its user chooses another. */
const DEFAULT_GRACE_S = '30';
/**
 * V8 stops at 920 by default, in the middle of the path that every command takes. With more, pipelined
 * commands are some 3 % faster.
 */
const INLINED_BYTECODE_BYTES = 1800;
const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** The thread gets the heap that `maxmemory` needs, unless Node was started with a size. */
function startThread(values: ServeValues, environment: Io['environment']): Worker {
  // Taken over by every context that is made from now on, such as that of the thread.
  setFlagsFromString('--disallow-code-generation-from-strings');
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${INLINED_BYTECODE_BYTES}`);
  const file = new URL('./serve/server-thread.js', import.meta.url);
  const name = 'holdfast-server';
  if (isHeapGiven(process.execArgv, environment.NODE_OPTIONS)) {
    return new Worker(file, { name, workerData: { values } satisfies ServerThreadData });
  }
  const bytes = maxmemoryBytes(values.maxmemory);
  const withLimit = { maxmemory: String(bytes), ...values };
  return new Worker(file, {
    name,
    workerData: { values: withLimit } satisfies ServerThreadData,
    resourceLimits: { maxOldGenerationSizeMb: heapMegabytes(bytes) },
  });
}

function graceOption({ 'restart-grace': seconds = DEFAULT_GRACE_S }: ServeValues): number {
  if (/^\d{1,6}$/.test(seconds)) return Number(seconds) * 1000;
  throw new UsageError(`--restart-grace cannot be '${seconds}' (a whole number of seconds).`);
}

function greeting({ addresses, port }: { addresses: readonly string[]; port: number }): string {
  const store = port === 0 ? `unix:${addresses[0]}` : `redis://${addresses[0]}`;
  const option = port === 6379 ? '' : ` --store ${store}`;
  const reach = port === 0 ? `-s ${addresses[0]}` : `-p ${port}`;
  return [
    `holdfast ${version()} listens on ${addresses.join(' and ')}. Ctrl-C stops it.`,
    `Try: npx holdfast cli${option} SETNX job programmer   (or: redis-cli ${reach})`,
  ].join('\n');
}
