/** What happened to a request for a lock, or to a lease. */
export type LockEventType = (typeof LOCK_EVENT_TYPES)[number];

export const LOCK_EVENT_TYPES = [
  // Enters the queue, and leaves it without the lock.
  'waiting',
  'left',
  // Becomes the holder of a free lock, by its place in the queue, by stealing it, or by adopting a lease.
  'granted',
  'handed-over',
  'stole',
  'adopted',
  // Is the holder no longer.
  'released',
  'expired',
  'stolen',
  'forced',
  'transferred',
  'session-ended',
] as const;

export interface LockEvent {
  /** Rises by one with each event. */
  readonly id: number;
  /** The time of the engine. */
  readonly atMs: number;
  readonly type: LockEventType;
  /** The key of the lock. */
  readonly key: string;
  readonly token: string;
  /** The fence of a grant; else 0. */
  readonly fence: number;
}
