import { beforeEach, describe, expect, it } from 'vitest';
import { type VirtualClock, virtualClock } from '../clock/index.ts';
import type { LockHistoryEvent, NewEvents } from '../stores/index.ts';
import { type EventBatch, HistoryFeed } from './history-feed.ts';
import { lockId } from './page-lock.ts';
import type { PageEvent } from './protocol.ts';

function event(id: number, type = 'granted', owner = `o${id}`): LockHistoryEvent {
  return {
    id,
    atMs: id,
    type,
    kind: 'mutex',
    nameBytes: 'a',
    owner,
    info: undefined,
    fence: undefined,
    heldMs: undefined,
    waitedMs: undefined,
  };
}

let clock: VirtualClock;
let pending: (Partial<NewEvents> | Error)[];
let reads: number[];
let batches: EventBatch[];
let resets: number;
let counts: [events: number, missed: number][];
let feed: HistoryFeed;

beforeEach(() => {
  clock = virtualClock();
  [pending, reads, batches, resets, counts] = [[], [], [], 0, []];
  feed = new HistoryFeed({
    history: {
      kind: 'server',
      async next() {
        reads.push(clock.monotonicMs());
        const found = pending.shift() ?? {};
        if (found instanceof Error) throw found;
        return { events: [], missed: 0, isReset: false, ...found };
      },
      ofName: async () => [],
    },
    clock,
    epoch: 'e',
    onEvents: (batch) => batches.push(batch),
    count: (events, missed) => counts.push([events.length, missed]),
    onReset: () => resets++,
  });
});

const ids = ({ events }: EventBatch): number[] =>
  events.map((text) => (JSON.parse(text) as PageEvent).id);

describe('HistoryFeed', () => {
  it('reads every 500 ms while it is on', async () => {
    await clock.advanceAsync(1000);
    feed.start();
    await clock.advanceAsync(1100);
    feed.stop();
    await clock.advanceAsync(5000);
    expect(reads).toEqual([1000, 1500, 2000]);
  });

  it('reads twice a second, also after a full page, and later after a failure', async () => {
    pending = [
      { events: Array.from({ length: 10_000 }, (_, index) => event(index + 1)) },
      new Error('gone'),
    ];
    feed.start();
    await clock.advanceAsync(2500);
    expect(reads).toEqual([0, 500, 2500]);
  });

  it('gives each event once, with the id of the last and the number of missed ones', async () => {
    pending = [{ events: [event(1), event(2)] }, {}, { events: [event(8)], missed: 5 }];
    feed.start();
    await clock.advanceAsync(2000);
    expect(batches.map((batch) => [ids(batch), batch.missed, batch.id])).toEqual([
      [[1, 2], 0, 'e-0:2'],
      [[8], 5, 'e-0:8'],
    ]);
    expect(counts).toContainEqual([2, 0]);
    expect(counts).toContainEqual([1, 5]);
  });

  it('returns the events after a Last-Event-ID, and all for one of another feed', async () => {
    pending = [{ events: [event(1), event(2), event(3)] }];
    feed.start();
    await clock.advanceAsync(0);
    expect(ids(feed.after('e-0:2'))).toEqual([3]);
    expect(feed.after('e-0:3')).toEqual({ events: [], missed: 0, id: 'e-0:3' });
    for (const other of [undefined, '', 'x-0:2', 'e-1:2', 'e-0:x', '__proto__']) {
      expect(ids(feed.after(other))).toEqual([1, 2, 3]);
    }
  });

  it('keeps the newest 10,000, and says how many a page has missed', async () => {
    const events = Array.from({ length: 10_000 }, (_, index) => event(index + 1));
    pending = [{ events }, { events: [event(10_001), event(10_002)] }];
    feed.start();
    await clock.advanceAsync(600);
    const batch = feed.after('e-0:1');
    expect([batch.events.length, batch.missed, ids(batch)[0]]).toEqual([10_000, 1, 3]);
  });

  it('keeps less when names are long', async () => {
    const nameBytes = 'n'.repeat(1000);
    const events = Array.from({ length: 10_000 }, (_, index) => ({
      ...event(index + 1),
      nameBytes,
    }));
    pending = [{ events }];
    feed.start();
    await clock.advanceAsync(0);
    const { length } = feed.after(undefined).events;
    expect(length).toBeLessThan(5000);
    expect(length).toBeGreaterThan(2000);
  });

  it('knows since when a request waits, until it does not', async () => {
    const id = lockId('mutex', 'a');
    pending = [{ events: [event(1, 'waiting', 'o')] }, { events: [event(2, 'handed-over', 'o')] }];
    feed.start();
    await clock.advanceAsync(0);
    expect(feed.waitingSince(id, 'o')).toBe(1);
    await clock.advanceAsync(500);
    expect(feed.waitingSince(id, 'o')).toBeUndefined();
  });

  it('forgets all events after a restart of the server', async () => {
    pending = [{ events: [event(5, 'waiting')] }, { events: [event(1)], isReset: true }];
    feed.start();
    await clock.advanceAsync(600);
    expect(resets).toBe(1);
    expect(ids(feed.after(undefined))).toEqual([1]);
    expect(ids(feed.after('e-0:5'))).toEqual([1]);
    expect(feed.contention(10).groups[0]!.waits.at(-1)).toBe(0);
  });

  it('does not read twice at a time when it stops and starts', async () => {
    feed.start();
    feed.stop();
    feed.start();
    await clock.advanceAsync(0);
    expect(reads).toEqual([0]);
  });
});
