import type { Contention, Holder, HolderInfo } from './store.ts';
import type { WaitCycle } from './wait-graph.ts';

export type LockErrorCode =
  | 'timeout'
  | 'lost'
  | 'unavailable'
  | 'not-held'
  | 'aborted'
  | 'deadlock'
  | 'argument';

/** Why a lease ended before its holder released it. */
export type LossReason = 'expired' | 'stolen' | 'unreachable';

const BRAND = Symbol.for('holdfast.LockError');

/**
 * Base class of all errors of the library. `instanceof` works across copies of the package, such as one loaded as ESM and
 * one as CommonJS: it checks a brand, not the prototype.
 */
export class LockError extends Error {
  readonly code: LockErrorCode;
  /** The name of the lock, or names joined by a comma. */
  readonly lock: string;
  readonly [BRAND]: LockErrorCode;

  constructor(code: LockErrorCode, lock: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.lock = lock;
    this[BRAND] = code;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== 'object' || value === null || !(BRAND in value)) return false;
    // `this` is the class on the right of instanceof, which may be a subclass.
    // biome-ignore lint/complexity/noThisInStatic: the name of this class would be the wrong one.
    return this.codeOf === undefined || value[BRAND] === this.codeOf;
  }

  /** The code of a subclass. Undefined: the base class, which matches every code. */
  protected static readonly codeOf: LockErrorCode | undefined = undefined;
}

/** The lock stayed busy until the wait timeout. */
export class LockTimeoutError extends LockError {
  protected static override readonly codeOf = 'timeout';
  /** The clients that held the lock when the wait ended. Empty if the store did not reply in time. */
  readonly holders: readonly Holder[];
  /** The place of this request in the queue, from 1 on. Undefined if it did not wait, or is not known. */
  readonly place: number | undefined;

  constructor(lock: string, waitedMs: number, { holders, place }: Contention) {
    super(
      'timeout',
      lock,
      `lock '${lock}' stayed busy for ${Math.round(waitedMs)} ms${heldBy(holders)}${placeText(place)}. ` +
        "Wait longer (wait: '30s'), or try later.",
    );
    this.holders = holders;
    this.place = place;
  }
}

/** Maximum number of holders that a message names. */
const MAX_NAMED = 3;

