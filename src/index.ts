export type { CachingLocks as Locks } from './cache/index.ts';
export { type Clock, systemClock, type VirtualClock, virtualClock } from './clock/index.ts';
export { type AddressOptions, createLocks } from './create-locks.ts';
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
export {
  type AcquireOptions,
  DeadlockError,
  type Duration,
  type ForeignHolder,
  type Holder,
  type HoldfastHolder,
  type Inspection,
  type Lease,
  type Lock,
  LockAbortedError,
  LockArgumentError,
  LockError,
  LockLostError,
  type LockStore,
  LockTimeoutError,
  LockUnavailableError,
  memoryStore,
  NotHeldError,
  type ReleaseOutcome,
} from './lock/index.ts';
export { ErrorReply, type Reply } from './resp/index.ts';
export { type Server, ServerError, type ServerOptions, startServer } from './server/index.ts';
export {
  openSession,
  redisStore,
  type Session as StoreSession,
  SessionError,
} from './stores/index.ts';
