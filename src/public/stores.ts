/** `holdfast/stores`: the stores that `createLocks({ store })` accepts, and the contract for other stores. */
export {
  type AcquireResult,
  type ForeignHolder,
  type Holder,
  type HolderInfo,
  type HoldfastHolder,
  type Inspection,
  type LockKind,
  type LockRequest,
  type LockStore,
  type LockTarget,
  memoryStore,
  type Waiter,
  type WaiterEvent,
} from '../lock/index.ts';
export {
  type IoredisClient,
  type NodeRedisClient,
  openSession,
  type RedisStoreOptions,
  redisStore,
  type Session,
  SessionError,
  type SessionErrorCode,
  type SessionOptions,
  type StoreAddress,
} from '../stores/index.ts';
