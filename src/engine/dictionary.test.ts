import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../clock/index.ts';
import { Dictionary } from './dictionary.ts';

function filled(size: number): Dictionary<number> {
  const dictionary = new Dictionary<number>();
  for (let at = 0; at < size; at++) dictionary.set(`name${at}`, at);
  return dictionary;
}

function contents(dictionary: Dictionary<number>): [string, number][] {
  return dictionary.names().map((name, slot) => [name, dictionary.valueAt(slot)]);
}

describe('Dictionary', () => {
  it('gives the results of a Map', () => {
    const random = seededRandom(1);
    const dictionary = new Dictionary<number>();
    const model = new Map<string, number>();
    for (let step = 0; step < 20_000; step++) {
      const name = `name${Math.floor(random.next() * 24)}`;
      if (random.next() < 0.5) {
        expect(dictionary.set(name, step)).toBe(model.get(name));
        model.set(name, step);
      } else {
        expect(dictionary.delete(name)).toBe(model.get(name));
        model.delete(name);
      }
      expect(dictionary.size).toBe(model.size);
      expect(dictionary.get(name)).toBe(model.get(name));
      expect(dictionary.has(name)).toBe(model.has(name));
    }
    expect(new Map(contents(dictionary))).toEqual(model);
  });

  it('keeps the order of up to eight entries', () => {
    const dictionary = filled(8);
    dictionary.delete('name2');
    dictionary.set('last', 8);
    const order = ['name0', 'name1', 'name3', 'name4', 'name5', 'name6', 'name7', 'last'];
    expect(dictionary.names()).toEqual(order);
  });

  it.each([1, 2, 7, 8, 9, 10, 40])(
    'restoreAt is the inverse of removeAt with %d entries',
    (size) => {
      for (let slot = 0; slot < size; slot++) {
        const dictionary = filled(size);
        const name = dictionary.nameAt(slot);
        const value = dictionary.removeAt(slot);
        expect(dictionary.slotOf(name)).toBe(-1);
        dictionary.restoreAt(slot, name, value);
        expect(contents(dictionary)).toEqual(contents(filled(size)));
        for (let at = 0; at < size; at++) expect(dictionary.slotOf(`name${at}`)).toBe(at);
      }
    },
  );

  it('a scan returns every entry that stays', () => {
    const random = seededRandom(2);
    for (let round = 0; round < 200; round++) {
      const dictionary = filled(30);
      const staying = new Set(['name0', 'name7', 'name13', 'name29']);
      let cursor = 0;
      do {
        cursor = dictionary.scan(cursor, 3, (slot) => staying.delete(dictionary.nameAt(slot)));
        const removed = `name${Math.floor(random.next() * 30)}`;
        if (!['name0', 'name7', 'name13', 'name29'].includes(removed)) dictionary.delete(removed);
        if (random.next() < 0.3) dictionary.set(`new${random.next()}`, 0);
      } while (cursor !== 0);
      expect([...staying]).toEqual([]);
    }
  });

  it('inverses in reverse order restore every slot', () => {
    const changes = fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 120, size: 'max' });
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 20 }), changes, (size, numbers) => {
        const dictionary = filled(size);
        const undo: (() => void)[] = [];
        for (const number of numbers) {
          const name = `name${number}`;
          const slot = dictionary.slotOf(name);
          if (slot < 0) {
            dictionary.set(name, number);
            undo.push(() => dictionary.removeAt(dictionary.size - 1));
          } else {
            const value = dictionary.removeAt(slot);
            undo.push(() => dictionary.restoreAt(slot, name, value));
          }
        }
        for (const step of undo.reverse()) step();
        expect(contents(dictionary)).toEqual(contents(filled(size)));
        for (let at = 0; at < size; at++) expect(dictionary.slotOf(`name${at}`)).toBe(at);
        expect(dictionary.slotOf('name40')).toBe(-1);
      }),
    );
  });

  it('a scan with random changes returns every entry that was there from start to end', () => {
    const steps = fc.array(
      fc.record({
        count: fc.integer({ min: 1, max: 9 }),
        changes: fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 6 }),
      }),
      { minLength: 1, maxLength: 60, size: 'max' },
    );
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 50 }), steps, (size, taken) => {
        const dictionary = filled(size);
        const staying = new Set(dictionary.names());
        const met = new Set<string>();
        let cursor = 0;
        let isOver = false;
        for (const { count, changes } of taken) {
          cursor = dictionary.scan(cursor, count, (slot) => met.add(dictionary.nameAt(slot)));
          isOver = cursor === 0;
          if (isOver) break;
          for (const number of changes) {
            if (dictionary.delete(`name${number}`) !== undefined) staying.delete(`name${number}`);
            else dictionary.set(`name${number}`, number);
          }
        }
        while (!isOver) {
          cursor = dictionary.scan(cursor, 10, (slot) => met.add(dictionary.nameAt(slot)));
          isOver = cursor === 0;
        }
        expect([...staying].filter((name) => !met.has(name))).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it('a copy does not change with the original', () => {
    const dictionary = filled(12);
    const copy = dictionary.copy();
    copy.set('name0', 99);
    copy.delete('name1');
    expect(contents(dictionary)).toEqual(contents(filled(12)));
    expect(copy.get('name0')).toBe(99);
  });
});
