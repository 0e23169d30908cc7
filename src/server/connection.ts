import type { Socket } from 'node:net';
import {
  BLOCKED,
  type Engine,
  executeNow,
  type Outcome,
  runsManyCommands,
  type Session,
} from '../engine/index.ts';
import {
  type ByteWriter,
  DEFAULT_REQUEST_LIMITS,
  ErrorReply,
  encode,
  ManyReply,
  ProtocolError,
  type Reply,
  type RequestLimits,
  WriteLimitError,
  writeReply,
} from '../resp/index.ts';
import type { LogEntry } from './log-entry.ts';
import { Output } from './output.ts';
import { RequestQueue } from './request-queue.ts';
import type { SharedEncoder } from './shared-chunks.ts';
import type { Runner, Turns } from './turns.ts';

/** The log, as the server uses it: a reply leaves when the changes that it has seen are in the log. */
export interface CommitLog {
  /** Writes the changes of the turn. Returns the number that `settled` must reach before its replies leave. */
  commit(): number;
  readonly settled: number;
  /** Set by the server. Called when `settled` has grown. */
  onSettled: () => void;
}

/** The parts of the server that its connections share. */
export interface ConnectionOwner {
  readonly engine: Engine;
  /** Collects the replies to one chunk; empty between chunks. */
  readonly writer: ByteWriter;
  /** Encodes the reply of a blocked command, which comes while another connection may use `writer`. */
  readonly lateWriter: ByteWriter;
  /** Encodes messages that go to many connections. */
  readonly sharedEncoder: SharedEncoder;
  readonly turns: Turns;
  readonly log: CommitLog;
  /** Calls `release` of the connection when the log has advanced. */
  releaseLater(connection: Connection): void;
  report(entry: LogEntry): void;
  forget(connection: Connection): void;
}

/**
 * The socket of one client. It decodes requests, executes them and writes the replies. All replies to one chunk leave
 * in one write at the end of the turn, after the chunks of the other clients were executed.
 *
 * While a command is blocked, bytes are still received, but no further command runs. A pipeline that takes longer than
 * its time slice continues in a later turn. After scripts and transactions of other clients have taken long, scripts
 * and transactions of this client wait for a later turn too, so that other commands run between them.
 *
 * An exception ends this connection and no other: every callback from outside catches it.
 */
export class Connection implements Runner {
  readonly session: Session;
  readonly #socket: Socket;
  readonly #owner: ConnectionOwner;
  readonly #limits: RequestLimits;
  readonly #requests: RequestQueue;
  readonly #output: Output;
  #isWorking = false;
  #blocked = false;
  #hasYielded = false;
  #isPaused = false;
  #turn = -1;
  #sliceEndMs = 0;
  #flushScheduled = false;
  #ending = false;
  /** The socket ends when the log has released the last replies. */
  #endsWhenReleased = false;
  /** From then on a closing connection receives no bytes. */
  #receivesUntilMs = Number.POSITIVE_INFINITY;
  /** The bytes that may be added to the unread output. */
  readonly #writeLimitBytes = (): number => this.#outputLimitBytes() - this.#output.unreadBytes;

