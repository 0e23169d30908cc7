import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../clock/index.ts';
import { createEngine } from '../engine/index.ts';
import { describeOptions } from './options.ts';
import { messageText } from './printable.ts';
import { defaultMaxmemory, heapMegabytes, isHeapGiven } from './serve/heap.ts';
import type { ServerMessage, ServerOrder, ServerThreadData } from './serve/messages.ts';
import { RunMark } from './serve/run-mark.ts';
import {
  applySettings,
  readServeOptions,
  SERVE_OPTIONS,
  type ServeValues,
} from './serve-options.ts';
import { type Io, print, UsageError, type Verb, VerbError } from './verb.ts';
import { version } from './version.ts';

/** `holdfast serve`: the engine behind sockets, until a signal or SHUTDOWN ends it. */
export const serve: Verb = {
  options: SERVE_OPTIONS,

  help: `holdfast serve: starts a server that any Redis client can talk to

Usage: holdfast serve [options]

${describeOptions(SERVE_OPTIONS)}

Every option has a variable too, which a flag beats: HOLDFAST_PORT for --port, and so on.
CONFIG GET shows the values under the same names (host is bind, unix unixsocket, password requirepass).
(*) Others on the machine can read flags with ps: prefer HOLDFAST_PASSWORD or --password-file.
SIGTERM and SIGINT end the server after it has answered; SIGHUP reads the password file again.

Examples:
  holdfast serve                            listens on 127.0.0.1:6379
  holdfast serve --port 7001 --databases 1
  holdfast serve --maxmemory 4gb
  holdfast serve --unix /run/holdfast/socket
  HOLDFAST_PASSWORD=… holdfast serve --host 0.0.0.0`,

  async run(args, io) {
    const values = readServeOptions(args, io.environment);
    if (values.help) return print(io, this.help);
    const reload = (): ServeValues => readServeOptions(args, io.environment);
    return new ServerProcess(withMaxmemory(values, io), io, reload).run();
  },
};

/** With the `maxmemory` that sets the size of the heap, unless Node was started with a size. */
function withMaxmemory(values: ServeValues, { environment }: Io): ServeValues {
  const given = checkedMaxmemory(values);
  if (isHeapGiven(process.execArgv, environment.NODE_OPTIONS)) return values;
  return { ...values, maxmemory: String(given || defaultMaxmemory()) };
}

/** The number of bytes that --maxmemory stands for. Throws UsageError for any option that cannot be. */
function checkedMaxmemory(values: ServeValues): number {
  const engine = createEngine();
  applySettings(values, engine.settings);
  engine.close();
  return engine.settings.number('maxmemory');
}

/** The thread that serves, and what the process does for it: signals, the log, the mark of its run. */
class ServerProcess {
  readonly #values: ServeValues;
  readonly #io: Io;
  readonly #readAgain: () => ServeValues;
  readonly #thread: Worker;
  readonly #mark: RunMark | undefined;
  #failure: VerbError | undefined;
  /** 1 unless the thread says that it has ended in order. */
  #exitCode = 1;

  constructor(values: ServeValues, io: Io, readAgain: () => ServeValues) {
    this.#values = values;
    this.#io = io;
    this.#readAgain = readAgain;
    this.#mark = RunMark.of(values, io.environment);
    const graceMs = this.#graceMs();
    // Taken over by every context that is made from now on, such as that of the thread.
    setFlagsFromString('--disallow-code-generation-from-strings');
    const workerData: ServerThreadData = { values, graceMs };
    this.#thread = new Worker(new URL('./serve/server-thread.js', import.meta.url), {
      name: 'holdfast-server',
      workerData,
      ...(values.maxmemory !== undefined && {
        resourceLimits: { maxOldGenerationSizeMb: heapMegabytes(Number(values.maxmemory)) },
      }),
    });
    if (graceMs > 0) this.#report(graceNotice(graceMs));
  }

  /** Resolves to the exit code when the server has ended. */
  async run(): Promise<number> {
    this.#listenToSignals();
    this.#thread.on('message', (message: ServerMessage) => this.#receive(message));
    this.#thread.on('error', (error) => this.#crash(error));
    // Not events.once, which would reject after a crash that has been reported.
    await new Promise((resolve) => this.#thread.once('exit', resolve));
    if (this.#failure !== undefined) throw this.#failure;
    return this.#exitCode;
  }

  #receive(message: ServerMessage): void {
    switch (message.kind) {
      case 'listening':
        this.#mark?.set();
        print(this.#io, greeting(message));
        break;
      case 'refused':
        this.#failure = new VerbError(message.message);
        break;
      case 'report':
        this.#report(message.message);
        break;
      case 'ended':
        this.#exitCode = message.exitCode;
        this.#mark?.end(message.leaseMs);
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

  /** Takes a new password from the password file; the log goes to stderr, where nothing has to be reopened. */
  #reload(): void {
    try {
      const { password } = this.#readAgain();
      if (password !== undefined) this.#send({ kind: 'password', password });
      this.#report(password === undefined ? 'SIGHUP: nothing to reload' : 'reloaded the password');
    } catch (error) {
      this.#report(`reloaded nothing: ${(error as Error).message}`);
    }
  }

  #graceMs(): number {
    const { 'restart-grace': seconds = DEFAULT_GRACE_S } = this.#values;
    if (!/^\d{1,6}$/.test(seconds)) {
      throw new UsageError(`--restart-grace cannot be '${seconds}' (a whole number of seconds).`);
    }
    return this.#mark?.leftMs(Number(seconds) * 1000) ?? 0;
  }

  #send(order: ServerOrder): void {
    this.#thread.postMessage(order);
  }

  #report(message: string): void {
    const time = new Date(systemClock.wallMs()).toISOString();
    this.#io.errors.write(`${time} ${messageText(message)}\n`);
  }
}

/** The lease of the lock library unless its user chooses another. */
const DEFAULT_GRACE_S = '30';
const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

function graceNotice(graceMs: number): string {
  return (
    `the server before did not end in order, or while keys with a lease were alive: for ${Math.ceil(graceMs / 1000)} s ` +
    'this one takes no writes, because those locks may still be held (--restart-grace)'
  );
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
