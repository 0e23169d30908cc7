import { chmodSync, lstatSync, statSync, unlinkSync } from 'node:fs';
import {
  connect,
  createServer as createNetServer,
  type Server as NetServer,
  type Socket,
} from 'node:net';
import { dirname } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { getHeapStatistics } from 'node:v8';
import { CLIENT_BYTES, type Engine, type Session } from '../engine/index.ts';
import { makeFolder } from '../make-folder.ts';
import { capacityFor } from '../memory/index.ts';
import { ByteWriter } from '../resp/index.ts';
import { type CommitLog, Connection, type ConnectionOwner } from './connection.ts';
import { ServerError } from './errors.ts';
import { LOG_LEVELS, type LogEntry, type LogLevel } from './log-entry.ts';
import { SharedEncoder } from './shared-chunks.ts';
import { withSharedInput } from './shared-input.ts';
import { ThrottledLog } from './throttled-log.ts';
import { certificateUser, type SecureClient, signInAs, TlsHandshakes } from './tls.ts';
import type { TlsFiles, TlsOptions } from './tls-options.ts';
import { Turns } from './turns.ts';

export interface ServerOptions {
  readonly engine: Engine;
  /** TCP address. Default: 127.0.0.1. */
  readonly host?: string;
  /**
   * TCP port without TLS; 0 takes a free one, or none if `tls` is given. Default: 6379, or no TCP if `unix` is given.
   */
  readonly port?: number;
  /** A further TCP port, for TLS only. Default: none. */
  readonly tls?: TlsOptions;
  /** Path of a Unix socket. Its folder must have mode 0700; the server creates it if it does not exist. */
  readonly unix?: string;
  /** Allows to listen beyond loopback without a password. Default: false. */
  readonly unprotected?: boolean;
  /** The log of the engine. Default: none, the data is in memory only. */
  readonly log?: CommitLog;
  /**
   * Receives log lines for the operator, such as clients that were closed and the reason, from the level of the setting
   * `loglevel` on. Default: none.
   */
  readonly report?: (message: string, entry: LogEntry) => void;
}

