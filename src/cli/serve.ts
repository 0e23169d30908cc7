import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { PageServer } from '../page/index.ts';
import { describeOptions } from './options.ts';
import { type PagePlace, readPagePlace } from './page-options.ts';
import { banner, listeningEntry, pageEntry, type ServerFacts } from './serve/banner.ts';
import type { EngineServers } from './serve/engine-servers.ts';
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
  /** Undefined: no page is wanted. */
  readonly #pagePlace: PagePlace | undefined;
  #engine: EngineServers | undefined;
  #page: Promise<PageServer | undefined> | undefined;
  #isEnding = false;
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
    this.#pagePlace = pageOptions(values);
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
    await this.#closePage();
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
      case 'reply':
        this.#engine?.receive(message);
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
      void this.#closePage();
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
    if (this.#pagePlace !== undefined) this.#page = this.#startPage(this.#pagePlace, facts);
  }

  /** Its code is loaded when the server listens already. Without the page the server works all the same. */
  async #startPage(place: PagePlace, facts: ServerFacts): Promise<PageServer | undefined> {
    try {
      const { EngineServers, startPage } = await import('./serve/page.ts');
      if (this.#isEnding) return undefined;
      this.#engine = new EngineServers(facts.addresses[0] ?? '', (order) => this.#send(order));
      const page = await startPage(place, this.#engine);
      if (this.#log.isJson) this.#log.write(pageEntry(page.address));
      else print(this.#io, `Page: ${page.address}`);
      return page;
    } catch (error) {
      this.#log.warn('page', `there is no page: ${(error as Error).message}`);
      return undefined;
    }
  }

  async #closePage(): Promise<void> {
    this.#isEnding = true;
    this.#engine?.close();
    await (await this.#page)?.close();
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
const INLINED_BYTECODE_BYTES = 3600;
/**
 * Three semi-spaces of 4 MB. V8 would take 16 MB each, which the memory of a server with many locks shows, and a
 * request leaves too little behind for that to save time.
 */
const YOUNG_MEGABYTES = 12;
/** The heap is collected when it has grown by so much. V8 would wait longer: a million locks took up to 14 % more memory. */
const HEAP_GROWTH_PERCENT = 25;
const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** The thread gets the heap that `maxmemory` needs, unless Node was started with a size. */
function startThread(input: ServeInput, environment: Io['environment']): Worker {
  // Taken over by every context that is made from now on, such as that of the thread.
  setFlagsFromString('--disallow-code-generation-from-strings');
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWTH_PERCENT}`);
  // A request leaves so little behind that waking V8's helper threads takes longer than copying it.
  setFlagsFromString('--no-parallel-scavenge');
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
    resourceLimits: {
      maxOldGenerationSizeMb: heapMegabytes(bytes),
      maxYoungGenerationSizeMb: YOUNG_MEGABYTES,
    },
  });
}

function pageOptions(values: ServeValues): PagePlace | undefined {
  const { 'page-port': port, 'page-host': host } = values;
  if (port === 'no') return undefined;
  const isCleartext = values['page-cleartext'];
  const allowRelease = values['page-allow-release'];
  return readPagePlace({ port, host, isCleartext, allowRelease }, PAGE_FLAGS);
}

const PAGE_FLAGS = { port: '--page-port', host: '--page-host', cleartext: '--page-cleartext' };

function graceOption({ 'restart-grace': seconds = DEFAULT_GRACE_S }: ServeValues): number {
  if (/^\d{1,6}$/.test(seconds)) return Number(seconds) * 1000;
  throw new UsageError(`--restart-grace cannot be '${seconds}' (a whole number of seconds).`);
}
