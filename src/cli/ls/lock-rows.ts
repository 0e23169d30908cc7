import type { ListedHolder, ListedLock } from '../../stores/index.ts';
import { isWriter, kindText } from './words.ts';

/** One line of a table of locks. */
export interface LockRow extends Omit<ListedLock, 'kind'> {
  /** As it is printed. */
  readonly kind: string;
}

/**
 * One row for each lock; `locks` are in the order of their names. An exclusive `holdfast run` holds two locks of one
 * name, the mutex and the write side of the read/write lock: they are one row.
 */
export function lockRows(locks: readonly ListedLock[]): LockRow[] {
  const rows: LockRow[] = [];
  for (const [index, lock] of locks.entries()) {
    const previous = locks[index - 1];
    if (previous !== undefined && isPair(previous, lock)) rows.push(pairRow(rows.pop()!, lock));
    else rows.push({ ...lock, kind: kindText(lock) });
  }
  return rows;
}

/** Whether one process holds the mutex and the write side of this name. */
function isPair(mutex: ListedLock, rw: ListedLock): boolean {
  if (mutex.nameBytes !== rw.nameBytes || mutex.kind !== 'mutex' || rw.kind !== 'rw') return false;
  if (mutex.holderCount !== 1 || rw.holderCount !== 1) return false;
  const [[one], [other]] = [mutex.holders, rw.holders];
  if (one?.info === undefined || other?.info === undefined || !isWriter(other)) return false;
  const { host, pid, label } = other.info;
  return one.info.host === host && one.info.pid === pid && one.info.label === label;
}

/** The pair is lost with the first of its leases, and its fence is the larger one, as HOLDFAST_FENCE. */
function pairRow(mutex: LockRow, rw: ListedLock): LockRow {
  const [[one], [other]] = [mutex.holders, rw.holders] as [[ListedHolder], [ListedHolder]];
  const leftMs = Math.min(one.leftMs ?? Infinity, other.leftMs ?? Infinity);
  const holder: ListedHolder = {
    ...one,
    fence: Math.max(one.fence ?? 0, other.fence ?? 0),
    leftMs: leftMs === Infinity ? undefined : leftMs,
  };
  const waiters = [...mutex.waiters, ...rw.waiters];
  const waiterCount = mutex.waiterCount + rw.waiterCount;
  return { ...mutex, kind: 'mutex+write', holders: [holder], waiters, waiterCount };
}
