import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { describeOptions } from './options.ts';
import { banner, listeningEntry, type ServerFacts } from './serve/banner.ts';
import { heapMegabytes, isHeapGiven, maxmemoryBytes } from './serve/heap.ts';
import type { ServerMessage, ServerOrder, ServerThreadData } from './serve/messages.ts';
import { ServerLog } from './serve/server-log.ts';
import { notifyManager } from './serve/service-manager.ts';
import {
  readServeOptions,
  SERVE_OPTIONS,
  type ServeInput,
  type ServeValues,
} from './serve-options.ts';
import { type Io, print, printError, UsageError, type Verb, VerbError } from './verb.ts';
import { version } from './version.ts';

/** `holdfast serve`: the engine behind sockets, until a signal or SHUTDOWN ends it. */
export const serve: Verb = {
  options: SERVE_OPTIONS,

  help: `holdfast serve: starts a server that any Redis client can use

Usage: holdfast serve [configuration file] [options]

${describeOptions(SERVE_OPTIONS)}

Every option has a variable too, such as HOLDFAST_PORT for --port. A flag overrides the variable, and both
override the configuration file.
CONFIG GET shows the values under the same names (host is bind, unix unixsocket, password requirepass).
(*) Other users can read flags with ps: prefer HOLDFAST_PASSWORD or --password-file.
SIGTERM and SIGINT end the server after its pending replies; SIGHUP reads the password file and the
certificate again.

Examples:
  holdfast serve                            listens on 127.0.0.1:6379
  holdfast serve --port 7001 --databases 1
  holdfast serve --maxmemory 4gb
  holdfast serve /etc/holdfast.conf --loglevel verbose
  holdfast serve --port 0 --tls-port 6380 --tls-cert-file server.crt --tls-key-file server.key --tls-ca-cert-file ca.crt
  holdfast serve --unix /run/holdfast/socket
  HOLDFAST_PASSWORD=… holdfast serve --host 0.0.0.0`,

  async run(args, io) {
    const given = readServeOptions(args, io.environment);
    if (given.values.help) return print(io, this.help);
    const input = { ...given, values: { ...DURABLE, ...given.values } };
    const readAgain = (): ServeInput => readServeOptions(args, io.environment);
    return new ServerProcess(input, io, readAgain).run();
  },
};

/** The process of the server: starts the thread that serves, and handles signals and the log. */
class ServerProcess {
  readonly #values: ServeValues;
  readonly #io: Io;
  readonly #log: ServerLog;
  readonly #readAgain: () => ServeInput;
  readonly #graceMs: number;
  readonly #thread: Worker;
  #failure: Error | undefined;
  /** 1 unless the thread reports a regular end. */
  #exitCode = 1;

  constructor(input: ServeInput, io: Io, readAgain: () => ServeInput) {
    const { values } = input;
    this.#values = values;
    this.#io = io;
    this.#log = new ServerLog(io, values['log-format']);
    this.#readAgain = readAgain;
    this.#graceMs = graceOption(values);
    this.#thread = startThread(input, io.environment);
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
        this.#announce(message.facts);
        break;
      case 'refused':
        for (const line of message.details) printError(this.#io, line);
        this.#failure = new (message.isUsage ? UsageError : VerbError)(message.message);
        break;
      case 'log':
        this.#log.write(message.entry);
        break;
      case 'ended':
        this.#exitCode = message.exitCode;
        break;
    }
  }

  /** The heap is full although maxmemory should have prevented that, or the thread has a fault. */
  #crash(error: Error): void {
    this.#log.warn('crash', `the server crashed: ${error.stack ?? error.message}`);
  }

  #listenToSignals(): void {
    const stop = (): void => {
      this.#send({ kind: 'stop' });
      this.#notify('stopping');
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

  /** Reads the password file and the certificate again. The log goes to stderr, which need not be reopened. */
  #reload(): void {
    const hasCertificate = this.#values['tls-cert-file'] !== undefined;
    if (hasCertificate) this.#send({ kind: 'reload-certificate' });
    try {
      const { values, hasPasswordFile } = this.#readAgain();
      // Another password is that of the start: CONFIG SET may have replaced it since.
      if (hasPasswordFile) {
        this.#send({ kind: 'password', password: values.password! });
        this.#log.notice('reload', 'reloaded the password');
      } else if (!hasCertificate) this.#log.notice('reload', 'SIGHUP: nothing to reload');
    } catch (error) {
      this.#log.warn('reload', `kept the password before: ${(error as Error).message}`);
    }
  }

  /** Programs that read JSON get a log line instead of the text for people. */
  #announce(facts: ServerFacts): void {
    if (this.#log.isJson) this.#log.write(listeningEntry(facts, version()));
    else print(this.#io, banner(facts, version()));
    this.#notify('ready');
  }

  #notify(state: 'ready' | 'stopping'): void {
    notifyManager(state, this.#io.environment, (message) => this.#log.warn('notify', message));
  }

  #send(order: ServerOrder): void {
    this.#thread.postMessage(order);
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
function startThread(input: ServeInput, environment: Io['environment']): Worker {
  // Taken over by every context that is made from now on, such as that of the thread.
  setFlagsFromString('--disallow-code-generation-from-strings');
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${INLINED_BYTECODE_BYTES}`);
  const file = new URL('./serve/server-thread.js', import.meta.url);
  const name = 'holdfast-server';
  if (isHeapGiven(process.execArgv, environment.NODE_OPTIONS)) {
    return new Worker(file, { name, workerData: input satisfies ServerThreadData });
  }
  const bytes = maxmemoryBytes(input.values.maxmemory);
  const values = { maxmemory: String(bytes), ...input.values };
  return new Worker(file, {
    name,
    workerData: { ...input, values } satisfies ServerThreadData,
    resourceLimits: { maxOldGenerationSizeMb: heapMegabytes(bytes) },
  });
}

function graceOption({ 'restart-grace': seconds = DEFAULT_GRACE_S }: ServeValues): number {
  if (/^\d{1,6}$/.test(seconds)) return Number(seconds) * 1000;
  throw new UsageError(`--restart-grace cannot be '${seconds}' (a whole number of seconds).`);
}
