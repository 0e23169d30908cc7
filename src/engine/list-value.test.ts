import { describe, expect, it } from 'vitest';
import { type Random, seededRandom } from '../clock/index.ts';
import { Journal } from './journal.ts';
import { type End, ListValue } from './list-value.ts';

function contents(list: ListValue): string[] {
  return list.slice(0, list.size);
}

/** Makes one random change to the list, and the same to the array. */
function change(list: ListValue, model: string[], random: Random, name: string): void {
  const pick = (count: number): number => Math.floor(random.next() * count);
  const end: End = pick(2) ? 'left' : 'right';
  const kind = pick(10);
  if (kind < 4) {
    list.push(end, name);
    if (end === 'left') model.unshift(name);
    else model.push(name);
  } else if (kind < 7) {
    if (model.length === 0) return;
    expect(list.pop(end)).toBe(end === 'left' ? model.shift() : model.pop());
  } else if (kind === 7) {
    if (model.length === 0) return;
    const index = pick(model.length);
    list.set(index, name);
    model[index] = name;
  } else if (kind === 8) {
    const index = pick(model.length + 1);
    list.insert(index, name);
    model.splice(index, 0, name);
  } else {
    expect(list.remove(name, 1 + pick(3), end)).toBe(removeFrom(model, name, list, end));
  }
}

/** Removes from the array what LREM removed from the list. Returns how many elements. */
function removeFrom(model: string[], name: string, list: ListValue, end: End): number {
  const removed = model.length - list.size;
  if (end === 'right') model.reverse();
  for (let left = removed; left > 0; left--) model.splice(model.indexOf(name), 1);
  if (end === 'right') model.reverse();
  return removed;
}

describe('ListValue', () => {
  it('gives the results of an array for any start of the ring', () => {
    const random = seededRandom(1);
    const list = new ListValue(new Journal());
    const model: string[] = [];
    for (let step = 0; step < 5000; step++) {
      change(list, model, random, `e${Math.floor(random.next() * 8)}`);
      expect(contents(list)).toEqual(model);
      const begin = Math.floor(random.next() * (model.length + 1));
      const end = begin + Math.floor(random.next() * (model.length - begin + 1));
      expect(list.slice(begin, end)).toEqual(model.slice(begin, end));
      for (let at = 0; at < model.length; at += 3) expect(list.at(at)).toBe(model[at]);
    }
  });

  it('removes equal elements from either end, up to a limit', () => {
    for (const [limit, from, left] of [
      [1, 'left', 'b a c a'],
      [2, 'right', 'a b c'],
      [9, 'left', 'b c'],
    ] as const) {
      const list = new ListValue(new Journal());
      for (const element of ['a', 'b', 'a', 'c', 'a']) list.push('right', element);
      const removed = list.remove('a', limit, from);
      expect(contents(list).join(' ')).toBe(left);
      expect(removed).toBe(5 - list.size);
    }
  });

  it('a copy does not change with the original', () => {
    const list = new ListValue(new Journal());
    list.push('left', 'a');
    const copy = list.copy();
    copy.push('left', 'b');
    copy.set(1, 'c');
    expect(contents(list)).toEqual(['a']);
    expect(contents(copy)).toEqual(['b', 'c']);
  });

  it('a rollback restores it exactly', () => {
    const random = seededRandom(2);
    const journal = new Journal();
    for (let round = 0; round < 300; round++) {
      const list = new ListValue(journal);
      const model: string[] = [];
      const some = (): number => Math.floor(random.next() * 40);
      for (let step = some(); step > 0; step--) change(list, model, random, `e${step % 4}`);
      const before = contents(list);
      journal.begin();
      for (let step = some(); step > 0; step--) change(list, model, random, `e${step % 4}`);
      journal.rollBack();
      expect(contents(list)).toEqual(before);
    }
  });
});
