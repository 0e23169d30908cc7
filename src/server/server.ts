import { chmodSync, lstatSync, statSync, unlinkSync } from 'node:fs';
import {
  connect,
  createServer as createNetServer,
  type Server as NetServer,
  type Socket,
} from 'node:net';
import { dirname } from 'node:path';
import { getHeapStatistics } from 'node:v8';
import { CLIENT_BYTES, type Engine } from '../engine/index.ts';
import { makeFolder } from '../make-folder.ts';
import { capacityFor } from '../memory/index.ts';
import { ByteWriter } from '../resp/index.ts';
import { type CommitLog, Connection, type ConnectionOwner } from './connection.ts';
import { ServerError } from './errors.ts';
import { SharedEncoder } from './shared-chunks.ts';
import { ThrottledLog } from './throttled-log.ts';
import { Turns } from './turns.ts';

export interface ServerOptions {
  readonly engine: Engine;
  /** TCP address. Default: 127.0.0.1. */
  readonly host?: string;
  /** TCP port; 0 takes a free one. Default: 6379, or no TCP if `unix` is given. */
  readonly port?: number;
  /** Path of a Unix socket. Its folder must have mode 0700; the server creates it if it does not exist. */
  readonly unix?: string;
  /** Allows to listen beyond loopback without a password. Default: false. */
  readonly unprotected?: boolean;
  /** The log of the engine. Default: none, the data is in memory only. */
  readonly log?: CommitLog;
  /** Receives log lines for the operator, such as clients that were closed and the reason. Default: none. */
  readonly report?: (message: string) => void;
}

/** The engine behind sockets. */
export interface Server {
  /** The addresses on which it listens: `127.0.0.1:6379`, the path of a Unix socket. */
  readonly addresses: readonly string[];
  /** The TCP port, or 0 without TCP. */
  readonly port: number;
  readonly connectionCount: number;
  /**
   * Stops listening, sends the replies of commands that have run, closes all connections and runs their exit
   * commands. Safe to call twice.
   */
  close(): Promise<void>;
}

/**
 * Starts a server for an engine.
 *
 * @throws ServerError if it cannot listen, or would be unsafe. The message says what to do.
 * @example const server = await startServer({ engine: createEngine(), port: 0 });
 */
export async function startServer(options: ServerOptions): Promise<Server> {
  const server = new SocketServer(options);
  try {
    await server.listen();
  } catch (error) {
    await server.close();
    throw error;
  }
  return server;
}

/** How long clients may take to read their last replies when the server closes. */
const CLOSE_MS = 2_000;
/** redis.LOG_NOTICE. Lines of scripts with a lower level are not reported. */
const LOG_NOTICE = 2;
const LOOPBACK = /^(localhost|::1|127(\.\d+){3})$/;
/** How long a connection may take to sign in, if there is a password. */
const SIGN_IN_MS = 10_000;

class SocketServer implements Server, ConnectionOwner {
  readonly engine: Engine;
  readonly addresses: string[] = [];
  port = 0;
  readonly writer = new ByteWriter();
  readonly lateWriter = new ByteWriter();
  readonly sharedEncoder: SharedEncoder;
  readonly turns: Turns;
  readonly log: CommitLog;
  readonly #options: ServerOptions;
  readonly #log: ThrottledLog;
  readonly #listeners: NetServer[] = [];
  readonly #connections = new Set<Connection>();
  /** Connections with replies that wait for the log. */
  readonly #held = new Set<Connection>();
  #closing: Promise<void> | undefined;

