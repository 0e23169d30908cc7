export { AbortHub } from './abort-hub.ts';
export type { AdoptOptions } from './adopt.ts';
export { type Duration, durationMs } from './duration.ts';
export type {
  CurrentLeader,
  Election,
  ElectOptions,
  Leader,
  LeaderCallback,
} from './election.ts';
export {
  DeadlockError,
  isFinal,
  LockAbortedError,
  LockArgumentError,
  LockError,
  type LockErrorCode,
  LockLostError,
  LockTimeoutError,
  LockUnavailableError,
  type LossReason,
  NotHeldError,
  otherSlots,
  StolenError,
} from './errors.ts';
export type { LockEvents } from './events.ts';
export type { Lease, ReleaseOutcome } from './lease.ts';
export { type Linked, LinkedList } from './linked-list.ts';
export type { Lock } from './lock.ts';
export { type InsideLocks, insideLocks, Locks, type LocksOptions } from './locks.ts';
export { memoryStore } from './memory-store.ts';
export {
  type Attributes,
  ERROR_STATUS,
  type OpenTelemetry,
  withOpenTelemetry,
} from './open-telemetry.ts';
export type { AcquireDefaults, AcquireOptions } from './options.ts';
export { serveRenewals } from './renewal-service.ts';
export { retry } from './retry.ts';
export { currentRunContext, type RunContext, withRunContext } from './run-context.ts';
export type {
  AcquireResult,
  Contention,
  ForeignHolder,
  HeldLock,
  Holder,
  HolderInfo,
  HoldfastHolder,
  Inspection,
  ListFilter,
  LockKind,
  LockListing,
  LockRequest,
  LockState,
  LockStore,
  LockTarget,
  LockWaits,
  NestedWaiter,
  UnfencedStore,
  Waiter,
  WaiterEvent,
  WaiterInfo,
} from './store.ts';
export { MAX_HELD } from './store.ts';
export { Scheduled, TimerQueue, TimerQueues } from './timer-queue.ts';
export type { UnfencedLease, UnfencedLock, UnfencedLocks } from './unfenced-locks.ts';
export { WorkerRenewals } from './worker-renewals.ts';
