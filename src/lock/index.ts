export { AbortHub } from './abort-hub.ts';
export { Due, DueList, DueLists } from './due-list.ts';
export { type Duration, durationMs } from './duration.ts';
export {
  DeadlockError,
  LockAbortedError,
  LockArgumentError,
  LockError,
  type LockErrorCode,
  LockLostError,
  LockTimeoutError,
  LockUnavailableError,
  type LossReason,
  NotHeldError,
} from './errors.ts';
export type { LockEvents } from './events.ts';
export type { Lease, ReleaseOutcome } from './lease.ts';
export { type Linked, LinkedList } from './linked-list.ts';
export type { Lock } from './lock.ts';
export { Locks, type LocksOptions } from './locks.ts';
export { memoryStore } from './memory-store.ts';
export type { AcquireOptions } from './options.ts';
export { nameCountOf, ownerAgain } from './owner.ts';
export { serveRenewals } from './renewal-service.ts';
export { currentScope, inScope, type Scope } from './scope.ts';
export type {
  Answer,
  Claim,
  ForeignHolder,
  Hearer,
  Hold,
  Holder,
  HolderInfo,
  HoldfastHolder,
  HoldWords,
  Inspection,
  LockKind,
  LockStore,
  Requester,
  Target,
  Waiter,
} from './store.ts';
export { telemetryApi } from './telemetry.ts';
export { WorkerRenewals } from './worker-renewals.ts';
