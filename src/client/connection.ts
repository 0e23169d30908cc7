import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions as TlsOptions } from 'node:tls';
import type { Clock, Timer } from '../clock/index.ts';
import { ErrorReply, encodeRequest, PushReply, type Reply, ReplyDecoder } from '../resp/index.ts';
import type { Address } from './address.ts';

export interface ConnectionOptions {
  readonly address: Address;
  /** CA, client certificate and key, and what else Node's TLS takes. */
  readonly tls?: TlsOptions | undefined;
  readonly clock: Clock;
  /** How long it may take to connect and to sign in. */
  readonly connectTimeoutMs: number;
  /** How long a reply may take. Infinity for a client that sends commands that block. */
  readonly requestTimeoutMs: number;
  /**
   * After so long without a byte from the server the connection is probed, and closed if it stays silent for as long
   * again. Infinity: never.
   */
  readonly heartbeatMs: number;
  /** Receives messages, and any other reply that answers no request. */
  readonly onPush?: (reply: Reply) => void;
  /** Called once, when an open connection has ended, with the reason if it is not `close()`. */
  readonly onClose?: (reason: Error | undefined) => void;
  /** Aborts the attempt to connect; nothing afterwards. */
  readonly signal?: AbortSignal | undefined;
}

/** Receives the result of a request: exactly one call, never a synchronous one. */
export interface Receiver {
  answered(reply: Reply): void;
  /** The connection ended first: the request may have been executed, or not. */
  failed(error: Error): void;
}

/** There is no connection, or it broke. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/**
 * Opens a connection and signs in: AUTH, then SELECT. Rejects with a ConnectionError, or with an Error that
 * has the server's reply.
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
 * One connection to a server, until it ends: requests in order, and their replies in the same order. The first
 * request of a turn is written at once, since a caller may block the event loop next; the others of that turn are
 * written together, unless they are so large that the server had better begin.
 *
 * A connection that is dead does not say so. It is closed when a reply does not come in time; and when no byte
 * has come for a while and nothing is asked, it is probed by PING.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #decoder = new ReplyDecoder();
  /** Waiting for a reply, in order, from `#first` on. */
  #pending: Pending[] = [];
  #first = 0;
  /** The first request of this turn was written; the others wait for the end of the turn. */
  #isGathering = false;
  #outgoing = '';
  #receivedMs: number;
  #watch: Timer | undefined;
  #isOpen = true;
  #hasSubscribed = false;
  #reason: Error | undefined;

  /** The socket may still be connecting: what is sent waits in it. */
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
    this.#watchLater();
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Sends a request of which each char of each argument is a byte. */
  send(argv: readonly string[], receiver: Receiver): void {
    if (!this.#isOpen) {
      queueMicrotask(() => receiver.failed(this.#lost()));
      return;
    }
    const subscribes = SUBSCRIPTION.test(argv[0]!);
    if (subscribes) this.#hasSubscribed = true;
    this.#pending.push({ receiver, subscribes, sentMs: this.#options.clock.monotonicMs() });
    this.#outgoing += encodeRequest(argv);
    if (this.#isGathering && this.#outgoing.length < MAX_GATHERED_BYTES) return;
    if (!this.#isGathering) GATHERED.then(this.#endGathering);
    this.#isGathering = true;
    this.#write();
  }

  /** The same as a promise. An error reply is a value, as any other reply. */
  request(argv: readonly string[]): Promise<Reply> {
    return new Promise((answered, failed) => this.send(argv, { answered, failed }));
  }

  /** Ends the connection at once. What waits for a reply fails. */
  close(): void {
    this.#socket.destroy();
  }

  /** Gives the socket away: this connection neither reads nor watches it from now on. */
  detach(): Socket {
    this.#isOpen = false;
    this.#watch?.cancel();
    for (const event of ['data', 'error', 'end', 'close']) this.#socket.removeAllListeners(event);
    return this.#socket;
  }

  readonly #endGathering = (): void => {
    this.#isGathering = false;
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
      // What answers there does not speak this protocol, or a receiver has a fault: either way no reply can be matched.
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
    // The requests of one turn are dropped together: to shift each would move all others.
    if (this.#first === this.#pending.length) {
      this.#pending = [];
      this.#first = 0;
    }
    next.receiver.answered(reply);
  }

  /** Only a connection that has subscribed gets messages: before, an array that looks like one is data. */
  #isPush(reply: Reply, { subscribes }: Pending): boolean {
    if (reply instanceof PushReply) return !subscribes || !isConfirmation(reply);
    return this.#hasSubscribed && isMessage(reply);
  }

  #ended(): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#watch?.cancel();
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

  /** Looks twice as often as the shorter of the limits, so that none is exceeded by more than half. */
  #watchLater(): void {
    const { clock, requestTimeoutMs, heartbeatMs } = this.#options;
    const everyMs = Math.min(requestTimeoutMs, heartbeatMs) / 2;
    if (everyMs === Number.POSITIVE_INFINITY) return;
    this.#watch = clock.setTimer(everyMs, () => {
      this.#check(clock.monotonicMs());
      if (this.#isOpen) this.#watchLater();
    });
  }

  #check(nowMs: number): void {
    const { requestTimeoutMs, heartbeatMs } = this.#options;
    const oldest = this.#pending[this.#first];
    if (oldest !== undefined) {
      // The server answers in order: while it answers others, this one waits for its turn.
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

/** A promise that is there already: cheaper than queueMicrotask, which makes an asynchronous resource. */
const GATHERED = Promise.resolve();

const MAX_GATHERED_BYTES = 2048;

/** Receives the reply to the PING of a quiet connection: that it comes is enough. */
const PROBE: Receiver = { answered() {}, failed() {} };

/** RESP3 confirms a subscription by a push, which is then the only answer to the command. */
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

/** A certificate is looked up by name; SNI takes no addresses. */
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

/** ECONNREFUSED and its like say all; those of TLS need their sentence. */
function reasonOf({ code = '', message }: NodeJS.ErrnoException): string {
  if (/^E[A-Z]+$/.test(code)) return code;
  return code === '' ? message : `${message}, ${code}`;
}
