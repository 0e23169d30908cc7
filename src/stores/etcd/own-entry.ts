import { type AcquireResult, type LockRequest, Scheduled, type Waiter } from '../../lock/index.ts';
import type { LockQueue } from './lock-queue.ts';
import type { SharedLease } from './shared-lease.ts';

/**
 * An entry that this process has, or may have, in etcd. It is scheduled for the end of its lease, or, after the state
 * `requested` or `released`, for the time when etcd has certainly ended it.
 */
export class OwnEntry extends Scheduled<OwnEntry> {
  request: LockRequest;
  /** Unique in this process. An owner may have entries of several locks. */
  readonly id: string;
  readonly queue: LockQueue<OwnEntry>;
  readonly key: string;
  /** Undefined: it has the place of its create revision. */
  readonly place: number | undefined;
  /** Changed by OwnEntries only. */
  state: EntryState = 'requested';
  /** The lease that its key was put with. Undefined: no request has succeeded. */
  lease: SharedLease | undefined;
  /** Of its key, in the last reply. */
  modRevision = 0;
  /** 0: it was never held. */
  fence = 0;
  waiter: Waiter | undefined;
  /** A confirmation is under way. */
  confirming: Promise<AcquireResult> | undefined;
  /** Ends the watch for `lease.contended`, if there is one. */
  unwatch = (): void => {};

  constructor(request: LockRequest, queue: LockQueue<OwnEntry>, key: string, place?: number) {
    super();
    this.request = request;
    this.id = queue.keys.idOf(request.owner);
    this.queue = queue;
    this.key = key;
    this.place = place;
  }
}

export type EntryState = 'requested' | 'waiting' | 'held' | 'kept' | 'released';

/** The entry is in the queue: its waiter is notified when the lock is granted. */
export const QUEUED: AcquireResult = { type: 'busy', retryInMs: Number.POSITIVE_INFINITY };

export function granted(fence: number): AcquireResult {
  return { type: 'granted', fence };
}
