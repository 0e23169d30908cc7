export { cacheStoreBeside } from './cache-store.ts';
export { engineRunner } from './engine-runner.ts';
export { type KeyGuess, type ListedKey, scanKeys } from './key-list.ts';
export { toWords } from './lock-call.ts';
export {
  type ForcedRelease,
  forceLock,
  type ListedHolder,
  type ListedLock,
  type ListedWaiter,
  LOCK_KINDS,
  lookAtLocks,
  type RunScript,
  scanLocks,
  WRITER_TAKE,
} from './lock-list.ts';
export { LOCK_SCRIPT, RESERVED_MS } from './lock-script.ts';
export { type IoredisClient, type NodeRedisClient, redisStore } from './redis.ts';
export { addressStore, redisUrlStore } from './redis-url.ts';
export type { Unreadable } from './scan-pages.ts';
export type { ScriptRunner } from './script-runner.ts';
export { ScriptStore } from './script-store.ts';
export {
  openSession,
  type Session,
  SessionError,
  type SessionErrorCode,
  type SessionOptions,
  type StoreAddress,
} from './session.ts';
export { startRenewalWorker } from './start-renewal-worker.ts';
