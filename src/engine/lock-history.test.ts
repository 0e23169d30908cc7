import { expect, it } from 'vitest';
import { seededRandom } from '../clock/index.ts';
import { Footprint } from './footprint.ts';
import { type LockEvent, LockHistory } from './lock-history.ts';

const ALL = Number.POSITIVE_INFINITY;

function open(maxBytes = 1e6, limitBytes = ALL): { history: LockHistory; memory: Footprint } {
  const memory = new Footprint();
  const history = new LockHistory({ lockHistory: memory, limitBytes });
  history.limit(maxBytes);
  return { history, memory };
}

const idsOf = (events: readonly LockEvent[]): number[] => events.map(({ id }) => id);

it('returns the events of one lock, and those of all locks of a database, oldest first', () => {
  const { history } = open();
  history.add(0, 'granted', 'a', 'one', 7, 10);
  history.add(0, 'granted', 'b', 'two', 8, 11);
  history.add(1, 'granted', 'a', 'three', 9, 12);
  history.add(0, 'released', 'a', 'one', 0, 13);
  expect(history.ofLock(0, 'a', 0, 10)).toEqual([
    { id: 1, atMs: 10, type: 'granted', key: 'a', token: 'one', fence: 7 },
    { id: 4, atMs: 13, type: 'released', key: 'a', token: 'one', fence: 0 },
  ]);
  expect(idsOf(history.ofAll(0, undefined, 10))).toEqual([1, 2, 4]);
  expect(idsOf(history.ofAll(0, undefined, 2))).toEqual([2, 4]);
  expect(idsOf(history.ofAll(0, 0, 2))).toEqual([1, 2]);
  expect(idsOf(history.ofAll(0, 2, 2))).toEqual([4]);
  expect(idsOf(history.ofLock(0, 'a', 1, 10))).toEqual([4]);
  expect(idsOf(history.ofLock(1, 'a', 0, 10))).toEqual([3]);
  expect(history.ofLock(2, 'a', 0, 10)).toEqual([]);
});

it('keeps no event with a size of 0', () => {
  const { history, memory } = open(0);
  history.add(0, 'granted', 'a', 'one', 7, 10);
  expect([history.ofAll(0, undefined, 10), memory.bytes]).toEqual([[], 0]);
  expect(history.isOn).toBe(false);
});

it('returns the same as a plain list while events are added, dropped and taken back', () => {
  const random = seededRandom(3);
  const { history, memory } = open(20_000);
  let list: LockEvent[] = [];
  for (let step = 0; step < 20_000; step++) {
    const key = `lock ${Math.floor(random.next() * 30)}`;
    if (random.next() < 0.1) {
      const id = Math.max(1, history.nextId - Math.floor(random.next() * 5));
      history.forgetFrom(id);
      list = list.filter((event) => event.id < id);
    } else {
      const token = 't'.repeat(Math.floor(random.next() * 60));
      list.push({ id: history.nextId, atMs: step, type: 'waiting', key, token, fence: 0 });
      history.add(0, 'waiting', key, token, 0, step);
    }
    if (random.next() < 0.01) history.limit(random.next() < 0.1 ? 0 : 20_000);
    const kept = history.ofAll(0, undefined, ALL);
    if (step % 50 === 0) {
      expect(kept).toEqual(list.slice(list.length - kept.length));
      const ofKey = kept.filter((event) => event.key === key);
      expect(history.ofLock(0, key, 0, ALL)).toEqual(ofKey);
    }
    list = list.slice(list.length - kept.length);
    expect(memory.bytes).toBeLessThanOrEqual(20_000);
  }
  history.limit(0);
  expect(memory.bytes).toBe(0);
});

it('keeps as many events as fit', () => {
  const { history } = open(1e6);
  for (let count = 0; count < 50_000; count++) history.add(0, 'granted', 'a', 'token', count, 0);
  const kept = history.ofAll(0, undefined, ALL).length;
  expect(kept).toBeGreaterThan(5000);
  expect(kept).toBeLessThan(10_000);
});

it('keeps no more than a sixteenth of the memory of the engine', () => {
  const { history, memory } = open(1e6, 160_000);
  for (let count = 0; count < 1000; count++) history.add(0, 'granted', 'a', 'token', count, 0);
  expect(memory.bytes).toBeLessThanOrEqual(10_000);
  expect(history.ofAll(0, undefined, ALL).length).toBeGreaterThan(50);
});
