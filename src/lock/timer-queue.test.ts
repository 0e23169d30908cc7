import { beforeEach, describe, expect, it } from 'vitest';
import { type VirtualClock, virtualClock } from '../clock/index.ts';
import { Scheduled, TimerQueue, TimerQueues } from './timer-queue.ts';

class Item extends Scheduled<Item> {
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
  }
}

let clock: VirtualClock;
let fired: string[];

beforeEach(() => {
  clock = virtualClock();
  fired = [];
});

const onDue = ({ name }: Item): void => void fired.push(name);

describe('TimerQueue', () => {
  it('calls back in order of due time, also for items added out of order', () => {
    const queue = new TimerQueue(clock, 100, onDue);
    const startMs = clock.monotonicMs();
    for (const [name, fromMs] of [['c', 30] as const, ['a', 10] as const, ['b', 20] as const]) {
      queue.add(new Item(name), startMs + fromMs);
    }
    clock.advance(109);
    expect(fired).toEqual([]);
    clock.advance(1);
    expect(fired).toEqual(['a']);
    clock.advance(100);
    expect(fired).toEqual(['a', 'b', 'c']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('does not call back for an item that was unscheduled, and accepts it again', () => {
    const queue = new TimerQueue(clock, 100, onDue);
    const items = ['a', 'b', 'c'].map((name) => new Item(name));
    for (const item of items) queue.add(item, clock.monotonicMs());
    items[1]!.unschedule();
    items[1]!.unschedule();
    clock.advance(100);
    expect(fired).toEqual(['a', 'c']);
    items[0]!.unschedule();
    queue.add(items[0]!, clock.monotonicMs());
    clock.advance(100);
    expect(fired).toEqual(['a', 'c', 'a']);
  });

  it('calls back in time for an item behind one whose callback adds a later item', () => {
    const queue: TimerQueue<Item> = new TimerQueue(clock, 100, (item) => {
      onDue(item);
      if (item.name === 'a') queue.add(new Item('c'), clock.monotonicMs());
    });
    const startMs = clock.monotonicMs();
    queue.add(new Item('a'), startMs);
    queue.add(new Item('b'), startMs + 10);
    clock.advance(110);
    expect(fired).toEqual(['a', 'b']);
    clock.advance(90);
    expect(fired).toEqual(['a', 'b', 'c']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('returns the items that were not due when it is closed', () => {
    const queue = new TimerQueue(clock, 100, onDue);
    for (const name of ['a', 'b']) queue.add(new Item(name), clock.monotonicMs());
    expect(queue.close().map(({ name }) => name)).toEqual(['a', 'b']);
    expect(clock.pendingTimers).toBe(0);
    expect(queue.isEmpty).toBe(true);
  });
});

describe('TimerQueues', () => {
  it('moves an item that is added to another queue, and keeps its neighbours', () => {
    const queues = new TimerQueues(clock, onDue);
    const others = new TimerQueues(clock, ({ name }: Item) => void fired.push(`other ${name}`));
    const items = ['a', 'b', 'c'].map((name) => new Item(name));
    const nowMs = clock.monotonicMs();
    for (const item of items) queues.add(item, 100, nowMs);
    others.add(items[0]!, 50, nowMs);
    queues.add(items[1]!, 200, nowMs);
    clock.advance(50);
    expect(fired).toEqual(['other a']);
    clock.advance(50);
    expect(fired).toEqual(['other a', 'c']);
    clock.advance(100);
    expect(fired).toEqual(['other a', 'c', 'b']);
    queues.close();
    others.close();
  });

  it('sets no timer for an item whose delay is Infinity', () => {
    const queues = new TimerQueues(clock, onDue);
    const item = new Item('a');
    queues.add(item, Number.POSITIVE_INFINITY, clock.monotonicMs());
    expect(clock.pendingTimers).toBe(0);
    expect(queues.toArray()).toEqual([item]);
    item.unschedule();
    expect(queues.toArray()).toEqual([]);
  });

  it('removes queues of delays that are not used any more', () => {
    const queues = new TimerQueues(clock, onDue);
    for (let delayMs = 1; delayMs <= 1000; delayMs++) {
      const item = new Item(`${delayMs}`);
      queues.add(item, delayMs, clock.monotonicMs());
      item.unschedule();
    }
    expect(clock.pendingTimers).toBeLessThan(100);
    queues.close();
    expect(clock.pendingTimers).toBe(0);
  });
});
