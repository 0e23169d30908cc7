import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { type Address, openConnection, parseAddress } from '../../client/index.ts';
import { systemClock } from '../../clock/index.ts';
import { ErrorReply } from '../../resp/index.ts';

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
  const parsed = readAddress(address);
  const id = randomUUID();
  const socket = await openSocket(parsed, id, { timeoutMs, signal }).catch((error: unknown) => {
    signal?.throwIfAborted();
    throw sessionError(error, parsed.label);
  });
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  // What broke the connection is told by 'close', which follows.
  socket.on('error', () => {});
  // What is not read would hide that the server has closed; and Node pauses what a child process inherits.
  socket.on('pause', () => socket.resume());
  socket.resume();
  const close = (): Promise<void> => {
    // A mere close of the descriptor would leave the connection to a child process that has it too.
    socket.end();
    const linger = systemClock.setTimer(LINGER_MS, () => socket.destroy());
    return ended.finally(() => linger.cancel());
  };
  return { id, address: address as StoreAddress, socket, ended, close };
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

function readAddress(text: string): Address {
  try {
    return parseAddress(text);
  } catch (error) {
    throw new SessionError('unreachable', `'${withoutPassword(text)}' ${NO_ADDRESS}`, error);
  }
}

const NO_ADDRESS =
  'is not an address of locks. Use redis://host:port, rediss://host:port or unix:/path.';

/** A connection on which the session was opened, and nothing else is said. */
async function openSocket(
  address: Address,
  id: string,
  { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal | undefined },
): Promise<Socket> {
  const connection = await openConnection({
    // A session belongs to no database.
    address: { ...address, database: 0 },
    clock: systemClock,
    connectTimeoutMs: timeoutMs,
    requestTimeoutMs: timeoutMs,
    heartbeatMs: Number.POSITIVE_INFINITY,
    signal,
  });
  const abort = (): void => connection.close();
  signal?.addEventListener('abort', abort);
  try {
    const reply = await connection.request(['HOLDFAST.SESSION', id]);
    if (reply instanceof ErrorReply) throw new Error(reply.message);
    return connection.detach().setKeepAlive(true, KEEP_ALIVE_MS);
  } catch (error) {
    connection.close();
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
  }
}

/** Often enough that a router on the way does not forget an idle connection. */
const KEEP_ALIVE_MS = 30_000;

function withoutPassword(address: string): string {
  return address.replace(/\/\/[^/@]*@/, '//');
}
