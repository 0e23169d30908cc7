import { LockArgumentError } from '../lock/index.ts';

/** How much the values of one process may take of its memory. What is used least lately gives way. */
export interface CacheLimits {
  /** The most values. Default 100,000. */
  readonly entries?: number;
  /** The most bytes of their texts, without what keys and tables take. Default 64 MiB. */
  readonly bytes?: number;
}

export type ResolvedCacheLimits = Required<CacheLimits>;

const DEFAULTS: ResolvedCacheLimits = { entries: 100_000, bytes: 64 * 2 ** 20 };

export function resolveCacheLimits({
  entries = DEFAULTS.entries,
  bytes = DEFAULTS.bytes,
}: CacheLimits): ResolvedCacheLimits {
  return { entries: checkLimit(entries, 'entries'), bytes: checkLimit(bytes, 'bytes') };
}

function checkLimit(limit: number, name: string): number {
  if (typeof limit === 'number' && limit >= 1) return limit;
  throw new LockArgumentError(
    '',
    `cacheLimits.${name} is a number from 1 on, or Infinity; got ${String(limit)}`,
  );
}

/** They are for values in this process only. */
export function checkCacheLimits(limits: CacheLimits, isInMemory: boolean): void {
  resolveCacheLimits(limits);
  if (isInMemory) return;
  throw new LockArgumentError(
    '',
    'cacheLimits are for values in this process: createLocks({ cacheLimits }). A Redis has its maxmemory.',
  );
}
