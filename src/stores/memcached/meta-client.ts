import { connect, type Socket } from 'node:net';
import type { Clock } from '../../clock/index.ts';
import { Scheduled, TimerQueue } from '../../lock/index.ts';
import type { MemcachedAddress } from './memcached-address.ts';
import { MetaDecoder, type MetaReply } from './meta-reply.ts';

export interface MetaClientOptions {
  readonly address: MemcachedAddress;
  readonly clock: Clock;
  readonly requestTimeoutMs: number;
}

/**
 * A client of one memcached: one connection, on which commands are pipelined. It connects with the first command, and
 * again with the first command after the connection has ended. An idle connection does not keep the process alive. The
 * server replies in order, so a reply that is late makes all later ones late: the timeout of a command ends the
 * connection, and all its commands fail. A command is never sent again, since it may have been executed.
 */
export class MetaClient {
  readonly #options: MetaClientOptions;
  readonly #timeouts: TimerQueue<Pending>;
  #connection: Connection | undefined;
  #connectionCount = 0;
  #failures = 0;
  #notBeforeMs = 0;
  #lastError: Error | undefined;
  #isClosed = false;

  constructor(options: MetaClientOptions) {
    this.#options = options;
    const { clock, requestTimeoutMs } = options;
    this.#timeouts = new TimerQueue(clock, requestTimeoutMs, (pending) => {
      const error = new Error(`no answer within ${requestTimeoutMs} ms`);
      pending.fail(lostError(options.address, error));
      pending.connection.socket.destroy(error);
    });
  }

  /** The number of the open connection. Undefined: there is none. */
  get connectionId(): number | undefined {
    return this.#connection?.id;
  }

  /**
   * Sends a command, and resolves with its reply and the number of its connection. cas numbers begin again with the
   * server, so a command with a cas number names the connection that it was read on, and is not sent on any other.
   */
  request(command: string, connectionId?: number): Promise<Answer> {
    const { clock } = this.#options;
    return new Promise((resolve, reject) => {
      const nowMs = clock.monotonicMs();
      const connection = this.#connection ?? this.#connect(nowMs);
      if (connection instanceof Error) reject(connection);
      else if (connectionId !== undefined && connectionId !== connection.id)
        reject(new Error(MOVED));
      else {
        const pending = new Pending(connection, resolve, reject);
        if (connection.pending.length === 0) connection.socket.ref();
        connection.pending.push(pending);
        this.#timeouts.add(pending, nowMs);
        connection.write(command);
      }
    });
  }

  /** Ends the connection. Pending and later commands fail. */
  close(): void {
    this.#isClosed = true;
    this.#connection?.socket.destroy(new Error(CLOSED));
    this.#timeouts.close();
  }

  /** During the pause after a failure, commands fail at once with that error: their callers retry. */
  #connect(nowMs: number): Connection | Error {
    if (this.#isClosed) return new Error(CLOSED);
    if (nowMs < this.#notBeforeMs) return this.#lastError!;
    const { host, port } = this.#options.address;
    const socket = connect({ host, port, noDelay: true });
    const connection = new Connection(++this.#connectionCount, socket, {
      answered: () => {
        this.#failures = 0;
      },
      ended: (reason) => this.#ended(connection, reason),
    });
    this.#connection = connection;
    return connection;
  }

  #ended(connection: Connection, reason: Error): void {
    this.#connection = undefined;
    const error = lostError(this.#options.address, reason);
    this.#lastError = error;
    const pauseMs = Math.min(MIN_PAUSE_MS * 2 ** this.#failures++, MAX_PAUSE_MS);
    this.#notBeforeMs = this.#options.clock.monotonicMs() + pauseMs;
    for (const pending of connection.pending) pending.fail(error);
  }
}

export interface Answer {
  readonly reply: Exclude<MetaReply, { code: 'error' }>;
  readonly connectionId: number;
}

/** One connection. It ends on an error, and is then replaced. */
class Connection {
  readonly id: number;
  readonly socket: Socket;
  /** Commands without a reply, in order. */
  pending: Pending[] = [];
  readonly #events: ConnectionEvents;
  readonly #decoder = new MetaDecoder();
  #reason: Error | undefined;
  #isCorked = false;

  constructor(id: number, socket: Socket, events: ConnectionEvents) {
    this.id = id;
    this.socket = socket;
    this.#events = events;
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('error', (error) => {
      this.#reason ??= error;
    });
    socket.on('close', () => this.#events.ended(this.#reason ?? new Error('the server closed it')));
  }

  /** Commands of one turn are written together. Node buffers them until the socket is connected. */
  write(command: string): void {
    if (!this.#isCorked) {
      this.#isCorked = true;
      this.socket.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        this.socket.uncork();
      });
    }
    this.socket.write(command, 'utf8');
  }

  #receive(chunk: Buffer): void {
    try {
      for (const reply of this.#decoder.push(chunk)) this.#settle(reply);
    } catch (error) {
      // The next replies cannot be matched to commands: all pending commands fail with this error.
      this.socket.destroy(error as Error);
    }
  }

  /** A server that does not know a command may take its value for another command, and reply to that, too. */
  #settle(reply: MetaReply): void {
    const [next] = this.pending;
    if (next === undefined) throw new Error('a reply without a command');
    const error = reply.code === 'error' ? replyError(reply.line) : undefined;
    if (error !== undefined && 'isFinal' in error) throw error;
    this.pending.shift();
    if (this.pending.length === 0) this.socket.unref();
    this.#events.answered();
    if (reply.code === 'error') next.fail(error!);
    else next.succeed({ reply, connectionId: this.id });
  }
}

interface ConnectionEvents {
  answered(): void;
  ended(reason: Error): void;
}

/** A command that was written, until its reply arrives or it fails. */
class Pending extends Scheduled<Pending> {
  readonly connection: Connection;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: Error) => void;

  constructor(
    connection: Connection,
    resolve: (answer: Answer) => void,
    reject: (error: Error) => void,
  ) {
    super();
    this.connection = connection;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  succeed(answer: Answer): void {
    this.unschedule();
    this.#resolve(answer);
  }

  fail(error: Error): void {
    this.unschedule();
    this.#reject(error);
  }
}

function lostError({ label }: MemcachedAddress, reason: NodeJS.ErrnoException): Error {
  if ('isFinal' in reason) return reason;
  const code = /^E[A-Z]+$/.test(reason.code ?? '') ? reason.code : reason.message;
  return new Error(`no connection to ${label}: ${code}`, { cause: reason });
}

/** `ERROR` and `CLIENT_ERROR` would be the reply to a retry, too. `SERVER_ERROR`: out of memory, for now. */
function replyError(line: string): Error {
  if (line.startsWith('SERVER_ERROR')) return new Error(`memcached replied '${line}'`);
  const advice =
    line === 'ERROR' ? ' Holdfast needs the meta commands of memcached 1.6 or later.' : '';
  return Object.assign(new Error(`memcached replied '${line}'.${advice}`), { isFinal: true });
}

const CLOSED = 'the store was closed';
const MOVED = 'the connection ended before the command was sent';
/** The pause between two attempts to connect. It doubles while no reply arrives. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;
