import type { LoadFailure } from './store.ts';

export type CacheErrorCode = 'load' | 'timeout' | 'aborted' | 'unavailable' | 'deadlock';

export const CLOSED = 'the cache was closed';
const BRAND = Symbol.for('holdfast.CacheError');

/** Error of a cache. The error of the caller's own `load` is thrown as it is. */
export class CacheError extends Error {
  readonly code: CacheErrorCode;
  readonly key: string;
  readonly [BRAND] = true;

  constructor(code: CacheErrorCode, key: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'CacheError';
    this.code = code;
    this.key = key;
  }

  /** True also for an error of another copy of the package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}

/** The load failed in another process, or earlier, and its backoff has not ended. */
export function loadError(key: string, { name, message, leftMs }: LoadFailure): CacheError {
  const when = leftMs > 0 ? ` The next load may begin in ${Math.ceil(leftMs)} ms (backoff).` : '';
  return new CacheError(
    'load',
    key,
    `the load of '${key}' failed with ${name}: ${message}.${when}`,
  );
}

export function timeoutError(key: string, waitedMs: number): CacheError {
  const waited = Math.round(waitedMs);
  return new CacheError(
    'timeout',
    key,
    `there was no value of '${key}' within ${waited} ms. Wait longer (hardTimeout), or allow a stale value (stale).`,
  );
}

export function abortedError(key: string, cause: unknown): CacheError {
  return new CacheError('aborted', key, `waiting for the value of '${key}' was aborted`, cause);
}

export function closedError(key: string): CacheError {
  return abortedError(key, new Error(CLOSED));
}

export function unavailableError(key: string, cause: unknown): CacheError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new CacheError('unavailable', key, `the store of '${key}' failed: ${reason}`, cause);
}

export function deadlockError(key: string): CacheError {
  return new CacheError(
    'deadlock',
    key,
    `the load of '${key}' waits for '${key}' itself, or for a load that waits for it: a deadlock`,
  );
}
