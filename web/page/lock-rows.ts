import type { PageLock, PageLockKind } from '../../src/page/protocol.ts';
import { clientText } from './parties.ts';

export type LockColumn = 'waiters' | 'name' | 'kind' | 'holder' | 'held' | 'left' | 'fence';

/** Which locks the table shows, and in which order. */
export interface LockQuery {
  readonly text: string;
  /** Null: all kinds. */
  readonly kind: PageLockKind | null;
  readonly column: LockColumn;
  readonly isDescending: boolean;
}

/**
 * The locks that match, in order. Locks that are equal in the column are ordered by name. `before` are the rows of the
 * time before: sorting begins with their order, which needs few comparisons when little has changed.
 */
export function rowsOf(
  locks: ReadonlyMap<string, PageLock>,
  query: LockQuery,
  before: readonly PageLock[] = [],
): PageLock[] {
  const words = query.text.toLowerCase().split(/\s+/).filter(Boolean);
  const rows: { lock: PageLock; key: number | string }[] = [];
  const keyOf = KEYS[query.column];
  for (const lock of startingWith(before, locks)) {
    if (query.kind !== null && lock.kind !== query.kind) continue;
    if (words.length > 0 && !matches(lock, words)) continue;
    rows.push({ lock, key: keyOf(lock) });
  }
  const sign = query.isDescending ? -1 : 1;
  rows.sort(
    (a, b) =>
      sign * compare(a.key, b.key) ||
      compare(a.lock.name, b.lock.name) ||
      compare(a.lock.id, b.lock.id),
  );
  return rows.map(({ lock }) => lock);
}

function startingWith(
  before: readonly PageLock[],
  locks: ReadonlyMap<string, PageLock>,
): Iterable<PageLock> {
  const known = new Set<PageLock>();
  for (const { id } of before) {
    const lock = locks.get(id);
    if (lock !== undefined) known.add(lock);
  }
  for (const lock of locks.values()) known.add(lock);
  return known;
}

/** The number of locks of each kind. */
export function countKinds(locks: Iterable<PageLock>): Record<PageLockKind, number> {
  const counts = { mutex: 0, semaphore: 0, rw: 0 };
  for (const { kind } of locks) counts[kind]++;
  return counts;
}

function matches(lock: PageLock, words: readonly string[]): boolean {
  return words.every((word) => searchText(lock).includes(word));
}

/** Lower-case texts by lock: an unchanged lock is the same object in every message. */
const searchTexts = new WeakMap<PageLock, string>();

function searchText(lock: PageLock): string {
  let text = searchTexts.get(lock);
  if (text === undefined) {
    const parties = [...lock.holders, ...lock.waiters].map(({ client }) => clientText(client));
    text = [lock.name, ...parties].join('\n').toLowerCase();
    searchTexts.set(lock, text);
  }
  return text;
}

const LAST = Number.MAX_SAFE_INTEGER;
/** A lock that is held since long, and one whose lease ends soon, come first when the key is small. */
const KEYS: Readonly<Record<LockColumn, (lock: PageLock) => number | string>> = {
  waiters: ({ waiterCount }) => waiterCount,
  name: ({ name }) => name,
  kind: ({ kind }) => kind,
  holder: ({ holders }) => (holders[0] === undefined ? '\uffff' : clientText(holders[0].client)),
  // Time held grows as `sinceMs` falls.
  held: ({ holders }) => (holders[0]?.sinceMs == null ? -LAST : -holders[0].sinceMs),
  left: ({ holders }) => holders[0]?.endsMs ?? LAST,
  fence: ({ holders }) => holders[0]?.fence ?? 0,
};

function compare<T extends number | string>(a: T, b: T): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
