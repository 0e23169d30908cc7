/**
 * Stores locks. One rule admits every kind: the permits of live leases and those of a request must fit into the
 * slots. A mutex takes 1 of 1, a semaphore k of n, a reader 1 of many, a writer all of them.
 *
 * A request is a plain, immutable object. Its owner is a unique id of one acquisition, which makes every request
 * idempotent: one that is sent again after its reply was lost changes nothing and gets the same result.
 *
 * A store in this process may reply synchronously. Any other must reply or fail within a timeout of its own. An error
 * with `isFinal: true` is permanent: the request is not sent again.
 */
export interface LockStore {
  /** Prefix of all owners of this client. Left out: the library chooses one. */
  readonly ownerPrefix?: string;
  /**
   * Resolves when the first connection has succeeded or failed. Until then the wait timeout of a request does not run.
   * Left out: the store is in this process.
   */
  readonly connected?: Promise<void>;
  /**
   * The store has connections of its own. An idle one does not keep the process alive, so a lease does. Left out: the
   * store is in this process, or uses a client of the caller, which decides for itself.
   */
  readonly ownsConnections?: boolean;
  /** False: all grants have the fence 0, and reading `lease.fence` throws. Left out: the store has fences. */
  readonly hasFences?: false;
  /**
   * Takes the lock if it is free. If it is busy and there is a waiter, the request enters the queue, or keeps its
   * place, and the waiter is notified when the lock is handed over. A request that steals takes the lock from its
   * holders.
   *
   * @throws LockArgumentError if the lock is in use with another number of slots.
   */
  acquire(request: LockRequest, waiter?: Waiter): AcquireResult | Promise<AcquireResult>;
  /**
   * Takes several mutexes, all or none, with one fence for all that is at least `minFence`. Locks that the owners already
   * hold are kept. Undefined: the locks are in different slots of a cluster.
   */
  acquireAll(
    requests: readonly LockRequest[],
    minFence: number,
  ): Promise<AcquireResult | undefined>;
  /** Takes a lock over from the owner of `from`, with a new fence. Busy: that owner does not hold it any more. */
  adopt(request: LockRequest, from: LockRequest): Promise<AcquireResult>;
  /** Makes the lease end `leaseMs` from now, or later if it ends later already. False: it is not held. */
  extend(request: LockRequest): boolean | Promise<boolean>;
  /**
   * Sets the end of the lease to `leaseMs` from now, exactly, and does not end it with this process. The holder has
   * released it, and the lock stays taken until then. False: it is not held.
   */
  keep(request: LockRequest): boolean | Promise<boolean>;
  /**
   * Ends the lease, or leaves the queue; the next waiter is served. False: it was not held. With the fence, a release
   * that was executed before, and whose reply was lost, also returns true if the lock was not granted since.
   */
  release(request: LockRequest, fence?: number): boolean | Promise<boolean>;
  /** Ends all leases of a lock, and raises the fence. Returns the number of holders. */
  forceRelease(target: LockTarget): Promise<number>;
  inspect(target: LockTarget): Promise<Inspection>;
  /** The locks that have a holder or a waiter, for operators. Left out: the store cannot list them. */
  list?(filter: ListFilter): Promise<LockListing>;
  /** Some holders of the lock, and the place of a request in its queue: costs little, however long the queue is. */
  contention(request: LockRequest): Promise<Contention>;
  /**
   * Calls back when leases are lost other than by expiry: the lease of one owner, which another client stole, or all
   * leases, when a session ends. A call may be lost: then the next renewal of the lease fails.
   */
  onLost?(listener: (reason: Error, owner?: string) => void): void;
  /** Calls back once when a client waits for a lock that is held, or waits already. */
  watch?(request: LockRequest, onContended: () => void): void;
  /** Cancels `watch`. */
  unwatch?(request: LockRequest): void;
  /**
   * Records the leases that the callback of a request in the queue holds, for ten seconds, for `readWaits` and for operators. False:
   * the request is not in the queue, or too many of its lock are recorded. Left out, with the next two: a deadlock with
   * other processes ends by the wait timeout.
   */
  reportWait?(request: LockRequest, holds: readonly HeldLock[]): Promise<boolean>;
  /** Reads locks for deadlock detection, in the order of the targets. */
  readWaits?(targets: readonly LockTarget[]): Promise<LockWaits[]>;
  /** Sends the event `check` to the waiter of another owner. It may be lost. `request` is that of the caller. */
  checkWait?(request: LockRequest, owner: string): Promise<void>;
  /** Opens the session that the locks end with, unless it is open. Left out: the store has no session. */
  openSession?(): Promise<unknown>;
  /** Removes a lease from the session of this process, so that the end of the session does not release it. */
  detach?(request: LockRequest): Promise<void>;
  close(): Promise<void>;
}

/** A store without fences: `createLocks({ store })` returns UnfencedLocks. */
export interface UnfencedStore extends LockStore {
  readonly hasFences: false;
}

export type LockKind = 'mutex' | 'semaphore' | 'rw';

