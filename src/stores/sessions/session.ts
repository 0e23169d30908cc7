import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import { type Address, openConnection, parseAddress } from '../../client/index.ts';
import { systemClock } from '../../clock/index.ts';
import { ErrorReply } from '../../resp/index.ts';

/**
 * A session on a Holdfast server. It ends when its connection ends, for any reason. Then the server releases the locks of
 * the session.
 */
export interface Session {
  /** The id of the session on the server. */
  readonly id: string;
  /** The address of the server. */
  readonly address: StoreAddress;
  /**
   * The connection. Do not write to it. A child process that inherits its file descriptor also keeps the session open.
   */
  readonly socket: Socket;
  /** Resolves when the session has ended, by either side. */
  readonly ended: Promise<void>;
  /** Ends the session, also for processes that inherited the connection. Resolves when the server has closed it. */
  close(): Promise<void>;
}

export type StoreAddress = `redis://${string}` | `rediss://${string}` | `unix:${string}`;

export interface SessionOptions {
  /** How long the server may take to reply. Default 5000. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/**
 * `unreachable`: there is no server, or the connection ended before the reply; a retry may help. `refused`: the server
 * replied with an error. `not-holdfast`: the server has no sessions. `ended`: the session of the locks has ended.
 */
export type SessionErrorCode = 'unreachable' | 'refused' | 'not-holdfast' | 'ended';

export class SessionError extends Error {
  override readonly name = 'SessionError';
  readonly code: SessionErrorCode;
  /** Whether a retry would fail, too. */
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

/**
 * Opens a session at `redis://…`, `rediss://…` or `unix:/path`.
 *
 * @throws SessionError
 */
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
  // 'close' follows each error, and resolves `ended`.
  socket.on('error', () => {});
  // The socket must be read, so that the end of the connection is noticed. Node pauses a socket that a child inherits.
  socket.on('pause', () => socket.resume());
  socket.resume();
  const close = (): Promise<void> => {
    // end() sends FIN. Only closing the descriptor would keep the connection open in a child process that inherited it.
    socket.end();
    const linger = systemClock.setTimer(LINGER_MS, () => socket.destroy());
    return ended.finally(() => linger.cancel());
  };
  return { id, address: address as StoreAddress, socket, ended, close };
}

/** How long close() waits for the server to close its side. */
const LINGER_MS = 1000;

/** Converts an error of opening a session to a SessionError. */
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

/** Connects, opens the session, and returns the socket. */
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

/** Keep-alive probes, so that routers do not drop an idle connection. */
const KEEP_ALIVE_MS = 30_000;

function withoutPassword(address: string): string {
  return address.replace(/\/\/[^/@]*@/, '//');
}
