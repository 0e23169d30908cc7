import type { Engine as WholeEngine } from '../engine/index.ts';
import { startServer as startWholeServer } from '../server/index.ts';
import type { Engine } from './engine.ts';

/** `holdfast/server`: an engine behind sockets. */
export interface Server {
  /** The addresses that it listens on: `127.0.0.1:6379`, or a path. */
  readonly addresses: readonly string[];
  /** The TCP port, or 0 without TCP. */
  readonly port: number;
  readonly connectionCount: number;
  /** Stops accepting, replies to what has arrived, and closes every connection. Safe to call twice. */
  close(): Promise<void>;
}

export interface ServerOptions {
  readonly engine: Engine;
  /** TCP address. Default: loopback. */
  readonly host?: string;
  /** TCP port; 0 takes a free one. Default: 6379, or no TCP if `unix` is given. */
  readonly port?: number;
  /** Path of a Unix socket, in a folder that only its owner may enter. */
  readonly unix?: string;
  /** Listens beyond loopback although no password is set. Default false. */
  readonly unprotected?: boolean;
  /** Receives a line for the operator: which client was closed, and why. */
  readonly report?: (message: string) => void;
}

/**
 * Listens for Redis clients.
 *
 * @throws ServerError if it cannot listen. Its message says what to do.
 * @example
 * const server = await startServer({ engine: createEngine(), port: 0 });
 */
export function startServer({ engine, ...options }: ServerOptions): Promise<Server> {
  return startWholeServer({ ...options, engine: engine as WholeEngine });
}

export { ServerError, type ServerErrorCode } from '../server/index.ts';