/** Identifies a lock. */
export interface LockTarget {
  readonly kind: LockKind;
  readonly name: string;
  /** The number of permits that the lock has. */
  readonly slots: number;
}

/** What one acquisition requests, and holds after the grant. */
export interface LockRequest extends LockTarget {
  readonly owner: string;
  readonly permits: number;
  readonly leaseMs: number;
  /** What `inspect` shows of the holder. */
  readonly info: HolderInfo;
  /** Why it takes the lock from its holders. Left out: it does not steal. */
  readonly stealReason?: string | undefined;
}

export type AcquireResult =
  /** The fence is 0 if the store has none. */
  | { readonly type: 'granted'; readonly fence: number }
  /** When to send the request again, unless the waiter is notified before. Infinity: only when notified. */
  | { readonly type: 'busy'; readonly retryInMs: number };

/** Receives the events of a request in the queue, never synchronously inside `acquire`. An event may be lost. */
export interface Waiter {
  notify(event: WaiterEvent): void;
}

export type WaiterEvent =
  /**
   * The lock was handed over. Its lease counts from `sentMs` and `sentWallMs`, the times of both clocks. Reserved: for
   * a shorter time than the lease, so that the holder must extend it at once.
   */
  | {
      readonly type: 'granted';
      readonly fence: number;
      readonly sentMs: number;
      readonly sentWallMs: number;
      readonly isReserved: boolean;
    }
  /** The lock may be free, or the place in the queue lost: send the request again. */
  | { readonly type: 'retry' }
  /** The request is part of a deadlock that another process has found, and should be the one that fails. */
  | { readonly type: 'check' }
  /** The store cannot notify waiters, such as after a failed subscription. */
  | { readonly type: 'failed'; readonly error: unknown };

export interface HolderInfo {
  readonly host: string;
  readonly pid: number;
  readonly label: string;
}

/** A holder of a lock: a client of Holdfast, or another program that took the key of a mutex. */
export type Holder = HoldfastHolder | ForeignHolder;

export interface HoldfastHolder extends HolderInfo {
  readonly foreign: false;
  /** The id of its acquisition, as in its events. */
  readonly owner: string;
  readonly permits: number;
  /** 0 if the store has no fences. */
  readonly fence: number;
  /** How long ago it was granted. */
  readonly ageMs: number;
  /** How long the lease still runs. Infinity (null in JSON): another program removed the TTL of the key. */
  readonly leftMs: number;
}

/** Another program holds the mutex, by `SETNX` or `SET … NX` on its key. Fence and age are not known. */
export interface ForeignHolder {
  readonly foreign: true;
  /** The type of the key, as `TYPE` says: `string`, or another, such as `hash` for a lock of Redisson. */
  readonly type: string;
  /**
   * The first 1024 bytes of a string, read as UTF-8: invalid bytes become U+FFFD (`holdfast show` prints
   * them as `\xff`). Empty for any other type.
   */
  readonly value: string;
  readonly permits: 1;
  /**
   * The TTL of the key. Infinity (null in JSON): it has none, and the lock does not expire.
   */
  readonly leftMs: number;
}

export interface Inspection {
  readonly holders: readonly Holder[];
  /** In the order in which they will be served. */
  readonly waiters: readonly WaiterInfo[];
}

/** Which locks `list` returns. */
export interface ListFilter {
  /** Only the locks of this name. Left out: all. */
  readonly name?: string;
  /** The maximum number of locks. */
  readonly maxLocks: number;
  /** The maximum number of holders, and of waiters, of each lock. */
  readonly maxParties: number;
}

/** In the order of their names. */
export interface LockListing {
  readonly locks: readonly LockState[];
  /** Whether there are more locks than the maximum. */
  readonly isCut: boolean;
}

/** A lock with its holders and waiters. The counts are exact; the lists may be truncated. */
export interface LockState extends LockTarget, Inspection {
  readonly holderCount: number;
  readonly waiterCount: number;
}

/** What keeps a request waiting. */
export interface Contention {
  readonly holders: readonly Holder[];
  /** From 1 on. Undefined: it is not in the queue, or so far behind that its place is not counted. */
  readonly place: number | undefined;
}

export interface WaiterInfo extends HolderInfo {
  /** The id of its acquisition, as in its events. */
  readonly owner: string;
  readonly permits: number;
}

/** A lease that a waiting callback of run() holds. */
export interface HeldLock extends LockTarget {
  readonly owner: string;
}

/** The maximum number of leases that are recorded for a waiter: the innermost ones. */
export const MAX_HELD = 16;

/** A lock, as deadlock detection reads it. The lists may be truncated. */
export interface LockWaits {
  readonly slots: number;
  readonly holders: readonly { readonly owner: string; readonly permits: number }[];
  /** The live waiters for which `reportWait` recorded leases. */
  readonly waiters: readonly NestedWaiter[];
}

export interface NestedWaiter extends WaiterInfo {
  /** The largest number of permits that a live waiter in front of it requests. */
  readonly aheadPermits: number;
  readonly holds: readonly HeldLock[];
}