  constructor(options: ServerOptions) {
    this.engine = options.engine;
    this.#options = options;
    this.#log = new ThrottledLog(this.engine.clock, options.report ?? (() => {}));
    this.sharedEncoder = new SharedEncoder(this.engine.memory.clients);
    this.turns = new Turns(this.engine.clock, () => this.sharedEncoder.forget());
    this.log = options.log ?? NO_LOG;
    if (options.log !== undefined) options.log.onSettled = () => this.#release();
    limitMemory(this.engine);
    this.engine.log = (level, message) => {
      if (level >= LOG_NOTICE) this.report(message);
    };
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  async listen(): Promise<void> {
    const { host = '127.0.0.1', port, unix, unprotected = false } = this.#options;
    if (port !== undefined || unix === undefined) {
      if (!LOOPBACK.test(host) && !this.engine.needsPassword && !unprotected) throw openToAll(host);
      await this.#listenTcp(host, port ?? 6379);
    }
    if (unix !== undefined) await this.#listenUnix(unix);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  report(message: string): void {
    this.#log.write(message);
  }

  releaseLater(connection: Connection): void {
    this.#held.add(connection);
  }

  forget(connection: Connection): void {
    this.#connections.delete(connection);
    this.#held.delete(connection);
    this.turns.forget(connection);
  }

  async #listenTcp(host: string, port: number): Promise<void> {
    const listener = this.#createListener();
    await listening(listener, { host, port });
    const address = listener.address();
    if (address === null || typeof address === 'string') throw new Error('no TCP address');
    this.port = address.port;
    this.addresses.push(`${host.includes(':') ? `[${host}]` : host}:${address.port}`);
  }

  async #listenUnix(path: string): Promise<void> {
    await prepareSocket(path);
    await listening(this.#createListener(), { path });
    chmodSync(path, 0o600);
    this.addresses.push(path);
  }

  #createListener(): NetServer {
    const keepAliveMs = this.engine.settings.number('tcp-keepalive') * 1000;
    const listener = createNetServer({
      // Without this, Node would close the socket when the client closes its side, before the replies are sent.
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: keepAliveMs > 0,
      keepAliveInitialDelay: keepAliveMs,
    });
    listener.on('connection', (socket) => {
      try {
        this.#accept(socket);
      } catch (error) {
        socket.destroy();
        this.report(`refused a connection after an internal error: ${(error as Error).stack}`);
      }
    });
    this.#listeners.push(listener);
    return listener;
  }

  #accept(socket: Socket): void {
    const connection = new Connection(this, socket);
    const { session } = connection;
    session.address = socketAddress(socket.remoteAddress, socket.remotePort);
    session.localAddress = socketAddress(socket.localAddress, socket.localPort);
    if (!this.#hasCapacity()) {
      this.engine.stats.rejectedSessions++;
      connection.refuse('ERR max number of clients reached');
      return;
    }
    this.#connections.add(connection);
    if (!session.authenticated) this.#limitSignIn(socket, connection);
  }

  #hasCapacity(): boolean {
    const { settings, memory } = this.engine;
    memory.clients.evictUnlessFits(CLIENT_BYTES);
    if (!memory.clients.fits(CLIENT_BYTES)) return false;
    return this.#connections.size < settings.number('maxclients');
  }

  #limitSignIn(socket: Socket, connection: Connection): void {
    const timer = this.engine.clock.setTimer(SIGN_IN_MS, () => {
      if (!connection.session.authenticated) connection.destroy();
    });
    socket.once('close', () => timer.cancel());
  }

  #release(): void {
    for (const connection of this.#held) {
      if (!connection.release()) this.#held.delete(connection);
    }
  }

  #destroyAll(): void {
    for (const connection of [...this.#connections]) connection.destroy();
  }

  async #close(): Promise<void> {
    const closed = this.#listeners.map((listener) => closing(listener));
    for (const connection of [...this.#connections]) connection.end();
    let isOver = false;
    const timer = this.engine.clock.setTimer(CLOSE_MS, () => {
      isOver = true;
      this.#destroyAll();
    });
    await Promise.all(closed);
    while (this.engine.exitCommands.areDue && !isOver) await this.#turn();
    timer.cancel();
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => this.engine.clock.defer(resolve));
  }
}