  constructor(owner: ConnectionOwner, socket: Socket) {
    this.#owner = owner;
    this.#socket = socket;
    this.#limits = requestLimits(owner.engine);
    this.#requests = new RequestQueue(this.#limits);
    this.session = owner.engine.session({
      push: (reply) => this.#guard(() => this.#push(reply)),
      resume: (reply) => this.#guard(() => this.#resume(reply)),
      close: () => this.#endAfterWrite(),
      evict: (reason) => this.#evict(reason),
    });
    this.#output = new Output(socket, this.session.memory);
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('end', () => this.#inputEnded());
    // A socket error ends this connection only.
    socket.on('error', () => this.destroy());
    socket.on('close', () => this.destroy());
    this.#limitIdleTime(owner.engine.settings.number('timeout') * 1000);
  }

  /** Sends an error and closes the connection. */
  refuse(message: string): void {
    this.#output.add([Buffer.from(encode(new ErrorReply(message), 2), 'latin1')]);
    this.#endAfterWrite();
  }

  /** Sends the replies of commands that have run, then closes: for a server that shuts down. */
  end(): void {
    this.#endAfterWrite();
  }

  destroy(): void {
    this.#ending = true;
    this.session.close();
    this.#output.close();
    this.#socket.destroy();
    this.#owner.forget(this);
  }

  /** Runs the requests that have arrived, up to a blocked command or the end of the time slice. */
  run(): void {
    this.#hasYielded = false;
    if (this.#ending || this.#blocked) return;
    const { writer, engine } = this.#owner;
    this.#isWorking = true;
    try {
      engine.freeze();
      if (this.#beginSlice(engine.nowMs)) {
        writer.limitBytes = this.#writeLimitBytes;
        this.#runSlice();
        this.#collect();
      } else this.#yield();
    } catch (error) {
      // An incomplete reply must not be sent. The client is evicted, and earlier replies are dropped.
      if (error instanceof WriteLimitError) writer.clear();
      this.#collect();
      this.#fail(error);
    }
    this.#isWorking = false;
    this.#accountMemory();
    if (this.#isPaused && !this.#hasYielded) this.#resumeReading();
    if (this.#socket.readableEnded) this.#inputEnded();
  }

  /** Writes the collected replies, or holds them until the log has what they have seen. */
  flush(): void {
    this.#flushScheduled = false;
    if (this.#output.isEmpty || this.#socket.destroyed) return;
    try {
      const { log } = this.#owner;
      const number = log.commit();
      if (this.#output.isHeld || number > log.settled) {
        this.#output.hold(number);
        this.#owner.releaseLater(this);
      } else this.#output.flush();
      if (this.#output.isHeld || this.#socket.writableLength > 0) this.#checkOutput();
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Writes the replies that the log has released. Returns whether others are still held. */
  release(): boolean {
    if (this.#socket.destroyed) return false;
    try {
      this.#output.release(this.#owner.log.settled);
      if (this.#socket.writableLength > 0) this.#checkOutput();
    } catch (error) {
      this.#fail(error);
    }
    if (this.#endsWhenReleased && !this.#output.isHeld) this.#endSocket();
    return this.#output.isHeld;
  }

  /** A client is not idle while a command is blocked, while it subscribes or monitors, or with a named session. */
  #limitIdleTime(idleMs: number): void {
    if (idleMs === 0) return;
    const { session } = this;
    this.#socket.setTimeout(idleMs);
    this.#socket.on('timeout', () => {
      const waits = this.#blocked || session.monitoring || session.subscriptionCount > 0;
      if (!waits && !session.engine.exitCommands.has(session)) this.destroy();
    });
  }

  #receive(chunk: Buffer): void {
    if (this.#ending) {
      this.#receiveAtEnd();
      return;
    }
    if (chunk[0] === TLS_HANDSHAKE && this.#beginsTls(chunk)) {
      this.#closeFor('it uses TLS on a port without TLS');
      return;
    }
    try {
      this.#requests.push(chunk);
      if (this.#hasYielded || this.#blocked) this.#accountMemory();
      else this.run();
    } catch (error) {
      this.#fail(error);
    }
  }

  /**
   * Bytes that arrive restart the timeout of the socket: a client that sends them, and does not read, would stay. They are
   * read for a while all the same, since unread ones would make the system reset the connection before the last reply.
   */
  #receiveAtEnd(): void {
    if (this.#owner.engine.clock.monotonicMs() > this.#receivesUntilMs) this.#socket.pause();
  }

  /** Whether the client begins with a ClientHello, which has no line end that would make it a bad request. */
  #beginsTls(chunk: Buffer): boolean {
    const isFirst = this.#requests.bytes === 0 && this.session.lastCommand === 'NULL';
    return isFirst && chunk[1] === TLS_MAJOR_VERSION;
  }

  /** Counts the bytes of requests that have not run, and evicts a client that exceeds a limit. */
  #accountMemory(): void {
    if (this.#ending) return;
    const { memory } = this.session;
    const bufferedBytes = this.#requests.bytes;
    if (bufferedBytes > 0 || this.#blocked) this.#requests.compact();
    memory.set('input', bufferedBytes);
    if (memory.totalBytes <= MIN_CHECKED_BYTES) return;
    const limitBytes = this.#inputLimitBytes();
    const { clients } = this.#owner.engine.memory;
    if (bufferedBytes > limitBytes)
      this.#evict(`more than ${limitBytes} bytes of input are pending`);
    else if (memory.totalBytes > clients.maxClientBytes) {
      this.#evict(`it uses more than ${clients.maxClientBytes} bytes of memory`);
    } else clients.evictUnlessFits();
  }

  /** Moves the replies to this chunk to the output, which is written at the end of the turn. */
  #collect(): void {
    const { writer } = this.#owner;
    if (writer.length > 0) this.#output.add(writer.take());
    if (!this.#output.isEmpty) this.#scheduleFlush();
  }

  /** Returns false if the time slice of this turn is used up: Node may deliver several chunks of a socket in one turn. */
  #beginSlice(nowMs: number): boolean {
    const { turns } = this.#owner;
    if (this.#turn === turns.current) return nowMs <= this.#sliceEndMs && !turns.isCrowded(nowMs);
    this.#turn = turns.current;
    this.#sliceEndMs = turns.sliceEndMs(nowMs);
    return true;
  }

  /** The engine's time changes only after commands that may take long, so that most commands check one number. */
  #runSlice(): void {
    const { session } = this;
    const requests = this.#requests;
    const { engine, writer, turns } = this.#owner;
    let seenMs = engine.nowMs;
    let defersScripts = turns.defersScripts(seenMs);
    for (let argv = requests.next(session); argv !== null; argv = requests.next(session)) {
      if (defersScripts && runsManyCommands(argv)) {
        requests.putBack(argv);
        this.#yield();
        return;
      }
      const outcome = executeNow(session, argv);
      if (outcome instanceof ErrorReply && isHttp(argv)) this.#closeFor(HTTP_REQUEST);
      else this.#reply(outcome);
      if (session.closing) this.#endAfterWrite();
      else if (writer.length > FLUSH_BYTES) this.#collectAndFlush();
      if (this.#blocked || this.#ending) return;
      if (engine.nowMs === seenMs) continue;
      seenMs = engine.nowMs;
      if (seenMs > this.#sliceEndMs) {
        this.#yield();
        return;
      }
      defersScripts = turns.defersScripts(seenMs);
    }
  }

  /** Continues in a later turn. Until then bytes stay in the socket, which slows the client down. */
  #yield(): void {
    this.#hasYielded = true;
    this.#isPaused = true;
    this.#socket.pause();
    this.#owner.turns.runLater(this);
  }

  /** Reads from the socket again: the requests that had arrived have run, or wait for a blocked command. */
  #resumeReading(): void {
    if (this.#ending) return;
    this.#isPaused = false;
    this.#socket.resume();
  }

  /**
   * The client has closed its sending side (`… | nc`), but still reads the replies to the requests that it has sent. As
   * in Redis, a blocked command has none; a sign-in that is delayed does.
   */
  #inputEnded(): void {
    const { session } = this;
    if (!this.#hasYielded && !session.engine.signIns.isHolding(session)) this.#endAfterWrite();
  }

  #reply(outcome: Outcome): void {
    if (outcome === BLOCKED) this.#blocked = true;
    else if (this.session.replies === 'on') this.#write(outcome);
    else this.#skip(outcome);
  }

  /**
   * CLIENT REPLY OFF and SKIP drop the reply; SKIP drops its own reply and that of the next command. The replies of
   * (P|S)SUBSCRIBE and (P|S)UNSUBSCRIBE are pushes, and are sent.
   */
  #skip(outcome: Reply): void {
    const { session } = this;
    if (outcome instanceof ManyReply) this.#write(outcome);
    if (session.replies === 'skip-next') session.replies = 'skip';
    else if (session.replies === 'skip') session.replies = 'on';
  }

  #push(reply: Reply): void {
    if (this.#ending) return;
    if (this.#isWorking) {
      this.#write(reply);
      return;
    }
    this.#output.addShared(this.#owner.sharedEncoder.encode(reply, this.session.protocol));
    this.#scheduleFlush();
    this.#checkOutput();
  }

  /** Adds to the replies of the chunk that is being run, or writes a reply of its own. */
  #write(reply: Reply): void {
    const { writer, lateWriter } = this.#owner;
    if (this.#isWorking) {
      writeReply(writer, reply, this.session.protocol);
      return;
    }
    lateWriter.clear();
    lateWriter.limitBytes = this.#writeLimitBytes;
    writeReply(lateWriter, reply, this.session.protocol);
    this.#output.add(lateWriter.take());
    this.#scheduleFlush();
  }

  /** Evicts a client whose unread output exceeds a limit. */
  #checkOutput(): void {
    const { unreadBytes } = this.#output;
    if (unreadBytes <= MIN_CHECKED_BYTES) return;
    if (unreadBytes > this.#outputLimitBytes()) {
      this.#evict(`it does not read its replies, ${unreadBytes} bytes are unread`);
    } else this.#owner.engine.memory.clients.evictUnlessFits();
  }

  /**
   * The engine calls this inside of the unit of work that served the blocked command, so that the next commands of
   * the client run in a microtask.
   */
  #resume(reply: Reply): void {
    this.#reply(reply);
    queueMicrotask(() => {
      this.#blocked = false;
      if (this.session.closing) this.#endAfterWrite();
      this.run();
    });
  }

  #scheduleFlush(): void {
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    this.#owner.turns.flushLater(this);
  }

  #collectAndFlush(): void {
    this.#collect();
    this.flush();
  }

