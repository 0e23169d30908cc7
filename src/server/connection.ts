import type { Socket } from 'node:net';
import { type Engine, executeNow, type Outcome, PARKED, type Session } from '../engine/index.ts';
import {
  type ByteWriter,
  DEFAULT_REQUEST_LIMITS,
  ErrorReply,
  ManyReply,
  ProtocolError,
  type Reply,
  RequestDecoder,
  type RequestLimits,
  writeReply,
} from '../resp/index.ts';

/** What a connection needs from the server that accepted it. */
export interface ConnectionOwner {
  readonly engine: Engine;
  /** For the replies to one chunk; empty between chunks. */
  readonly writer: ByteWriter;
  /** For one reply that comes while another connection uses `writer`; empty otherwise. */
  readonly pushWriter: ByteWriter;
  /** Calls `flush` when the chunks that have arrived for all connections are done. */
  flushLater(connection: Connection): void;
  /** Bytes that wait for clients that do not read, over all connections. */
  backlogBytes: number;
  report(message: string): void;
  forget(connection: Connection): void;
}

/**
 * One client's socket: bytes in, commands to the engine, replies out. All replies to one chunk leave in
 * one write, after the chunks of the other clients were read: first all the work, then all the writing.
 * A parked command stops the reading of further ones, not of bytes, until its reply came.
 */
export class Connection {
  readonly session: Session;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #limits: RequestLimits;
  readonly #decoder: RequestDecoder;
  /** What is to be written, in order. */
  #outgoing: Buffer[] = [];
  #isWorking = false;
  #parked = false;
  #flushScheduled = false;
  #ending = false;

  constructor(owner: ConnectionOwner, socket: Socket) {
    this.#owner = owner;
    this.#socket = socket;
    this.#limits = requestLimits(owner.engine);
    this.#decoder = new RequestDecoder(this.#limits);
    this.session = owner.engine.session({
      push: (reply) => this.#push(reply),
      resume: (reply) => this.#resume(reply),
      close: () => this.#endAfterWrite(),
    });
    socket.on('data', (chunk) => this.#receive(chunk));
    // The client has said everything (`… | nc`); it still reads the answers.
    socket.on('end', () => this.#endAfterWrite());
    // A socket that breaks is only ever this client's loss.
    socket.on('error', () => this.destroy());
    socket.on('close', () => this.destroy());
    socket.on('drain', () => this.#countBacklog(0));
    this.#limitIdleTime(owner.engine.settings.number('timeout') * 1000);
  }

  /** Refuses the client with one line. */
  refuse(message: string): void {
    this.#write(new ErrorReply(message));
    this.#endAfterWrite();
  }

  /** Answers what has arrived, then ends: for a server that shuts down. */
  end(): void {
    this.#endAfterWrite();
  }

  destroy(): void {
    this.#ending = true;
    this.#outgoing = [];
    this.#countBacklog(0);
    this.session.close();
    this.#socket.destroy();
    this.#owner.forget(this);
  }

  /** Who waits for a reply or for messages is not idle, nor one that keeps a session alive. */
  #limitIdleTime(idleMs: number): void {
    if (idleMs === 0) return;
    const { session } = this;
    this.#socket.setTimeout(idleMs);
    this.#socket.on('timeout', () => {
      const waits = this.#parked || session.monitoring || session.subscriptionCount > 0;
      if (!waits && !session.engine.wills.has(session)) this.destroy();
    });
  }

