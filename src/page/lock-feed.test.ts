import { beforeEach, describe, expect, it } from 'vitest';
import { type VirtualClock, virtualClock } from '../clock/index.ts';
import type { ListedHolder, ListedLock, LockSource } from '../stores/index.ts';
import { LockFeed, type LockUpdate } from './lock-feed.ts';
import { lockId } from './page-lock.ts';
import type { PageLock } from './protocol.ts';

const HOLDER: ListedHolder = {
  owner: 'client.1',
  info: { host: 'vm', pid: 7, label: 'job' },
  permits: 1,
  fence: 10,
  ageMs: 500,
  leftMs: 30_000,
  foreignType: undefined,
};

function lock(name: string, holder: Partial<ListedHolder> = {}): ListedLock {
  const holders = [{ ...HOLDER, ...holder }];
  return { kind: 'mutex', nameBytes: name, holderCount: 1, holders, waiterCount: 0, waiters: [] };
}

let clock: VirtualClock;
let listed: ListedLock[];
let failure: Error | undefined;
let tookMs: number;
let lists: number[];
let maxLocks: number | undefined;
let updates: LockUpdate[];
let feed: LockFeed;

beforeEach(() => {
  clock = virtualClock();
  [listed, failure, tookMs, lists, updates] = [[], undefined, 0, [], []];
  const source = {
    async list(_pattern: string | undefined, max?: number) {
      maxLocks = max;
      lists.push(clock.monotonicMs());
      if (tookMs > 0) await new Promise<void>((resolve) => clock.setTimer(tookMs, resolve));
      if (failure !== undefined) throw failure;
      return { locks: listed, isCut: false, unreadableCount: 0, failureBytes: '' };
    },
  } as unknown as LockSource;
  const onUpdate = (update: LockUpdate): unknown => updates.push(update);
  feed = new LockFeed({ source, clock, waitingSince: () => undefined, onUpdate });
});

const names = (update: LockUpdate | undefined): string[] =>
  update === undefined || update.type === 'failed'
    ? []
    : update.locks.map((text) => (JSON.parse(text) as PageLock).name);