  #outputLimitBytes(): number {
    if (!this.session.authenticated) return OUTPUT_BEFORE_SIGN_IN_BYTES;
    const { settings, memory } = this.#owner.engine;
    const kind = this.session.subscriptionCount > 0 ? 'pubsub' : 'normal';
    return Math.min(settings.number(`output-limit-${kind}`), memory.clients.maxClientBytes);
  }

  #inputLimitBytes(): number {
    if (!this.session.authenticated) return INPUT_BEFORE_SIGN_IN_BYTES;
    return Math.min(this.#limits.maxQueryBytes, this.#owner.engine.memory.clients.maxClientBytes);
  }

  /** Runs a callback of the engine. An exception must not reach the engine. */
  #guard(callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (error instanceof ProtocolError) {
      this.refuse(`ERR ${error.message}`);
      return;
    }
    if (error instanceof WriteLimitError) {
      this.#evict(`a reply exceeds its output limit of ${this.#outputLimitBytes()} bytes`);
      return;
    }
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const { address, lastCommand: command } = this.session;
    const message = `closed ${address} after an internal error in ${command}: ${text}`;
    const fields = { address, command };
    this.#owner.report({ level: 'warning', event: 'internal-error', message, fields });
    this.refuse('ERR internal error, the connection closes');
  }

  #evict(reason: string): void {
    if (this.#socket.destroyed) return;
    this.#owner.engine.stats.evictedSessions++;
    this.#closeFor(reason);
  }

  /** Closes at once, and logs the reason. */
  #closeFor(reason: string): void {
    const { address } = this.session;
    const message = `closed ${address}: ${reason}`;
    this.#owner.report({
      level: 'notice',
      event: 'client-closed',
      message,
      fields: { address, reason },
    });
    this.destroy();
  }

  #endAfterWrite(): void {
    if (this.#ending) return;
    this.#ending = true;
    this.session.close();
    queueMicrotask(() => {
      this.flush();
      if (this.#output.isHeld) this.#endsWhenReleased = true;
      else this.#endSocket();
    });
  }

  #endSocket(): void {
    // A client that does not close its side, or does not read, would keep the socket open.
    this.#receivesUntilMs = this.#owner.engine.clock.monotonicMs() + LINGER_MS;
    this.#socket.setTimeout(LINGER_MS, () => this.destroy());
    this.#socket.end(() => this.destroy());
  }
}

/** How long the client of a closing connection may read nothing. */
const LINGER_MS = 2_000;
const FLUSH_BYTES = 64 * 1024;
/** Smaller buffers are below every limit and are not checked. */
const MIN_CHECKED_BYTES = 16 * 1024;
const OUTPUT_BEFORE_SIGN_IN_BYTES = 16 * 1024;
const INPUT_BEFORE_SIGN_IN_BYTES = 1024 * 1024;

/** The limits of the settings when the client connected, and the maximum length of a JavaScript string. */
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

/** The first two bytes of every TLS connection. */
const TLS_HANDSHAKE = 0x16;
const TLS_MAJOR_VERSION = 3;

/** A web page can make a browser send requests to this port. As in Redis, the connection is closed. */
const HTTP_REQUEST = 'it sent an HTTP request';
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

const MAX_HTTP_WORD_BYTES = 8;

/** Called only for a failed command, since GET is both a command and an HTTP method. */
function isHttp(argv: readonly string[]): boolean {
  if (argv[0]!.length > MAX_HTTP_WORD_BYTES) return false;
  const word = argv[0]!.toUpperCase();
  return HTTP_WORDS.has(word) || (word === 'GET' && (argv[2]?.startsWith('HTTP/') ?? false));
}
