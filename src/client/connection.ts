import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls';
import type { Clock, Timer } from '../clock/index.ts';
import { ErrorReply, encodeRequest, PushReply, type Reply, ReplyDecoder } from '../resp/index.ts';
import type { Address } from './address.ts';

export interface ConnectionOptions {
  readonly address: Address;
  /** CA, client certificate, key, and other options of Node's TLS. */
  readonly tls?: TlsOptions | undefined;
  readonly clock: Clock;
  /** How long it may take to connect and to sign in. */
  readonly connectTimeoutMs: number;
  /** How long a reply may take. Infinity for a client that sends commands that block. */
  readonly requestTimeoutMs: number;
  /**
   * After this time without a byte from the server, sends a PING, and closes the connection if there is no reply within
   * the same time. Infinity: never.
   */
  readonly heartbeatMs: number;
  /** Receives messages, and any other reply without a request. */
  readonly onPush?: (reply: Reply) => void;
  /** Called once, when an open connection has ended, with the reason if it is not `close()`. */
  readonly onClose?: (reason: Error | undefined) => void;
  /** Aborts the attempt to connect. Has no effect once the connection is open. */
  readonly signal?: AbortSignal | undefined;
  /** The connection keeps the process alive only while a request has no reply. Default: until it ends. */
  readonly unrefWhenIdle?: boolean;
}

/** Receives the result of a request: exactly one call, never a synchronous one. */
export interface Receiver {
  answered(reply: Reply): void;
  /** The connection ended first: the request may have been executed, or not. */
  failed(error: Error): void;
}

/** The connection could not be opened, or was lost. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/**
 * Opens a connection and signs in: AUTH, then SELECT.
 *
 * @throws ConnectionError, or an Error with the server's reply.
 */
export async function openConnection(options: ConnectionOptions): Promise<Connection> {
  const { address, clock, connectTimeoutMs, signal } = options;
  const socket = openSocket(address, options.tls);
  const connection = new Connection(socket, options);
  const late = `no answer within ${connectTimeoutMs} ms`;
  const timer = clock.setTimer(connectTimeoutMs, () => socket.destroy(new Error(late)));
  const abort = (): void => void socket.destroy(new Error('the attempt was aborted'));
  signal?.addEventListener('abort', abort);
  if (signal?.aborted) abort();
  try {
    await connected(socket, address);
    await signIn(connection, address);
    return connection;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    timer.cancel();
    signal?.removeEventListener('abort', abort);
  }
}

