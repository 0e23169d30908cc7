import { LockArgumentError } from '../lock/index.ts';

/** Limits for values in the memory of this process. The least recently used values are evicted. */
export interface CacheLimits {
  /** Maximum number of values. Default 100,000. */
  readonly entries?: number;
  /** Maximum size of the encoded values, without keys and overhead. Default 64 MiB. */
  readonly bytes?: number;
}

export type ResolvedCacheLimits = Required<CacheLimits>;

const DEFAULTS: ResolvedCacheLimits = { entries: 100_000, bytes: 64 * 2 ** 20 };

/** `option`: the name of the option that the caller has set. */
export function resolveCacheLimits(
  { entries = DEFAULTS.entries, bytes = DEFAULTS.bytes }: CacheLimits,
  option = 'cacheLimits',
): ResolvedCacheLimits {
  return {
    entries: checkLimit(entries, `${option}.entries`),
    bytes: checkLimit(bytes, `${option}.bytes`),
  };
}

function checkLimit(limit: number, name: string): number {
  if (typeof limit === 'number' && limit >= 1) return limit;
  throw new LockArgumentError(
    '',
    `${name} must be a number of at least 1, or Infinity; got ${String(limit)}`,
  );
}

/** @throws LockArgumentError if the limits are wrong, or the values are not kept in this process. */
export function checkCacheLimits(limits: CacheLimits, isInMemory: boolean): void {
  resolveCacheLimits(limits);
  if (isInMemory) return;
  throw new LockArgumentError(
    '',
    'cacheLimits are for values in this process: createLocks({ cacheLimits }). A Redis has its maxmemory.',
  );
}
