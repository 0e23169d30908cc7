import { describe, expect, it } from 'vitest';
import type { PageEvent, PageLock, SourceFacts } from '../../src/page/protocol.ts';
import { PageModel } from './model.ts';

function lock(id: string, sinceMs: number | null = null): PageLock {
  const holder = { owner: 'o', client: null, permits: 1, fence: 1, sinceMs, endsMs: null };
  return {
    id,
    kind: 'mutex',
    name: id,
    holderCount: 1,
    waiterCount: 0,
    holders: [holder],
    waiters: [],
  };
}

function event(id: number): PageEvent {
  return {
    id,
    atMs: 0,
    type: 'granted',
    lockId: 'a',
    kind: 'mutex',
    name: 'a',
    owner: 'o',
    client: null,
    fence: 1,
    heldMs: null,
    waitedMs: null,
  };
}

const SOURCE: SourceFacts = {
  label: '',
  version: '',
  nowMs: 0,
  canRelease: false,
  history: 'none',
  historyEpoch: '',
  hasServer: false,
  hasWaitGraph: false,
};

function openModel(wallMs = () => 1000): PageModel {
  const model = new PageModel(wallMs);
  model.setConnection('open');
  model.apply({ type: 'locks', locks: [lock('a'), lock('__proto__')], isCut: false });
  return model;
}

describe('PageModel', () => {
  it('applies changes to the locks it has', () => {
    const model = openModel();
    model.apply({ type: 'changes', locks: [lock('b')], free: ['a', 'unknown'], isCut: true });
    expect([...model.locks.keys()]).toEqual(['__proto__', 'b']);
    expect(model.isCut).toBe(true);
  });

  it('keeps the last locks while the store fails, with the time standing still', () => {
    let wallMs = 1000;
    const model = openModel(() => wallMs);
    model.apply({ type: 'failed', message: 'timeout' });
    wallMs = 9000;
    expect(model.isStale).toBe(true);
    expect(model.nowMs()).toBe(1000);
    expect(model.locks.size).toBe(2);
    model.apply({ type: 'locks', locks: [lock('c')], isCut: false });
    expect(model.isStale).toBe(false);
    expect(model.nowMs()).toBe(9000);
    expect([...model.locks.keys()]).toEqual(['c']);
  });

  it('is stale while it reconnects, but not before the first locks', () => {
    const model = new PageModel(() => 0);
    model.setConnection('reconnecting');
    expect(model.isStale).toBe(false);
    const open = openModel();
    open.setConnection('reconnecting');
    expect(open.isStale).toBe(true);
  });

  it.each([61_000, 10])(
    'follows the clock of the server, at %d when its own is at 1000',
    (nowMs) => {
      const model = openModel(() => 1000);
      model.apply({ type: 'source', source: { ...SOURCE, nowMs } });
      expect(model.nowMs()).toBe(nowMs);
    },
  );

  it('keeps the newest 2,000 events', () => {
    const model = openModel();
    const events = Array.from({ length: 2500 }, (_, index) => event(index));
    model.apply({ type: 'history', events: events.slice(0, 1500), missed: 3 });
    model.apply({ type: 'history', events: events.slice(1500), missed: 4 });
    expect(model.events).toHaveLength(2000);
    expect(model.events[0]!.id).toBe(500);
    expect(model.missed).toBe(7);
  });

  it('forgets its events when a new stream sends them again', () => {
    const model = openModel();
    model.apply({ type: 'history', events: [event(1), event(2)], missed: 0 });
    model.restartHistory();
    model.apply({ type: 'history', events: [event(1), event(2), event(3)], missed: 0 });
    expect(model.events.map(({ id }) => id)).toEqual([1, 2, 3]);
  });

  it('keeps its events when the epoch is the same, and drops those of another epoch', () => {
    const model = openModel();
    const begin = (historyEpoch: string) =>
      model.apply({ type: 'source', source: { ...SOURCE, historyEpoch } });
    begin('a');
    model.apply({ type: 'history', events: [event(7)], missed: 2 });
    begin('a');
    expect(model.events).toHaveLength(1);
    begin('b');
    expect(model.events).toEqual([]);
    expect(model.missed).toBe(0);
  });
});
