import { describe, expect, it } from 'vitest';
import type { PageEvent, PageEventType, PageLock } from '../../src/page/protocol.ts';
import { timelineOf } from './timeline.ts';

function event(
  atMs: number,
  type: PageEventType,
  owner: string,
  more: Partial<PageEvent> = {},
): PageEvent {
  return {
    id: atMs,
    atMs,
    type,
    lockId: 'l',
    kind: 'mutex',
    name: 'l',
    owner,
    client: { host: owner[0]!, pid: 1, label: '' },
    fence: null,
    heldMs: null,
    waitedMs: null,
    ...more,
  };
}

describe('timelineOf', () => {
  it('makes spans from grants to ends, in a lane for each client', () => {
    const { lanes, spans, fromMs } = timelineOf(
      [
        event(100, 'granted', 'a1', { fence: 1 }),
        event(200, 'released', 'a1'),
        event(200, 'handed-over', 'b1', { fence: 2, waitedMs: 150 }),
        event(300, 'expired', 'b1'),
        event(310, 'granted', 'a2', { fence: 3 }),
        event(400, 'forced', 'a2'),
      ],
      null,
      1000,
    );
    expect(lanes).toEqual(['a:1', 'b:1']);
    expect(spans.map(({ lane, fromMs: from, toMs, end }) => [lane, from, toMs, end])).toEqual([
      [0, 100, 200, 'released'],
      [1, 200, 300, 'expired'],
      [0, 310, 400, 'forced'],
    ]);
    expect(spans.map(({ isHandOver }) => isHandOver)).toEqual([false, true, false]);
    expect(fromMs).toBe(50);
  });

  it('shows a lease that began before the history, by the time it was held', () => {
    const { spans } = timelineOf([event(900, 'released', 'a1', { heldMs: 700 })], null, 1000);
    expect(spans).toMatchObject([{ fromMs: 200, toMs: 900 }]);
  });

  it('shows a present holder without events, and no open span that is not held', () => {
    const lock: PageLock = {
      id: 'l',
      kind: 'mutex',
      name: 'l',
      holderCount: 1,
      waiterCount: 0,
      waiters: [],
      holders: [{ owner: 'c1', client: null, permits: 1, fence: 9, sinceMs: 600, endsMs: null }],
    };
    const { spans } = timelineOf([event(100, 'granted', 'a1')], lock, 1000);
    expect(spans).toMatchObject([{ owner: 'c1', fromMs: 600, toMs: null, fence: 9 }]);
  });

  it('keeps the newest forty spans', () => {
    const events = Array.from({ length: 100 }, (_, index) => [
      event(index * 10, 'granted', `a${index}`),
      event(index * 10 + 5, 'released', `a${index}`),
    ]).flat();
    const { spans, fromMs } = timelineOf(events, null, 1000);
    expect(spans).toHaveLength(40);
    expect(fromMs).toBe(600);
  });
});
