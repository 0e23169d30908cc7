import type { LoadFailure } from './store.ts';

export type CacheErrorCode = 'load' | 'timeout' | 'aborted' | 'unavailable' | 'deadlock';

export const CLOSED = 'the cache was closed';
const BRAND = Symbol.for('holdfast.CacheError');

/** What a cache throws, other than the error of the caller's own `load`. */
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

  /** Also across copies of the package. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}

/** The load failed in another process, or a while ago. */
export function loadError(key: string, { name, message, leftMs }: LoadFailure): CacheError {
  const when = leftMs > 0 ? ` It is not tried again for ${Math.ceil(leftMs)} ms (backoff).` : '';
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
    `no value of '${key}' came within ${waited} ms. Wait longer (hardTimeout), or allow a stale one (stale).`,
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
    `the load of '${key}' asks for '${key}' itself, or for what waits for it, and would wait for ever`,
  );
}