const NO_LOG: CommitLog = { commit: () => 0, settled: 0, onSettled() {} };

/** Sets maxmemory to the capacity of the heap unless it is set: V8 ends a process whose heap is full. */
function limitMemory({ memory, settings }: Engine): void {
  memory.capacityBytes = capacityFor(getHeapStatistics().heap_size_limit);
  if (settings.number('maxmemory') > memory.capacityBytes) throw heapTooSmall(memory.capacityBytes);
  if (settings.number('maxmemory') === 0) settings.put('maxmemory', String(memory.capacityBytes));
}

function heapTooSmall(capacityBytes: number): ServerError {
  return new ServerError(
    'heap-too-small',
    `refused to start: the heap of this process holds at most ${capacityBytes} bytes of data. ` +
      'Lower maxmemory, or give Node a larger heap (--max-old-space-size).',
  );
}

function openToAll(host: string): ServerError {
  return new ServerError(
    'unprotected',
    `refused to listen on ${host} without a password: every host that reaches it could take and break all locks. ` +
      'Set a password (--password or HOLDFAST_PASSWORD), listen on 127.0.0.1, or use --unprotected in a private network.',
  );
}

/** Other users can open a socket file between its creation and chmod, so that its folder must exclude them. */
async function prepareSocket(path: string): Promise<void> {
  try {
    prepareSocketFolder(dirname(path));
    await removeStaleSocket(path);
  } catch (error) {
    throw error instanceof ServerError ? error : listenError(error as Error, { path });
  }
}

function prepareSocketFolder(folder: string): void {
  makeFolder(folder);
  const reason = dangerOf(folder);
  if (reason === undefined) return;
  throw new ServerError(
    'open-folder',
    `refused to put a socket into ${folder}: ${reason}. Use a folder of your own of mode 0700 (mkdir -m 700 …).`,
  );
}

/**
 * Returns why a folder is not safe for a socket. The owner of the folder, or of a symbolic link to it, could replace
 * the socket.
 */
function dangerOf(folder: string): string | undefined {
  const [found, target] = [lstatSync(folder), statSync(folder)];
  const owners = [0, process.geteuid?.() ?? target.uid];
  const foreign = [found, target].find(({ uid }) => !owners.includes(uid));
  if (foreign !== undefined) return `it belongs to another user (uid ${foreign.uid})`;
  return (target.mode & 0o077) === 0 ? undefined : 'other users may enter it';
}

/** Removes the socket file of a server that has died. A file in use stays, and listening fails. */
async function removeStaleSocket(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!found.isSocket()) {
    throw new ServerError(
      'in-use',
      `refused to replace ${path}: it is not a socket. Choose another path.`,
    );
  }
  if (!(await answers(path))) unlinkSync(path);
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function listening(
  listener: NetServer,
  where: { path: string } | { host: string; port: number },
): Promise<void> {
  return new Promise((resolve, reject) => {
    listener.once('error', (error) => reject(listenError(error, where)));
    listener.listen(where, () => {
      listener.removeAllListeners('error');
      // Accepting a client can fail later (no free file descriptor). The server continues to listen.
      listener.on('error', () => {});
      resolve();
    });
  });
}

function listenError(error: NodeJS.ErrnoException, where: object): ServerError {
  const place = Object.values(where).join(':');
  const advice =
    error.code === 'EADDRINUSE'
      ? 'Another process listens there: stop it, or choose another port with --port (0 takes a free one).'
      : 'Choose another with --host, --port or --unix.';
  return new ServerError(
    'cannot-listen',
    `cannot listen on ${place} (${error.code}). ${advice}`,
    error,
  );
}

function closing(listener: NetServer): Promise<void> {
  return new Promise((resolve) => {
    if (!listener.listening) resolve();
    else listener.close(() => resolve());
  });
}

function socketAddress(host: string | undefined, port: number | undefined): string {
  if (host === undefined) return '';
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
