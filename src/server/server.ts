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
import { capacityFor } from '../heap-size.ts';
import { makeFolder } from '../make-folder.ts';
import { ByteWriter } from '../resp/index.ts';
import { Connection, type ConnectionOwner } from './connection.ts';
import { ServerError } from './errors.ts';
import { SharedEncoder } from './shared-chunks.ts';
import { ThrottledLog } from './throttled-log.ts';
import { Turns } from './turns.ts';

export interface ServerOptions {
  readonly engine: Engine;
  /** TCP address; loopback unless told otherwise. */
  readonly host?: string;
  /** TCP port; 0 takes a free one; left out together with `unix` given: no TCP. */
  readonly port?: number;
  /** Path of a Unix socket, in a folder that only its owner may enter. */
  readonly unix?: string;
  /** Listens beyond loopback although nobody needs a password. */
  readonly unprotected?: boolean;
  /** Told what an operator wants to know: clients that were closed and why. */
  readonly report?: (message: string) => void;
}

/** The engine behind sockets. */
export interface Server {
  /** Where it listens, for people and for clients: `127.0.0.1:6379`, a path. */
  readonly addresses: readonly string[];
  /** The TCP port, or 0 without TCP. */
  readonly port: number;
  readonly connectionCount: number;
  /** Stops accepting, answers what has arrived, ends every connection, runs their wills. Safe to call twice. */
  close(): Promise<void>;
}

/** Starts to listen. Rejects with a ServerError that says what to do when it cannot. */
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
/** redis.LOG_NOTICE; what scripts log below it is for debugging. */
const LOG_NOTICE = 2;
const LOOPBACK = /^(localhost|::1|127(\.\d+){3})$/;
/** How long a connection may take to sign in where a password is needed. */
const SIGN_IN_MS = 10_000;

class SocketServer implements Server, ConnectionOwner {
  readonly engine: Engine;
  readonly addresses: string[] = [];
  port = 0;
  readonly writer = new ByteWriter();
  readonly lateWriter = new ByteWriter();
  readonly sharedEncoder: SharedEncoder;
  readonly turns: Turns;
  readonly #options: ServerOptions;
  readonly #log: ThrottledLog;
  readonly #listeners: NetServer[] = [];
  readonly #connections = new Set<Connection>();
  #closing: Promise<void> | undefined;

  constructor(options: ServerOptions) {
    this.engine = options.engine;
    this.#options = options;
    this.#log = new ThrottledLog(this.engine.clock, options.report ?? (() => {}));
    this.sharedEncoder = new SharedEncoder(this.engine.memory.clients);
    this.turns = new Turns(this.engine.clock, () => this.sharedEncoder.forget());
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

  forget(connection: Connection): void {
    this.#connections.delete(connection);
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
      // Else Node would end our side as soon as the client has ended its own, before the replies left.
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
    if (!this.#hasRoom()) {
      this.engine.stats.rejectedSessions++;
      connection.refuse('ERR max number of clients reached');
      return;
    }
    this.#connections.add(connection);
    if (!session.authenticated) this.#limitSignIn(socket, connection);
  }

  #hasRoom(): boolean {
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

  #destroyAll(): void {
    for (const connection of [...this.#connections]) connection.destroy();
  }

  async #close(): Promise<void> {
    const closed = this.#listeners.map((listener) => closing(listener));
    for (const connection of [...this.#connections]) connection.end();
    let isOver = false;
    const patience = this.engine.clock.setTimer(CLOSE_MS, () => {
      isOver = true;
      this.#destroyAll();
    });
    await Promise.all(closed);
    while (this.engine.exitCommands.areDue && !isOver) await this.#turn();
    patience.cancel();
  }

  #turn(): Promise<void> {
    return new Promise((resolve) => this.engine.clock.defer(resolve));
  }
}

/** A server without a limit of its own has that of the heap: V8 ends a process that exceeds it. */
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
    `refused to listen on ${host} without a password: anybody who reaches it could take and break every lock. ` +
      'Set a password (--password or HOLDFAST_PASSWORD), listen on 127.0.0.1, or say --unprotected if the network is yours alone.',
  );
}

/** A socket file is open to all between its creation and chmod, so that its folder must keep others out. */
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
 * The owner of the folder could replace the socket by one of its own, and so could the owner of a link to the
 * folder, by another link.
 */
function dangerOf(folder: string): string | undefined {
  const [found, target] = [lstatSync(folder), statSync(folder)];
  const owners = [0, process.geteuid?.() ?? target.uid];
  const foreign = [found, target].find(({ uid }) => !owners.includes(uid));
  if (foreign !== undefined) return `it belongs to another user (uid ${foreign.uid})`;
  return (target.mode & 0o077) === 0 ? undefined : 'other users may enter it';
}

/** Removes the file that a server which died has left; one that is in use stays, and listening fails. */
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
      // Accepting can fail later (no file handle is free): the next client may have more luck.
      listener.on('error', () => {});
      resolve();
    });
  });
}

function listenError(error: NodeJS.ErrnoException, where: object): ServerError {
  const place = Object.values(where).join(':');
  const advice =
    error.code === 'EADDRINUSE'
      ? 'Something listens there already: stop it, or choose another with --port (0 takes a free one).'
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
