export type { EtcdTls } from './etcd/etcd-endpoints.ts';
export { type EtcdStoreOptions, etcdStore } from './etcd/etcd-store.ts';
export { LIBRARY_SCRIPTS } from './library-scripts.ts';
export { clientLocks } from './lists/client-locks.ts';
export { type KeyGuess, type ListedKey, scanKeys } from './lists/key-list.ts';
export {
  type LockList,
  MAX_LISTED,
  NO_LOCKS,
  type ScriptServers,
} from './lists/list-locks.ts';
export {
  HistoryReader,
  type LockHistoryEvent,
  type NewEvents,
  ReplyTooLargeError,
  readHistory,
  type SendCommand,
} from './lists/lock-history.ts';
export {
  type ForcedRelease,
  forceLock,
  type ListedHolder,
  type ListedLock,
  type ListedWaiter,
  LOCK_KINDS,
  type RunScript,
  readLocks,
  scanLocks,
  WRITER_PERMITS,
} from './lists/lock-list.ts';
export {
  type DoneRelease,
  type FoundLock,
  type LockSource,
  type OperatorNote,
  redisLocks,
} from './lists/lock-source.ts';
export { addUnreadable, NONE_UNREADABLE, type Unreadable } from './lists/scan-pages.ts';
export { StoreError } from './lists/store-error.ts';
export { storeLocks } from './lists/store-locks.ts';
export { type MemcachedStoreOptions, memcachedStore } from './memcached/memcached-store.ts';
export type { PgQueryable, PostgresSql, TransactionClient } from './postgres/database.ts';
export type { PostgresStoreOptions } from './postgres/postgres-options.ts';
export { postgresStore } from './postgres/postgres-store.ts';
export { type FencedLease, fenced, withTransactionLock } from './postgres/transaction.ts';
export { type QuorumStoreOptions, quorumStore } from './quorum/quorum-store.ts';
export {
  BALLOT_RULES,
  type Ballot,
  type BallotRules,
  majorityOf,
  type NodeLock,
  needsConfirm,
  VOTING_RULES,
  type VotingRules,
} from './quorum/voting.ts';
export { engineRunner } from './redis/engine-runner.ts';
export {
  channelOf,
  HELPER_KEY,
  isPrefix,
  type KeyOptions,
  ownerOf,
  parseQueued,
  SESSION_KEY_PREFIX,
  SHARED_KEY,
  SUFFIX,
} from './redis/lock-keys.ts';
export { LOCK_SCRIPT, PASSED_OVER_MS, REFRESH_MS, RESERVED_MS } from './redis/lock-script.ts';
export { RedisStore } from './redis/redis-store.ts';
export {
  type IoredisClient,
  type NodeRedisClient,
  type RedisStoreOptions,
  redisStore,
} from './redis.ts';
export { addressStore, redisUrlStore } from './redis-url.ts';
export { type LiveSession, LockSession } from './sessions/lock-session.ts';
export {
  openSession,
  type Session,
  SessionError,
  type SessionErrorCode,
  type SessionOptions,
  type StoreAddress,
} from './sessions/session.ts';
export { startRenewalWorker } from './start-renewal-worker.ts';
export { findStoreUrl, type StoreUrl, URL_FORMS } from './store-urls.ts';