/** The engine behind sockets. */
export interface Server {
  /** The addresses on which it listens: `127.0.0.1:6379`, `rediss://127.0.0.1:6380`, the path of a Unix socket. */
  readonly addresses: readonly string[];
  /** The TCP port without TLS, or 0 if there is none. */
  readonly port: number;
  /** The TCP port for TLS, or 0 if there is none. */
  readonly tlsPort: number;
  readonly connectionCount: number;
  /**
   * Uses another certificate for TLS clients that connect from now on. Connected clients stay.
   *
   * @throws ServerError if it cannot be used. The certificate before stays in use.
   */
  setCertificate(files: TlsFiles): void;
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
const LOOPBACK = /^(localhost|::1|127(\.\d+){3})$/;
/** How long a connection may take to sign in, if there is a password. */
const SIGN_IN_MS = 10_000;

class SocketServer implements Server, ConnectionOwner {
  readonly engine: Engine;
  readonly addresses: string[] = [];
  port = 0;
  tlsPort = 0;
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
  #tls: TlsHandshakes | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: ServerOptions) {
    this.engine = options.engine;
    this.#options = options;
    this.#log = new ThrottledLog(this.engine.clock, (entry) =>
      options.report?.(entry.message, entry),
    );
    this.sharedEncoder = new SharedEncoder(this.engine.memory.clients);
    this.turns = new Turns(this.engine.clock, () => this.sharedEncoder.forget());
    this.log = options.log ?? NO_LOG;
    if (options.log !== undefined) options.log.onSettled = () => this.#release();
    limitMemory(this.engine);
    // The numbers of redis.log are the positions of its levels.
    this.engine.log = (level, message) => {
      this.report({ level: LOG_LEVELS[level]!, event: 'engine', message });
    };
  }

  get connectionCount(): number {
    return this.#connections.size;
  }

  async listen(): Promise<void> {
    const { host = '127.0.0.1', port, tls, unix, unprotected = false } = this.#options;
    const usesPlain = port === undefined ? unix === undefined : port !== 0 || tls === undefined;
    if ((usesPlain || tls !== undefined) && !LOOPBACK.test(host)) {
      if (!this.engine.needsPassword && !unprotected) throw openToAll(host);
    }
    if (usesPlain) {
      this.port = await this.#listenTcp(this.#plainListener(), host, port ?? 6379);
      this.addresses.push(hostAndPort(host, this.port));
    }
    if (tls !== undefined) await this.#listenTls(host, tls);
    if (unix !== undefined) await this.#listenUnix(unix);
  }

  setCertificate(files: TlsFiles): void {
    if (this.#tls === undefined) throw new Error('this server has no port for TLS');
    this.#tls.reload(files);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  report(entry: LogEntry): void {
    const least = this.engine.settings.text('loglevel') as LogLevel;
    if (LOG_LEVELS.indexOf(entry.level) >= LOG_LEVELS.indexOf(least)) this.#log.write(entry);
  }

  releaseLater(connection: Connection): void {
    this.#held.add(connection);
  }

  forget(connection: Connection): void {
    this.#connections.delete(connection);
    this.#held.delete(connection);
    this.turns.forget(connection);
  }

  /** Returns the port. */
  async #listenTcp(listener: NetServer, host: string, port: number): Promise<number> {
    await listening(listener, { host, port });
    const address = listener.address();
    if (address === null || typeof address === 'string') throw new Error('no TCP address');
    return address.port;
  }

  async #listenTls(host: string, options: TlsOptions): Promise<void> {
    const tls = new TlsHandshakes(options, this.engine.clock, {
      connected: (client) => this.#guard(client.socket, () => this.#acceptSecure(client)),
      failed: (socket, reason) => this.#reportHandshake(socket, reason),
    });
    this.#tls = tls;
    const listener = this.#createListener((socket) => {
      if (this.#hasCapacity() && tls.begin(socket)) return;
      this.#reportHandshake(socket, 'too many clients or handshakes');
      this.engine.stats.rejectedSessions++;
      socket.destroy();
    });
    this.tlsPort = await this.#listenTcp(listener, host, options.port);
    this.addresses.push(`rediss://${hostAndPort(host, this.tlsPort)}`);
  }

  async #listenUnix(path: string): Promise<void> {
    await prepareSocket(path);
    await listening(this.#plainListener(), { path });
    chmodSync(path, 0o600);
    this.addresses.push(path);
  }

  #plainListener(): NetServer {
    // Without half-open sockets, Node would close when the client closes its side, before the replies are sent.
    const options = { allowHalfOpen: true, wrap: withSharedInput };
    return this.#createListener((socket) => this.#accept(socket), options);
  }

  #createListener(
    accept: (socket: Socket) => void,
    { allowHalfOpen = false, wrap = (socket: Socket) => socket } = {},
  ): NetServer {
    const keepAliveMs = this.engine.settings.number('tcp-keepalive') * 1000;
    const listener = createNetServer({
      allowHalfOpen,
      noDelay: true,
      keepAlive: keepAliveMs > 0,
      keepAliveInitialDelay: keepAliveMs,
    });
    listener.on('connection', (accepted) => {
      const socket = wrap(accepted);
      this.#guard(socket, () => accept(socket));
    });
    this.#listeners.push(listener);
    return listener;
  }

  /** Runs a callback of a listener. An exception costs this connection only. */
  #guard(socket: Socket, callback: () => void): void {
    try {
      callback();
    } catch (error) {
      socket.destroy();
      const message = `refused a connection after an internal error: ${(error as Error).stack}`;
      this.report({ level: 'warning', event: 'internal-error', message });
    }
  }

  #acceptSecure({ socket, refusal }: SecureClient): void {
    const connection = this.#accept(socket);
    if (connection === undefined) return;
    const { address } = connection.session;
    const reason = refusal ?? this.#signInByCertificate(connection.session, socket);
    if (reason === undefined) return;
    const message = `closed ${address}: ${reason}`;
    this.report({ level: 'notice', event: 'client-closed', message, fields: { address, reason } });
    connection.refuse(`NOAUTH ${reason}.`);
  }

  /** Returns why the name in the certificate is refused. A name that is no user leaves the session as it is. */
  #signInByCertificate(session: Session, socket: TLSSocket): string | undefined {
    if (this.#options.tls?.user !== 'CN') return undefined;
    const certificate = socket.getPeerCertificate();
    if (certificate.subject === undefined) return undefined;
    const name = certificateUser(certificate.subject);
    if (name === undefined) return 'the client certificate must have one CN, of printable ASCII';
    signInAs(session, name);
    return undefined;
  }

  #reportHandshake(socket: Socket, reason: string): void {
    if (this.#closing !== undefined) return;
    const address = socketAddress(socket.remoteAddress, socket.remotePort);
    const message = `refused ${address || 'a client'} at the TLS handshake: ${reason}`;
    this.report({ level: 'notice', event: 'tls-refused', message, fields: { address, reason } });
  }

  /** Returns undefined for a connection that was refused. */
  #accept(socket: Socket): Connection | undefined {
    if (isReset(socket)) {
      socket.destroy();
      return undefined;
    }
    const connection = new Connection(this, socket);
    const { session } = connection;
    session.address = socketAddress(socket.remoteAddress, socket.remotePort);
    session.localAddress = socketAddress(socket.localAddress, socket.localPort);
    if (!this.#hasCapacity()) {
      this.engine.stats.rejectedSessions++;
      connection.refuse('ERR max number of clients reached');
      return undefined;
    }
    this.#connections.add(connection);
    const { address } = session;
    const message = `accepted ${address || 'a client of the Unix socket'}`;
    this.report({ level: 'verbose', event: 'client-connected', message, fields: { address } });
    if (!session.authenticated) this.#limitSignIn(socket, connection);
    return connection;
  }

  #hasCapacity(): boolean {
    const { settings, memory } = this.engine;
    memory.clients.evictUnlessFits(CLIENT_BYTES);
    if (!memory.clients.fits(CLIENT_BYTES)) return false;
    const pending = this.#tls?.pendingCount ?? 0;
    return this.#connections.size + pending < settings.number('maxclients');
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
    this.#tls?.close();
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

/** Whether a client over TCP has reset its connection already. Without an address it would pass for one of the Unix socket. */
function isReset({ remoteAddress, localAddress }: Socket): boolean {
  return remoteAddress === undefined && localAddress !== undefined;
}

function socketAddress(host: string | undefined, port: number | undefined): string {
  return host === undefined || port === undefined ? '' : hostAndPort(host, port);
}

function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