  #receive(chunk: Buffer): void {
    if (this.#ending) return;
    this.#decoder.push(chunk);
    const limitBytes = this.#inputLimitBytes();
    if (this.#decoder.bufferedBytes > limitBytes) {
      this.#owner.report(
        `closed ${this.session.address}: more than ${limitBytes} bytes of input wait`,
      );
      this.destroy();
      return;
    }
    this.#work();
  }

  /** Runs what has arrived, up to a command that parks. */
  #work(): void {
    this.#isWorking = true;
    try {
      this.#owner.engine.freeze();
      this.#runAll();
    } catch (error) {
      this.#fail(error);
    }
    this.#isWorking = false;
    this.#collect();
  }

  /** Takes the replies to this chunk; they leave together with those of all connections. */
  #collect(): void {
    const { writer } = this.#owner;
    if (writer.length > 0) this.#outgoing.push(writer.take());
    if (this.#outgoing.length > 0) this.#scheduleFlush();
  }

  #runAll(): void {
    const { session } = this;
    while (!this.#parked && !this.#ending) {
      this.#limits.signedIn = session.authenticated;
      const argv = this.#decoder.next();
      if (argv === null) return;
      const outcome = executeNow(session, argv);
      if (outcome instanceof ErrorReply && isHttp(argv)) this.#rejectHttp();
      else this.#answer(outcome);
      if (session.closing) this.#endAfterWrite();
      else if (this.#owner.writer.length > FLUSH_BYTES) this.#collectAndFlush();
    }
  }

  #answer(outcome: Outcome): void {
    if (outcome === PARKED) this.#parked = true;
    else if (this.session.replies === 'on') this.#write(outcome);
    else this.#skip(outcome);
  }

  /**
   * CLIENT REPLY SKIP swallows its own reply and that of the next command. What (P|S)SUBSCRIBE and its
   * opposite answer, many replies to one command, are pushes and pass.
   */
  #skip(outcome: Reply): void {
    const { session } = this;
    if (outcome instanceof ManyReply) this.#write(outcome);
    if (session.replies === 'skip-next') session.replies = 'skip';
    else if (session.replies === 'skip') session.replies = 'on';
  }

  #push(reply: Reply): void {
    if (this.#ending) return;
    this.#write(reply);
    if (!this.#isWorking) this.#scheduleFlush();
  }

  #write(reply: Reply): void {
    const { protocol } = this.session;
    const { writer, pushWriter } = this.#owner;
    if (this.#isWorking) {
      writeReply(writer, reply, protocol);
      return;
    }
    writeReply(pushWriter, reply, protocol);
    this.#outgoing.push(pushWriter.take());
  }

  /**
   * The client's next commands run in a turn of their own: the engine is in the middle of the unit that
   * served this one.
   */
  #resume(reply: Reply): void {
    this.#answer(reply);
    queueMicrotask(() => {
      this.#parked = false;
      if (this.session.closing) this.#endAfterWrite();
      if (!this.#ending) this.#work();
    });
  }

  #scheduleFlush(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    this.#owner.flushLater(this);
  }

  /** Writes what has been collected. */
  flush(): void {
    this.#flushScheduled = false;
    const socket = this.#socket;
    const outgoing = this.#outgoing;
    if (outgoing.length === 0) return;
    this.#outgoing = [];
    if (socket.destroyed) return;
    if (outgoing.length === 1) socket.write(outgoing[0]!);
    else socket.write(Buffer.concat(outgoing));
    if (socket.writableLength > SMALL_BACKLOG_BYTES) this.#checkBacklog();
  }

  #collectAndFlush(): void {
    this.#collect();
    this.flush();
  }

  #checkBacklog(): void {
    const waitingBytes = this.#socket.writableLength;
    this.#countBacklog(waitingBytes);
    const totalLimitBytes = this.#owner.engine.settings.number('output-limit-total');
    const isWithinTotal = this.#owner.backlogBytes <= totalLimitBytes;
    if (isWithinTotal && waitingBytes <= this.#outputLimitBytes()) return;
    this.#owner.report(
      `closed ${this.session.address}: it does not read, ${waitingBytes} bytes of output wait`,
    );
    this.destroy();
  }

  #countBacklog(bytes: number): void {
    const { session } = this;
    this.#owner.backlogBytes += bytes - session.outputBytes;
    session.outputBytes = bytes;
  }

  #outputLimitBytes(): number {
    if (!this.session.authenticated) return OUTPUT_BEFORE_SIGN_IN_BYTES;
    const kind = this.session.subscriptionCount > 0 ? 'pubsub' : 'normal';
    return this.#owner.engine.settings.number(`output-limit-${kind}`);
  }

  #inputLimitBytes(): number {
    return this.session.authenticated ? this.#limits.maxQueryBytes : INPUT_BEFORE_SIGN_IN_BYTES;
  }

  #fail(error: unknown): void {
    if (error instanceof ProtocolError) {
      this.refuse(`ERR ${error.message}`);
      return;
    }
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#owner.report(`closed ${this.session.address} after an internal error: ${text}`);
    this.refuse('ERR internal error, the connection closes');
  }

  /** A web page can be made to send requests here; its first line shows it. */
  #rejectHttp(): void {
    this.#owner.report(`closed ${this.session.address}: it speaks HTTP`);
    this.destroy();
  }

  #endAfterWrite(): void {
    if (this.#ending) return;
    this.#ending = true;
    this.session.close();
    queueMicrotask(() => {
      this.flush();
      // A client that does not close its own side, or does not read, would keep the socket for ever.
      this.#socket.setTimeout(LINGER_MS, () => this.destroy());
      this.#socket.end(() => this.destroy());
    });
  }
}

/** How long a client that is to be closed may take no byte of what is still to be written. */
const LINGER_MS = 2_000;
const FLUSH_BYTES = 64 * 1024;
const SMALL_BACKLOG_BYTES = 16 * 1024;
const OUTPUT_BEFORE_SIGN_IN_BYTES = 16 * 1024;
const INPUT_BEFORE_SIGN_IN_BYTES = 1024 * 1024;

/** As configured when the client came, and no more than a JavaScript string can hold. */
function requestLimits({ settings }: Engine): RequestLimits {
  return {
    ...DEFAULT_REQUEST_LIMITS,
    maxBulkBytes: Math.min(
      settings.number('proto-max-bulk-len'),
      DEFAULT_REQUEST_LIMITS.maxBulkBytes,
    ),
    maxQueryBytes: settings.number('client-query-buffer-limit'),
  };
}

const HTTP_WORDS = new Set([
  'POST',
  'PUT',
  'HEAD',
  'DELETE',
  'OPTIONS',
  'PATCH',
  'CONNECT',
  'TRACE',
  'HOST:',
]);

/** Asked only of a command that failed, since GET is a verb of both. */
function isHttp(argv: readonly string[]): boolean {
  const word = argv[0]!.toUpperCase();
  return HTTP_WORDS.has(word) || (word === 'GET' && (argv[2]?.startsWith('HTTP/') ?? false));
}
