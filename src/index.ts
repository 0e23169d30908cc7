export { type Clock, systemClock, type VirtualClock, virtualClock } from './clock/index.ts';
export {
  createEngine,
  type Engine,
  type EngineOptions,
  execute,
  type Outcome,
  PARKED,
  type Session,
  type SessionListener,
} from './engine/index.ts';
export { ErrorReply, type Reply } from './resp/index.ts';
export { type Server, ServerError, type ServerOptions, startServer } from './server/index.ts';