describe('LockFeed', () => {
  it('reads nothing before it starts, and nothing after it stops', async () => {
    await clock.advanceAsync(5000);
    expect(lists).toEqual([]);
    feed.start();
    await clock.advanceAsync(0);
    feed.stop();
    await clock.advanceAsync(5000);
    expect(lists).toEqual([5000]);
    expect(clock.pendingTimers).toBe(0);
  });

  it('sends all locks first, then what has changed', async () => {
    listed = [lock('a'), lock('b')];
    feed.start();
    await clock.advanceAsync(0);
    expect(updates).toMatchObject([{ type: 'locks', isCut: false }]);
    expect(names(updates[0])).toEqual(['a', 'b']);
    listed = [lock('b', { leftMs: 29_000 }), lock('c')];
    await clock.advanceAsync(1000);
    expect(updates).toHaveLength(2);
    expect(updates[1]).toMatchObject({ type: 'changes', free: [lockId('mutex', 'a')] });
    expect(names(updates[1])).toEqual(['c']);
  });

  it('sends nothing when leases have only become shorter, and a renewed one', async () => {
    listed = [lock('a')];
    feed.start();
    await clock.advanceAsync(0);
    listed = [lock('a', { leftMs: 29_050, ageMs: 1500 })];
    await clock.advanceAsync(1000);
    expect(updates).toHaveLength(1);
    listed = [lock('a', { leftMs: 30_000, ageMs: 2500 })];
    await clock.advanceAsync(1000);
    expect(names(updates[1])).toEqual(['a']);
  });

  it('waits for a second, and for twenty times the time of the last list', async () => {
    feed.start();
    await clock.advanceAsync(2500);
    expect(lists).toEqual([0, 1000, 2000]);
    tookMs = 200;
    await clock.advanceAsync(10_000);
    expect(lists).toEqual([0, 1000, 2000, 3000, 7200, 11_400]);
    expect(maxLocks).toBe(10_000);
  });

  it('does not list more often when pages connect again and again', async () => {
    for (let turn = 0; turn < 20; turn++) {
      feed.start();
      await clock.advanceAsync(50);
      feed.stop();
      await clock.advanceAsync(50);
    }
    expect(lists.length).toBeLessThanOrEqual(2);
  });

  it('lists for metrics when no page is open, no earlier than for pages', async () => {
    listed = [lock('a')];
    expect((await feed.read()).map(({ name }) => name)).toEqual(['a']);
    listed = [];
    expect(await feed.read()).toHaveLength(1);
    await clock.advanceAsync(1000);
    expect(await feed.read()).toEqual([]);
    expect(lists).toEqual([0, 1000]);
    expect(clock.pendingTimers).toBe(0);
    failure = new Error('gone');
    await clock.advanceAsync(1000);
    await expect(feed.read()).rejects.toThrow('gone');
    expect(updates).toEqual([]);
  });

  it('has the locks for metrics right after the last page was closed', async () => {
    listed = [lock('a')];
    feed.start();
    await clock.advanceAsync(0);
    feed.stop();
    expect(feed.current).toEqual([]);
    expect(await feed.read()).toHaveLength(1);
    expect(lists).toEqual([0]);
  });

  it('waits for a list that is being read, for metrics that are read at the same time', async () => {
    listed = [lock('a')];
    tookMs = 100;
    const reads = Promise.all([feed.read(), feed.read()]);
    feed.start();
    await clock.advanceAsync(100);
    expect((await reads).map(({ length }) => length)).toEqual([1, 1]);
    expect(lists).toEqual([0]);
    expect(updates).toMatchObject([{ type: 'locks' }]);
  });

  it('shares the message with all locks until they change', async () => {
    listed = [lock('a')];
    feed.start();
    await clock.advanceAsync(0);
    const [first] = feed.current;
    listed = [lock('a', { leftMs: 29_000 })];
    await clock.advanceAsync(1000);
    expect(feed.current[0]).toBe(first);
    listed = [lock('b')];
    await clock.advanceAsync(1000);
    expect(names(feed.current[0])).toEqual(['b']);
  });

  it('reports a list that it cannot read as a failure', async () => {
    listed = [null as unknown as ListedLock];
    feed.start();
    await clock.advanceAsync(0);
    expect(updates).toMatchObject([{ type: 'failed' }]);
  });

  it('reports a failure once, then all locks when the store answers again', async () => {
    listed = [lock('a')];
    feed.start();
    await clock.advanceAsync(0);
    failure = new Error('gone');
    await clock.advanceAsync(3000);
    expect(updates.slice(1)).toEqual([{ type: 'failed', message: 'gone' }]);
    expect(feed.current.map(({ type }) => type)).toEqual(['locks', 'failed']);
    failure = undefined;
    await clock.advanceAsync(1000);
    expect(updates.at(-1)).toMatchObject({ type: 'locks' });
    expect(feed.current.map(({ type }) => type)).toEqual(['locks']);
  });

  it('cuts a list whose text is too long', async () => {
    const long = 'x'.repeat(1024);
    const holders = Array.from({ length: 10 }, () => ({ ...HOLDER, owner: long }));
    listed = Array.from({ length: 3000 }, (_, index) => ({ ...lock(`${index}`), holders }));
    feed.start();
    await clock.advanceAsync(0);
    expect(updates[0]).toMatchObject({ type: 'locks', isCut: true });
    expect(names(updates[0]).length).toBeGreaterThan(1000);
  });

  it('finds a lock with a long name by the id of the list, and shows 1,024 characters', async () => {
    const name = 'n'.repeat(2 ** 20);
    listed = [lock(name)];
    feed.start();
    await clock.advanceAsync(0);
    const [text] = (updates[0] as LockUpdate & { type: 'locks' }).locks;
    const shown = JSON.parse(text!) as PageLock;
    expect([shown.name.length, shown.id.length]).toEqual([1024, 45]);
    expect(feed.find(shown.id)?.nameBytes).toBe(name);
  });
});
