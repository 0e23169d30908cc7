import { randomUUID } from 'node:crypto';
import { on } from 'node:events';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { systemClock } from '../clock/index.ts';
import { ErrorReply, encodeRequest, ReplyDecoder } from '../resp/index.ts';

/**
 * A session on a Holdfast server: it lives as long as its connection. Locks that are tied to it are
 * released by the server when it ends, however that comes about.
 */
export interface Session {
  /** Its name on the server. */
  readonly id: string;
  /** Where it was opened. */
  readonly address: StoreAddress;
  /**
   * The connection. Nothing more is to be said on it. A child process that inherits its file descriptor
   * keeps the session alive as well.
   */
  readonly socket: Socket;
  /** Resolves when the session has ended, by either side. */
  readonly ended: Promise<void>;
  /** Ends the session, also for those that inherited the connection. Resolves when the server knows. */
  close(): Promise<void>;
}

export type StoreAddress = `redis://${string}` | `rediss://${string}` | `unix:${string}`;

export interface SessionOptions {
  /** How long the server may take to answer. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * `unreachable`: there is no server, or it closed the connection before it answered; trying again may
 * help. `refused`: it answered, but with an error. `not-holdfast`: it does not know sessions. `ended`: the
 * session that locks were tied to is over.
 */
export type SessionErrorCode = 'unreachable' | 'refused' | 'not-holdfast' | 'ended';

export class SessionError extends Error {
  override readonly name = 'SessionError';
  readonly code: SessionErrorCode;
  /** Asking again would change nothing. */
  readonly isFinal: boolean;

  constructor(
    code: SessionErrorCode,
    message: string,
    cause?: unknown,
    isFinal = code === 'not-holdfast',
  ) {
    super(message, { cause });
    this.code = code;
    this.isFinal = isFinal;
  }
}

/** Opens a session at `redis://…`, `rediss://…` or `unix:/path`. Rejects with a SessionError. */
export async function openSession(
  address: string,
  { timeoutMs = 5000, signal }: SessionOptions = {},
): Promise<Session> {
  if (!isAddress(address)) throw new SessionError('unreachable', `'${address}' ${NO_ADDRESS}`);
  const { socket, credentials } = connect(address);
  const id = randomUUID();
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const patience = new AbortController();
  const timer = systemClock.setTimer(timeoutMs, () => patience.abort());
  const either = signal ? AbortSignal.any([signal, patience.signal]) : patience.signal;
  try {
    await answered(socket, [...credentials, ['HOLDFAST.SESSION', id]], either);
  } catch (error) {
    socket.destroy();
    signal?.throwIfAborted();
    const isLate = patience.signal.aborted;
    const reason = isLate ? new Error(`no answer within ${timeoutMs} ms`) : error;
    throw sessionError(reason, withoutPassword(address));
  } finally {
    timer.cancel();
  }
  // What is not read would hide that the server has closed; and Node pauses what a child process inherits.
  socket.on('pause', () => socket.resume());
  socket.resume();
  const close = (): Promise<void> => {
    // A mere close of the descriptor would leave the connection to a child process that has it too.
    socket.end();
    const linger = systemClock.setTimer(LINGER_MS, () => socket.destroy());
    return ended.finally(() => linger.cancel());
  };
  return { id, address, socket, ended, close };
}

/** How long a server may take to close its side too. */
const LINGER_MS = 1000;

/** What an error says of a session that could not be opened. */
export function sessionError(error: unknown, where: string): SessionError {
  if (error instanceof SessionError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (/unknown command/i.test(message)) {
    return new SessionError(
      'not-holdfast',
      `the server at ${where} knows no sessions: they need \`holdfast serve\`, and it is something else. ` +
        'Leave the option session out, or use another address.',
      error,
    );
  }
  if (/^[A-Z]+ /.test(message)) {
    return new SessionError('refused', `no session at ${where}: ${message}`, error);
  }
  return new SessionError('unreachable', `no session at ${where}: ${message}`, error);
}

function isAddress(text: string): text is StoreAddress {
  return /^unix:\/./.test(text) || (/^rediss?:\/\//.test(text) && URL.canParse(text));
}

const NO_ADDRESS =
  'is not an address of locks. Use redis://host:port, rediss://host:port or unix:/path.';

function connect(address: string): { socket: Socket; credentials: string[][] } {
  const path = /^unix:(?:\/\/)?(\/.+)$/.exec(address)?.[1];
  if (path !== undefined) return { socket: prepared(connectPlain({ path })), credentials: [] };
  const url = new URL(address);
  // A URL keeps the brackets of an IPv6 address, a socket does not take them.
  const host = url.hostname.replace(/^\[|\]$/g, '') || '127.0.0.1';
  const port = Number(url.port || 6379);
  const socket =
    url.protocol === 'rediss:'
      ? connectTls({ host, port, servername: host })
      : connectPlain({ host, port });
  return { socket: prepared(socket), credentials: credentialsIn(url) };
}

/** Often enough that a router on the way does not forget an idle connection. */
const KEEP_ALIVE_MS = 30_000;

function prepared(socket: Socket): Socket {
  socket.setNoDelay(true);
  socket.setKeepAlive(true, KEEP_ALIVE_MS);
  // What broke the connection is told by 'close', which follows.
  socket.on('error', () => {});
  return socket;
}

function credentialsIn({ username, password }: URL): string[][] {
  if (password === '') return [];
  const words = [username, password].filter((word) => word !== '').map(decodeURIComponent);
  return [['AUTH', ...words.map((word) => Buffer.from(word).toString('latin1'))]];
}

function withoutPassword(address: string): string {
  return address.replace(/\/\/[^/@]*@/, '//');
}

/** Sends the commands and resolves when each was answered; rejects at the first error. */
async function answered(
  socket: Socket,
  commands: readonly string[][],
  signal: AbortSignal,
): Promise<void> {
  for (const words of commands) socket.write(encodeRequest(words), 'latin1');
  const decoder = new ReplyDecoder();
  let missing = commands.length;
  for await (const [chunk] of on(socket, 'data', { signal, close: ['end', 'close'] })) {
    decoder.push(chunk);
    for (let reply = decoder.next(); reply !== undefined; reply = decoder.next()) {
      if (reply instanceof ErrorReply) throw new Error(reply.message);
      if (--missing === 0) return;
    }
  }
  throw new Error('the connection was closed');
}
