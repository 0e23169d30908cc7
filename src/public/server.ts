import type { Engine as WholeEngine } from '../engine/index.ts';
import {
  type Server,
  startServer as startWholeServer,
  type ServerOptions as WholeServerOptions,
} from '../server/index.ts';
import type { Engine } from './engine.ts';

export interface ServerOptions extends Omit<WholeServerOptions, 'engine'> {
  readonly engine: Engine;
}

/**
 * `holdfast/server`: listens with an engine, for any Redis client.
 *
 * @throws ServerError with what to do, if it cannot listen.
 */
export function startServer({ engine, ...options }: ServerOptions): Promise<Server> {
  return startWholeServer({ ...options, engine: engine as WholeEngine });
}

export { type Server, ServerError, type ServerErrorCode } from '../server/index.ts';
