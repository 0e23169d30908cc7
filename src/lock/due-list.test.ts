import { beforeEach, describe, expect, it } from 'vitest';
import { type VirtualClock, virtualClock } from '../clock/index.ts';
import { Due, DueList, DueLists } from './due-list.ts';

class Item extends Due<Item> {
  readonly name: string;

  constructor(name: string) {
    super();
    this.name = name;
  }
}

let clock: VirtualClock;
let fallen: string[];

beforeEach(() => {
  clock = virtualClock();
  fallen = [];
});

const onDue = ({ name }: Item): void => void fallen.push(name);

describe('a list of what falls due', () => {
  it('lets things fall due in the order of their times, whenever they were added', () => {
    const list = new DueList(clock, 100, onDue);
    const startMs = clock.monotonicMs();
    for (const [name, fromMs] of [['c', 30] as const, ['a', 10] as const, ['b', 20] as const]) {
      list.add(new Item(name), startMs + fromMs);
    }
    clock.advance(109);
    expect(fallen).toEqual([]);
    clock.advance(1);
    expect(fallen).toEqual(['a']);
    clock.advance(100);
    expect(fallen).toEqual(['a', 'b', 'c']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('forgets what was dropped, however often, and goes on with the rest', () => {
    const list = new DueList(clock, 100, onDue);
    const dues = ['a', 'b', 'c'].map((name) => new Item(name));
    for (const due of dues) list.add(due, clock.monotonicMs());
    dues[1]!.drop();
    dues[1]!.drop();
    clock.advance(100);
    expect(fallen).toEqual(['a', 'c']);
    dues[0]!.drop();
    list.add(dues[0]!, clock.monotonicMs());
    clock.advance(100);
    expect(fallen).toEqual(['a', 'c', 'a']);
  });

  it('is not put off by what is added while it tells of something else', () => {
    const list: DueList<Item> = new DueList(clock, 100, (item) => {
      onDue(item);
      if (item.name === 'a') list.add(new Item('c'), clock.monotonicMs());
    });
    const startMs = clock.monotonicMs();
    list.add(new Item('a'), startMs);
    list.add(new Item('b'), startMs + 10);
    clock.advance(110);
    expect(fallen).toEqual(['a', 'b']);
    clock.advance(90);
    expect(fallen).toEqual(['a', 'b', 'c']);
    expect(clock.pendingTimers).toBe(0);
  });

  it('gives back what had not fallen due when it is closed', () => {
    const list = new DueList(clock, 100, onDue);
    for (const name of ['a', 'b']) list.add(new Item(name), clock.monotonicMs());
    expect(list.close().map(({ name }) => name)).toEqual(['a', 'b']);
    expect(clock.pendingTimers).toBe(0);
    expect(list.isEmpty).toBe(true);
  });
});

describe('lists for several delays', () => {
  it('what is added to another stands there alone, and its neighbours stay', () => {
    const lists = new DueLists(clock, onDue);
    const others = new DueLists(clock, ({ name }: Item) => void fallen.push(`other ${name}`));
    const dues = ['a', 'b', 'c'].map((name) => new Item(name));
    const nowMs = clock.monotonicMs();
    for (const due of dues) lists.add(due, 100, nowMs);
    others.add(dues[0]!, 50, nowMs);
    lists.add(dues[1]!, 200, nowMs);
    clock.advance(50);
    expect(fallen).toEqual(['other a']);
    clock.advance(50);
    expect(fallen).toEqual(['other a', 'c']);
    clock.advance(100);
    expect(fallen).toEqual(['other a', 'c', 'b']);
    lists.close();
    others.close();
  });

  it('what has no delay never falls due, and needs no timer', () => {
    const lists = new DueLists(clock, onDue);
    const item = new Item('a');
    lists.add(item, Number.POSITIVE_INFINITY, clock.monotonicMs());
    expect(clock.pendingTimers).toBe(0);
    expect(lists.toArray()).toEqual([item]);
    item.drop();
    expect(lists.toArray()).toEqual([]);
  });

  it('of delays that are never used again none is kept', () => {
    const lists = new DueLists(clock, onDue);
    for (let delayMs = 1; delayMs <= 1000; delayMs++) {
      const due = new Item(`${delayMs}`);
      lists.add(due, delayMs, clock.monotonicMs());
      due.drop();
    }
    expect(clock.pendingTimers).toBeLessThan(100);
    lists.close();
    expect(clock.pendingTimers).toBe(0);
  });
});
