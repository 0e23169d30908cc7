import { describe, expect, it } from 'vitest';
import type { PageLock } from '../../src/page/protocol.ts';
import { type LockQuery, rowsOf } from './lock-rows.ts';
import { clientRows } from './parties.ts';

function lock(name: string, more: Partial<PageLock> = {}, host = 'web'): PageLock {
  const client = { host, pid: 7, label: 'job' };
  return {
    id: name,
    kind: 'mutex',
    name,
    holderCount: 1,
    waiterCount: 0,
    holders: [{ owner: name, client, permits: 1, fence: 5, sinceMs: 1000, endsMs: 9000 }],
    waiters: [],
    ...more,
  };
}

const ALL: LockQuery = { text: '', kind: null, column: 'waiters', isDescending: true };

function names(locks: PageLock[], query: Partial<LockQuery>): string[] {
  const byId = new Map(locks.map((each) => [each.id, each]));
  return rowsOf(byId, { ...ALL, ...query }).map(({ name }) => name);
}

describe('rowsOf', () => {
  const locks = [
    lock('b', { waiterCount: 2 }),
    lock('a', { waiterCount: 2, kind: 'rw' }),
    lock('c', { waiterCount: 9 }, 'db-1'),
  ];

  it('puts the lock with most waiters first, and equal ones in order of name', () => {
    expect(names(locks, {})).toEqual(['c', 'a', 'b']);
  });

  it('gives the same order whatever the rows before were', () => {
    const byId = new Map(locks.map((each) => [each.id, each]));
    const before = [lock('c'), lock('gone'), lock('b')];
    expect(rowsOf(byId, ALL, before)).toEqual(rowsOf(byId, ALL));
  });

  it('filters by kind', () => {
    expect(names(locks, { kind: 'rw' })).toEqual(['a']);
  });

  it('filters by words of the name or the client, in any case', () => {
    expect(names(locks, { text: 'DB-1:7  job' })).toEqual(['c']);
    expect(names(locks, { text: 'nothing' })).toEqual([]);
  });

  it('sorts by time held and by time left, with unknown times last', () => {
    const party = lock('x').holders[0]!;
    const timed = [
      lock('young', { holders: [{ ...party, sinceMs: 5000, endsMs: null }] }),
      lock('old', { holders: [{ ...party, sinceMs: 10, endsMs: 400 }] }),
      lock('unknown', { holders: [{ ...party, sinceMs: null, endsMs: 300 }] }),
    ];
    expect(names(timed, { column: 'held', isDescending: true })).toEqual([
      'old',
      'young',
      'unknown',
    ]);
    expect(names(timed, { column: 'left', isDescending: false })).toEqual([
      'unknown',
      'old',
      'young',
    ]);
  });
});

it('clientRows counts a lock once for each process, also when it holds it twice', () => {
  const [holder] = lock('a').holders;
  const locks = [lock('a', { holders: [holder!, { ...holder!, owner: 'second' }] }), lock('b')];
  const rows = clientRows(locks);
  expect(rows).toHaveLength(1);
  expect(rows[0]!.holds.map(({ name }) => name)).toEqual(['a', 'b']);
});
