import { describe, expect, it } from 'vitest';
import { Contention } from './contention.ts';
import type { PageEvent, PageEventType } from './protocol.ts';

const MINUTE_MS = 60_000;
const NOW_MS = 1_000_000 * MINUTE_MS + 30_000;

function event(type: PageEventType, name: string, more: Partial<PageEvent> = {}): PageEvent {
  return {
    id: 1,
    atMs: NOW_MS,
    type,
    lockId: 'm',
    kind: 'mutex',
    name,
    owner: 'o',
    client: null,
    fence: null,
    heldMs: null,
    waitedMs: null,
    ...more,
  };
}

describe('Contention', () => {
  it('counts waits, grants and waited time of the minute and the group', () => {
    const contention = new Contention();
    contention.add(event('waiting', 'order:1', { atMs: NOW_MS - MINUTE_MS }));
    contention.add(event('handed-over', 'order:2', { waitedMs: 40 }));
    const { fromMs, groups } = contention.facts(NOW_MS);
    expect(fromMs).toBe((1_000_000 - 59) * MINUTE_MS);
    expect(groups).toHaveLength(1);
    expect(groups[0]!.group).toBe('order:*');
    expect(groups[0]!.waits.slice(-2)).toEqual([1, 0]);
    expect(groups[0]!.grants.slice(-2)).toEqual([0, 1]);
    expect(groups[0]!.waitedMs.slice(-2)).toEqual([0, 40]);
  });

  it('forgets what is more than an hour ago, also when its place is used again', () => {
    const contention = new Contention();
    contention.add(event('waiting', 'a', { atMs: NOW_MS - 60 * MINUTE_MS }));
    expect(contention.facts(NOW_MS).groups).toEqual([]);
    contention.add(event('granted', 'b'));
    contention.add(event('waiting', 'a', { atMs: NOW_MS - 60 * MINUTE_MS }));
    expect(contention.facts(NOW_MS).groups.map(({ group }) => group)).toEqual(['b']);
  });

  it('returns histograms with their quantiles', () => {
    const contention = new Contention();
    for (let ms = 1; ms <= 100; ms++) contention.add(event('released', 'a', { heldMs: ms }));
    const { hold, wait } = contention.facts(NOW_MS);
    expect(hold.counts.reduce((sum, count) => sum + count)).toBe(100);
    expect(hold.p50Ms).toBeCloseTo(50, 0);
    expect(hold.p99Ms).toBeCloseTo(99, 0);
    expect([wait.p50Ms, wait.p99Ms]).toEqual([null, null]);
  });

  it('counts leases that ended other than by a release', () => {
    const contention = new Contention();
    for (const type of ['expired', 'expired', 'forced', 'released', 'session-ended'] as const) {
      contention.add(event(type, '__proto__'));
    }
    expect(contention.facts(NOW_MS).losses).toEqual({ expired: 2, forced: 1, 'session-ended': 1 });
  });

  it('returns the newest losses of each reason in the last hour, however many events follow', () => {
    const contention = new Contention();
    contention.add(event('expired', 'old', { atMs: NOW_MS - 61 * 60_000 }));
    for (let id = 1; id <= 10; id++) contention.add(event('expired', 'a', { id }));
    contention.add(event('forced', 'b', { id: 11 }));
    for (let id = 12; id <= 20_000; id++) contention.add(event('granted', 'c', { id }));
    expect(contention.facts(NOW_MS).recentLosses.map(({ id }) => id)).toEqual([
      3, 4, 5, 6, 7, 8, 9, 10, 11,
    ]);
    contention.clear();
    expect(contention.facts(NOW_MS).recentLosses).toEqual([]);
  });

  it('returns the 100 groups with the most waiting, and one for the others', () => {
    const contention = new Contention();
    const name = (index: number): string =>
      `group-${'x'.repeat(index % 40)}-${'y'.repeat(index / 40)}`;
    for (let index = 0; index < 1500; index++) {
      contention.add(event('handed-over', name(index), { waitedMs: index === 700 ? 9000 : 1 }));
    }
    const { groups } = contention.facts(NOW_MS);
    expect(groups).toHaveLength(101);
    expect(groups[0]!.group).toBe(name(700));
    expect(groups.at(-1)!.group).toBe('(others)');
    expect(groups.reduce((sum, { grants }) => sum + grants.at(-1)!, 0)).toBe(1500);
  });
});
