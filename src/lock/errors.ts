export type LockErrorCode =
  | 'timeout'
  | 'lost'
  | 'unavailable'
  | 'not-held'
  | 'aborted'
  | 'deadlock'
  | 'argument';

/** Why a lease ended before its holder let it go. */
export type LossReason = 'expired' | 'stolen' | 'unreachable';

const BRAND = Symbol.for('holdfast.LockError');

/**
 * What every error of the library is. `instanceof` holds across copies of the package, as when one
 * is loaded as ESM and one as CommonJS: it looks at a brand, not at the prototype.
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

  /** The code that a subclass stands for; undefined for the base, which is all of them. */
  protected static readonly codeOf: LockErrorCode | undefined = undefined;
}

/** The lock stayed busy for as long as the caller was ready to wait. */
export class LockTimeoutError extends LockError {
  protected static override readonly codeOf = 'timeout';
  constructor(lock: string, waitedMs: number) {
    super(
      'timeout',
      lock,
      `lock '${lock}' stayed busy for ${Math.round(waitedMs)} ms. Wait longer (wait: '30s'), or try later.`,
    );
  }
}

/** The lease has ended, or may have: the work that it guarded must stop. */
export class LockLostError extends LockError {
  protected static override readonly codeOf = 'lost';
  readonly reason: LossReason;
  constructor(lock: string, reason: LossReason, cause?: unknown) {
    super('lost', lock, `lock '${lock}' was lost: ${LOSSES[reason]}`, cause);
    this.reason = reason;
  }
}

const LOSSES = {
  expired: 'its time was over. Renew it, ask for a longer lease, or for a longer maxHold.',
  stolen: 'the store gave it to somebody else, or somebody released it by force.',
  unreachable: 'the store could not be reached to renew it before the lease can end.',
} as const satisfies Record<LossReason, string>;

/** The store did not answer: whether the lock is busy is not known. */
export class LockUnavailableError extends LockError {
  protected static override readonly codeOf = 'unavailable';
  constructor(lock: string, cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const how = howOf(cause);
    super('unavailable', lock, `the store of lock '${lock}' ${how}: ${reason}`, cause);
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
    super(`its reply took ${took} ms, and the lease is ${lease} ms. Ask for a longer lease.`);
  }
}

/** The lease is no longer held. */
export class NotHeldError extends LockError {
  protected static override readonly codeOf = 'not-held';
  constructor(lock: string, cause?: unknown) {
    super('not-held', lock, `lock '${lock}' is not held by this lease any more`, cause);
  }
}

/** Waiting was given up by the caller's signal, or waiting or holding was ended by close(). */
export class LockAbortedError extends LockError {
  protected static override readonly codeOf = 'aborted';
  constructor(lock: string, cause: unknown, doing: 'waiting for' | 'holding' = 'waiting for') {
    super('aborted', lock, `${doing} lock '${lock}' was aborted`, cause);
  }
}

/** The task would wait for itself, or for tasks that wait for it. */
export class DeadlockError extends LockError {
  protected static override readonly codeOf = 'deadlock';
  constructor(lock: string, deadlock: Deadlock) {
    super('deadlock', lock, `waiting for lock '${lock}' would never end: ${DEADLOCKS[deadlock]}`);
  }
}

/** Who is waited for: the task itself, which may want to write what it reads, or others in a circle. */
export type Deadlock = 'own' | 'upgrade' | 'behind' | 'cycle';

const DEADLOCKS = {
  own: 'it is held by the body of run() that asks for it. Ask with { reentrant: true }, or after that body.',
  upgrade:
    'it is read by the body of run() that asks to write. Leave that body first, or write from the start.',
  behind:
    'who goes before (a writer, or one that takes more permits) waits for the body of run() that asks once more. Ask with { reentrant: true }, or for all at once.',
  cycle:
    'its holder waits for a lock that this task holds. Take locks in one order, or with all().',
} as const satisfies Record<Deadlock, string>;

/** An argument that cannot be right. */
export class LockArgumentError extends LockError {
  protected static override readonly codeOf = 'argument';
  constructor(lock: string, message: string) {
    super('argument', lock, message);
  }
}

/** A store can say that what failed will always fail. */
export function isFinal(error: unknown): boolean {
  return error instanceof Error && 'isFinal' in error && error.isFinal === true;
}
