import type { Engine as WholeEngine } from '../engine/index.ts';
import {
  startServer as startWholeServer,
  type TlsFiles,
  type TlsOptions,
} from '../server/index.ts';
import type { Engine } from './engine.ts';

/** `holdfast/server`: an engine behind sockets. */
export interface Server {
  /** The addresses that it listens on: `127.0.0.1:6379`, `rediss://127.0.0.1:6380`, or a path. */
  readonly addresses: readonly string[];
  /** The TCP port without TLS, or 0 if there is none. */
  readonly port: number;
  /** The TCP port for TLS, or 0 if there is none. */
  readonly tlsPort: number;
  readonly connectionCount: number;
  /**
   * Uses another certificate for TLS clients that connect from now on.
   *
   * @throws ServerError if it cannot be used. The certificate before stays in use.
   */
  setCertificate(files: TlsFiles): void;
  /** Stops accepting, replies to what has arrived, and closes every connection. Safe to call twice. */
  close(): Promise<void>;
}

export interface ServerOptions {
  readonly engine: Engine;
  /** TCP address. Default: loopback. */
  readonly host?: string;
  /** TCP port; 0 takes a free one, or none if `tls` is given. Default: 6379, or no TCP if `unix` is given. */
  readonly port?: number;
  /** A further TCP port, for TLS only. Default: none. */
  readonly tls?: TlsOptions;
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

export {
  ServerError,
  type ServerErrorCode,
  type TlsFiles,
  type TlsOptions,
} from '../server/index.ts';
