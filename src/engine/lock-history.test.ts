import { expect, it } from 'vitest';
import { seededRandom } from '../clock/index.ts';
import { Footprint } from './footprint.ts';
import type { LockEvent } from './lock-event.ts';
import { LockHistory } from './lock-history.ts';

const ALL = Number.POSITIVE_INFINITY;
/** Some 3,000 events. */
const MAX_BYTES = 1e6;

function open(maxBytes = 1e6, limitBytes = ALL): { history: LockHistory; memory: Footprint } {
  const memory = new Footprint();
  const history = new LockHistory({ lockHistory: memory, limitBytes }, 7);
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
  const { history, memory } = open(MAX_BYTES);
  let list: LockEvent[] = [];
  for (let step = 0; step < 20_000; step++) {
    const key = `lock ${Math.floor(random.next() * 30)}`;
    if (random.next() < 0.1) {
      const id = Math.max(1, history.nextId - Math.floor(random.next() * 5));
      history.forgetFrom(id);
      list = list.filter((event) => event.id < id);
    } else {
      const token = 't'.repeat(Math.floor(random.next() ** 20 * 5000));
      list.push({ id: history.nextId, atMs: step, type: 'waiting', key, token, fence: step });
      history.add(0, 'waiting', key, token, step, step);
    }
    if (random.next() < 0.001) history.limit(0);
    history.limit(MAX_BYTES);
    expect(memory.bytes).toBeLessThanOrEqual(MAX_BYTES);
    if (random.next() > 0.02) continue;
    const kept = history.ofAll(0, undefined, ALL);
    list = list.slice(list.length - kept.length);
    expect(kept).toEqual(list);
    expect(history.ofLock(0, key, 0, ALL)).toEqual(list.filter((event) => event.key === key));
    expect(history.has(0, key)).toBe(list.some((event) => event.key === key));
  }
  history.limit(0);
  expect(memory.bytes).toBe(0);
});

it('keeps as many events as fit', () => {
  const { history } = open(8e6);
  for (let count = 0; count < 100_000; count++) history.add(0, 'granted', 'a', 'token', count, 0);
  const kept = history.ofAll(0, undefined, ALL).length;
  expect(kept).toBeGreaterThan(40_000);
  expect(kept).toBeLessThan(60_000);
});

it('keeps no more than a sixteenth of the memory of the engine', () => {
  const { history, memory } = open(1e9, 16 * MAX_BYTES);
  for (let count = 0; count < 10_000; count++) history.add(0, 'granted', 'a', 'token', count, 0);
  expect(memory.bytes).toBeLessThanOrEqual(MAX_BYTES);
  expect(history.ofAll(0, undefined, ALL).length).toBeGreaterThan(1000);
});

it('counts long tokens before more of them come', () => {
  const { history, memory } = open(8e6);
  for (let count = 0; count < 100; count++) {
    history.add(0, 'granted', 'a', String(count).padStart(1e6), 0, 0);
    expect(memory.bytes).toBeLessThan(8e6);
  }
});

it('counts the events of each type, without those that are taken back', () => {
  const { history } = open(MAX_BYTES);
  for (let count = 0; count < 10_000; count++) history.add(0, 'granted', 'a', 'token', count, 0);
  const id = history.nextId;
  history.add(0, 'released', 'a', 'token', 0, 0);
  history.add(0, 'expired', 'b', 'token', 0, 0);
  history.forgetFrom(id);
  history.add(0, 'released', 'a', 'token', 0, 0);
  const counts = [...history.counts()].filter(([, count]) => count > 0);
  expect(counts).toEqual([
    ['granted', 10_000],
    ['released', 1],
  ]);
});