/**
 * One connection to a server: sends requests in order, and receives their replies in the same order. The first request of
 * a turn is written at once, since the caller may block the event loop next. The others of that turn are written
 * together at its end, or earlier when they are large.
 *
 * A dead connection causes no event. So it is closed when a reply does not arrive in time; and a connection without
 * requests is checked by PING.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #decoder = new ReplyDecoder();
  /** Requests without a reply, in order, from the index `#first` on. */
  #pending: Pending[] = [];
  #first = 0;
  /** Whether the first request of this turn was written: the others are collected until the turn ends. */
  #isCollecting = false;
  #outgoing = '';
  #receivedMs: number;
  #checkTimer: Timer | undefined;
  #isOpen = true;
  #hasSubscribed = false;
  #reason: Error | undefined;

  /** The socket may still be connecting: it buffers what is written. */
  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#receivedMs = options.clock.monotonicMs();
    socket.setNoDelay(true);
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', (error) => {
      this.#reason ??= error;
    });
    socket.on('end', () => {
      this.#reason ??= new Error('the server closed it');
    });
    socket.on('close', () => this.#ended());
    this.#checkLater();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sends a request. Each char of an argument is a byte. */
  send(argv: readonly string[], receiver: Receiver): void {
    if (!this.#isOpen) {
      queueMicrotask(() => receiver.failed(this.#lost()));
      return;
    }
    const subscribes = SUBSCRIPTION.test(argv[0]!);
    if (subscribes) this.#hasSubscribed = true;
    if (this.#options.unrefWhenIdle && this.#pending.length === 0) this.#socket.ref();
    this.#pending.push({ receiver, subscribes, sentMs: this.#options.clock.monotonicMs() });
    this.#outgoing += encodeRequest(argv);
    if (this.#isCollecting && this.#outgoing.length < MAX_COLLECTED_BYTES) return;
    if (!this.#isCollecting) READY.then(this.#endTurn);
    this.#isCollecting = true;
    this.#write();
  }

  /** Sends a request, and resolves with its reply, which may be an error reply. */
  request(argv: readonly string[]): Promise<Reply> {
    return new Promise((answered, failed) => this.send(argv, { answered, failed }));
  }

  /** Ends the connection at once. Pending requests fail. */
  close(): void {
    this.#socket.destroy();
  }

  /** Returns the socket to the caller. This object does not read or close it any more. */
  detach(): Socket {
    this.#isOpen = false;
    this.#checkTimer?.cancel();
    for (const event of ['data', 'error', 'end', 'close']) this.#socket.removeAllListeners(event);
    return this.#socket;
  }

  readonly #endTurn = (): void => {
    this.#isCollecting = false;
    if (this.#outgoing !== '') this.#write();
  };

  #write(): void {
    const text = this.#outgoing;
    this.#outgoing = '';
    if (this.#isOpen) this.#socket.write(text, 'latin1');
  }

  #receive(chunk: Buffer): void {
    this.#receivedMs = this.#options.clock.monotonicMs();
    try {
      this.#decoder.push(chunk);
      for (let reply = this.#decoder.next(); reply !== undefined; reply = this.#decoder.next()) {
        this.#deliver(reply);
      }
    } catch (error) {
      // The bytes are not RESP, or a receiver threw: later replies cannot be matched to requests.
      this.#socket.destroy(error as Error);
    }
  }

  #deliver(reply: Reply): void {
    const next = this.#pending[this.#first];
    if (next === undefined || this.#isPush(reply, next)) {
      this.#options.onPush?.(reply);
      return;
    }
    this.#first++;
    // The array is replaced when all requests have replies: shift() for each would move the others.
    if (this.#first === this.#pending.length) {
      this.#pending = [];
      this.#first = 0;
      if (this.#options.unrefWhenIdle) this.#socket.unref();
    }
    next.receiver.answered(reply);
  }

  /** Without a subscription there are no messages: an array that looks like one is a reply. */
  #isPush(reply: Reply, { subscribes }: Pending): boolean {
    if (reply instanceof PushReply) return !subscribes || !isConfirmation(reply);
    return this.#hasSubscribed && isMessage(reply);
  }

  #ended(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#checkTimer?.cancel();
    const pending = this.#pending.slice(this.#first);
    this.#pending = [];
    this.#first = 0;
    for (const { receiver } of pending) receiver.failed(this.#lost());
    this.#options.onClose?.(this.#reason);
  }

  #lost(): ConnectionError {
    const { label } = this.#options.address;
    const reason = this.#reason === undefined ? 'it was closed' : reasonOf(this.#reason);
    return new ConnectionError(
      `the connection to ${label} was lost before the answer came: ${reason}`,
      { cause: this.#reason },
    );
  }

  /** Checks twice within the shorter limit, so that no limit is exceeded by more than half. */
  #checkLater(): void {
    const { clock, requestTimeoutMs, heartbeatMs } = this.#options;
    const everyMs = Math.min(requestTimeoutMs, heartbeatMs) / 2;
    if (everyMs === Number.POSITIVE_INFINITY) return;
    this.#checkTimer = clock.setTimer(everyMs, () => {
      this.#check(clock.monotonicMs());
      if (this.#isOpen) this.#checkLater();
    });
  }

  #check(nowMs: number): void {
    const { requestTimeoutMs, heartbeatMs } = this.#options;
    const oldest = this.#pending[this.#first];
    if (oldest !== undefined) {
      // The server replies in order: while replies to earlier requests arrive, this one is not late.
      const waitedMs = nowMs - Math.max(oldest.sentMs, this.#receivedMs);
      const limitMs = oldest.receiver === PROBE ? heartbeatMs : requestTimeoutMs;
      if (waitedMs >= limitMs) this.#socket.destroy(new Error(`no answer within ${limitMs} ms`));
    } else if (nowMs - this.#receivedMs >= heartbeatMs) this.send(['PING'], PROBE);
  }
}

interface Pending {
  readonly receiver: Receiver;
  readonly subscribes: boolean;
  readonly sentMs: number;
}

/** READY.then(callback) is cheaper than queueMicrotask, which creates an async resource. */
const READY = Promise.resolve();

const MAX_COLLECTED_BYTES = 2048;

/** Receives the reply to a PING, which is ignored. */
const PROBE: Receiver = { answered() {}, failed() {} };

/** RESP3 confirms a subscription by a push message, which is the only reply to the command. */
function isConfirmation({ items }: PushReply): boolean {
  return typeof items[0] === 'string' && SUBSCRIPTION.test(items[0]);
}

/** With RESP2 messages are arrays, like other replies. */
function isMessage(reply: Reply): boolean {
  return Array.isArray(reply) && MESSAGES.has(reply[0]);
}

const MESSAGES: ReadonlySet<unknown> = new Set(['message', 'pmessage', 'smessage']);
const SUBSCRIPTION = /^[ps]?(?:un)?subscribe$/i;

function openSocket({ socket, isSecure }: Address, tls: TlsOptions | undefined): Socket {
  if (!isSecure) return connectPlain(socket);
  const servername =
    'host' in socket && !isIpAddress(socket.host) ? { servername: socket.host } : {};
  return connectTls({ ...socket, ...servername, ...tls });
}

/** SNI accepts host names only. */
function isIpAddress(host: string): boolean {
  return /^[\d.]+$/.test(host) || host.includes(':');
}

function connected(socket: Socket, { label, isSecure }: Address): Promise<void> {
  return new Promise((resolve, reject) => {
    let failure: Error | undefined;
    socket.once(isSecure ? 'secureConnect' : 'connect', resolve);
    socket.once('error', (error) => {
      failure = error;
    });
    socket.once('close', () => {
      const reason = failure === undefined ? 'it was closed' : reasonOf(failure);
      reject(new ConnectionError(`Could not connect to ${label} (${reason})`, { cause: failure }));
    });
  });
}

async function signIn(
  connection: Connection,
  { user, password, database }: Address,
): Promise<void> {
  const commands: string[][] = [];
  if (password !== '') commands.push(['AUTH', ...(user === '' ? [] : [user]), password]);
  if (database !== 0) commands.push(['SELECT', String(database)]);
  for (const reply of await Promise.all(commands.map((argv) => connection.request(argv)))) {
    if (reply instanceof ErrorReply) throw new Error(reply.message);
  }
}

/** Returns only the code of a system error such as ECONNREFUSED. Errors of TLS need their message. */
function reasonOf({ code = '', message }: NodeJS.ErrnoException): string {
  if (/^E[A-Z]+$/.test(code)) return code;
  return code === '' ? message : `${message}, ${code}`;
}
