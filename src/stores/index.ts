export { engineRunner } from './engine-runner.ts';
export { type KeyGuess, type ListedKey, scanKeys } from './key-list.ts';
export { channelOf, HELPER_KEY, ownerOf, parseQueued, SHARED_KEY, SUFFIX } from './lock-keys.ts';
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
export { LOCK_SCRIPT, PASSED_OVER_MS, REFRESH_MS, RESERVED_MS } from './lock-script.ts';
export { type LiveSession, LockSession } from './lock-session.ts';
export { type IoredisClient, type NodeRedisClient, redisStore } from './redis.ts';
export { RedisStore } from './redis-store.ts';
export { addressStore, redisUrlStore } from './redis-url.ts';
export type { Unreadable } from './scan-pages.ts';
export {
  openSession,
  type Session,
  SessionError,
  type SessionErrorCode,
  type SessionOptions,
  type StoreAddress,
} from './session.ts';
export { startRenewalWorker } from './start-renewal-worker.ts';
