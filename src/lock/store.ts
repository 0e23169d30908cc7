import type { Linked } from './linked-list.ts';

/**
 * Where locks live. One rule admits every kind: the live weights of others and what is asked for must
 * fit into the slots. A mutex takes 1 of 1, a semaphore k of n, a reader 1 of MANY, a writer MANY of
 * MANY; a plain mutex is kept so that `SET key token NX PX` of other programs excludes it.
 *
 * Every request is idempotent by its owner, a name that is drawn once for each acquisition: a request
 * that is sent again after its reply was lost changes nothing and gets the same answer.
 *
 * A store in this process may answer at once. Any other must answer or fail within a time of its own:
 * nobody above watches over that. An error with `isFinal: true` says that asking again is in vain.
 */
export interface LockStore {
  /** What the names of owners are to begin with, so that the store knows whose they are. */
  readonly ownerPrefix?: string;
  /**
   * Asks once. Free: granted, with a fence larger than any before. Busy: the claim stands in line, if
   * `queues`, and `retryInMs` says when to ask again unless its waiter is called. Asking again keeps the
   * place.
   */
  ask(claim: Claim, queues: boolean): Answer | Promise<Answer>;
  /**
   * The same, of a store that never answers at once: without the turns that a promise takes to tell, which
   * over a network are a hundredth of taking a lock. The hearer is told in no asynchronous context of its own.
   */
  askAndTell?(claim: Claim, queues: boolean, asker: Requester<Answer>): void;
  /**
   * Asks for several mutexes at once, all or none, with one fence for all that is not below the one
   * given. What the owner has already is kept. Undefined: these do not live together (in a cluster).
   */
  askAll(claims: readonly Claim[], leastFence: number): Promise<Answer | undefined>;
  /** Takes a lock over from another owner, who gave it away, with a new fence. Not held: it was too late. */
  adopt(claim: Claim, from: Hold): Promise<Answer>;
  /** Prolongs a lease; false: it is no longer ours. */
  extend(hold: Hold, leaseMs: number): boolean | Promise<boolean>;
  /**
   * Ends a lease or leaves the line; the next in line is called. False: it was no longer ours. With the
   * fence, a release that is sent again, after which nobody was granted the lock, is known for one.
   */
  release(hold: Hold, fence?: number): boolean | Promise<boolean>;
  /** The same, of a store that never answers at once. */
  releaseAndTell?(hold: Hold, fence: number | undefined, leaver: Requester<boolean>): void;
  /** Takes a lock from whoever holds it, and raises the fence. How many holders there were. */
  forceRelease(target: Target): Promise<number>;
  inspect(target: Target): Promise<Inspection>;
  /** Calls back when all leases are lost: where they can end with something other than their time. */
  onLost?(listener: (reason: Error) => void): void;
  /** The hold is over, or another process's: what would end it with this one is called off. */
  disown?(hold: Hold): Promise<void> | undefined;
  close(): Promise<void>;
}

/** Who is told what came of a request: once, and never inside of the call that makes it. */
export interface Hearer<Result> {
  answered(result: Result): void;
  failed(error: unknown): void;
}

export interface Requester<Result> extends Hearer<Result> {
  /**
   * The request has left: while it is on its way there is time for what need not be done before. Told in the
   * turn of the request, and maybe again: what is not answered well may be sent once more.
   */
  sent?(): void;
}

/**
 * Who is told that its turn may have come, though never inside of a call of `ask`. The hint may get lost, and
 * may overtake the answer that there is a line. With a grant the owner holds the lock; without, it should
 * ask again.
 */
export interface Waiter {
  called(call?: Call): void;
}

export type Call = Grant | Reservation | Watch | undefined;

/** A lock that was handed over for the whole lease, with the times before it was. */
export interface Grant {
  readonly fence: number;
  readonly sentMs: number;
  readonly sentWallMs: number;
}

/**
 * A lock that was handed over at a time that is not known, but after its owner last asked, and for so
 * long: within it the owner must ask again, or extend, to have its lease.
 */
export interface Reservation {
  readonly fence: number;
  readonly reservedMs: number;
}

/** The lock was handed to who stood before the owner: unless that one confirms, it is the owner's turn. */
export interface Watch {
  readonly retryInMs: number;
}

export type LockKind = 'mutex' | 'semaphore' | 'rw';

/** Which lock. */
export interface Target {
  readonly kind: LockKind;
  readonly name: string;
  /** How much there is to take. */
  readonly slots: number;
}

/** A place in a lock. */
export interface Hold extends Target {
  readonly owner: string;
  readonly take: number;
  /** What `inspect` shows of the holder. */
  readonly info: HolderInfo;
  /** What a store in another process calls it. */
  words?: HoldWords | undefined;
}

/** Made once, for the one object that they are of: a copy has others. */
export interface HoldWords {
  readonly of: Hold;
  readonly key: string;
  readonly token: string;
}

/** It is the very object that stands in line, and leaves it: a copy is another's. */
export interface Claim extends Hold, Linked<Claim> {
  /** A store that has released it may ask under another name: see ownerAgain. */
  owner: string;
  readonly leaseMs: number;
  waiter?: Waiter | undefined;
  /** Whether a store in this process has it in a line, and its neighbours there. */
  isInLine?: boolean;
}

export type Answer =
  | { readonly held: true; readonly fence: number }
  | { readonly held: false; readonly retryInMs: number };

export interface HolderInfo {
  readonly host: string;
  readonly pid: number;
  readonly label: string;
}

/** A holder of a lock: a client of Holdfast, or another program that took the key of a mutex. */
export type Holder = HoldfastHolder | ForeignHolder;

export interface HoldfastHolder extends HolderInfo {
  readonly foreign: false;
  readonly take: number;
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
   * The first 1024 bytes of a string, read as UTF-8: bytes that are none become U+FFFD (`holdfast show` prints
   * them as `\xff`). Empty for any other type.
   */
  readonly value: string;
  readonly take: 1;
  /**
   * The TTL of the key. Infinity: it has none, and the lock does not end by itself. `JSON.stringify` writes
   * that as null.
   */
  readonly leftMs: number;
}

export interface Inspection {
  readonly holders: readonly Holder[];
  /** In the order in which they will be served. */
  readonly waiters: readonly (HolderInfo & { readonly take: number })[];
}