function heldBy(holders: readonly Holder[]): string {
  if (holders.length === 0) return '';
  const named = holders.slice(0, MAX_NAMED).map(holderText);
  const others = holders.length - named.length;
  return `: held by ${named.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

function holderText(holder: Holder): string {
  if (holder.foreign) return 'another program';
  return `${clientText(holder)} for ${(holder.ageMs / 1000).toFixed(1)} s`;
}

function clientText({ host, pid, label }: HolderInfo): string {
  return `${host} pid ${pid}${label === '' ? '' : ` (${label})`}`;
}

function placeText(place: number | undefined): string {
  return place === undefined ? '' : `; this request was number ${place} in the queue`;
}

/** The lease has ended, or may have ended: the work that it guarded must stop. */
export class LockLostError extends LockError {
  protected static override readonly codeOf = 'lost';
  readonly reason: LossReason;
  constructor(lock: string, reason: LossReason, cause?: unknown) {
    super('lost', lock, `lock '${lock}' was lost: ${LOSSES[reason]}`, cause);
    this.reason = reason;
  }
}

const LOSSES = {
  expired: 'its lease ended. Renew it, or use a longer lease or maxHold.',
  stolen: 'another client stole it or released it by force, or the store lost it.',
  unreachable: 'the store could not be reached to renew it before the lease ended.',
} as const satisfies Record<LossReason, string>;

/** The store did not reply: it is unknown whether the lock is busy. */
export class LockUnavailableError extends LockError {
  protected static override readonly codeOf = 'unavailable';
  constructor(lock: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const how = howOf(cause);
    const store = lock === '' ? 'the store' : `the store of lock '${lock}'`;
    super('unavailable', lock, `${store} ${how}: ${reason}`, cause);
  }
}

function howOf(cause: unknown): string {
  if (cause instanceof SlowStoreError) return 'is too slow';
  return isFinal(cause) ? 'refused it' : 'cannot be reached';
}

/** A grant arrived so late that its lease may have ended. */
export class SlowStoreError extends Error {
  constructor(tookMs: number, leaseMs: number) {
    const [took, lease] = [Math.round(tookMs), Math.round(leaseMs)];
    super(`its reply took ${took} ms, and the lease is ${lease} ms. Use a longer lease.`);
  }
}

/** Why a lease was lost: another client took the lock by `acquire({ steal: true, reason })`. */
export class StolenError extends Error {
  constructor(by: HolderInfo, reason: string) {
    super(`${clientText(by)} stole it: ${reason}`);
  }
}

/** The lease is no longer held. */
export class NotHeldError extends LockError {
  protected static override readonly codeOf = 'not-held';
  constructor(lock: string, cause?: unknown) {
    super('not-held', lock, `lock '${lock}' is not held by this lease any more`, cause);
  }
}

/** The caller's signal ended the wait, or close() ended the wait or the lease. */
export class LockAbortedError extends LockError {
  protected static override readonly codeOf = 'aborted';
  constructor(lock: string, cause: unknown, doing: 'waiting for' | 'holding' = 'waiting for') {
    super('aborted', lock, `${doing} lock '${lock}' was aborted`, cause);
  }
}

/** The request would never be granted: the caller would wait for itself, or for callers that wait for it. */
export class DeadlockError extends LockError {
  protected static override readonly codeOf = 'deadlock';
  constructor(lock: string, deadlock: Deadlock | WaitCycle) {
    const reason = typeof deadlock === 'string' ? DEADLOCKS[deadlock] : cycleText(deadlock);
    super('deadlock', lock, `waiting for lock '${lock}' would never end: ${reason}`);
  }
}

/** The cause of a deadlock: see findDeadlock(). */
export type Deadlock = 'own' | 'upgrade' | 'behind' | 'cycle';

/** Maximum number of members of a deadlock that a message names. */
const MAX_MEMBERS = 8;
const IN_ORDER = 'Take locks in one order, or with all().';

function cycleText({ path }: WaitCycle): string {
  const named = path.slice(0, MAX_MEMBERS).map(({ waiter, holds, waitsFor }) => {
    return `${clientText(waiter)} holds '${holds}' and waits for '${waitsFor}'`;
  });
  const others = path.length - named.length;
  return `${named.join('; ')}${others > 0 ? `; and ${others} more` : ''}. ${IN_ORDER}`;
}

const DEADLOCKS = {
  own: 'the callback of run() that requests it holds it. Pass { reentrant: true }, or request it after that callback.',
  upgrade:
    'the callback of run() that requests to write holds it for reading. Request to write from the start, or after that callback.',
  behind:
    'a request in front of it (a writer, or one for more permits) waits for the callback of run() that requests it. Pass { reentrant: true }, or request all permits at once.',
  cycle: `its holder waits for a lock that this task holds. ${IN_ORDER}`,
} as const satisfies Record<Deadlock, string>;

/** An argument or option is wrong. */
export class LockArgumentError extends LockError {
  protected static override readonly codeOf = 'argument';
  constructor(lock: string, message: string) {
    super('argument', lock, message);
  }
}

/** Thrown by a store if the lock is in use with another number of slots. */
export function otherSlots(lock: string, slots: number, given: number): LockArgumentError {
  return new LockArgumentError(
    lock,
    `semaphore '${lock}' is in use with ${slots} permits, and this program requests one with ${given}. Use the same ` +
      'number in every program; it can change once no client holds the semaphore or waits for it.',
  );
}

/** Replaces the stack of an error that was created in a timer or a callback by that of the caller. */
export function withCallerFrames(error: unknown): unknown {
  if (error instanceof LockError) Error.captureStackTrace(error, withCallerFrames);
  return error;
}

/**
 * Rejects with an error that was made in a timer or a callback, and gives it the frames of the caller: of the async
 * function that awaits the promise which is resolved with this one. V8 finds them once the two promises are linked, which
 * takes a microtask more.
 */
export async function rejectWithFrames(error: LockError | Promise<LockError>): Promise<never> {
  const made = await error;
  await undefined;
  throw withCallerFrames(made);
}

/** Whether a store marked the error as permanent: retries would fail too. */
export function isFinal(error: unknown): boolean {
  return error instanceof Error && 'isFinal' in error && error.isFinal === true;
}
