import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { seededRandom } from '../clock/index.ts';
import { KeyIndex } from './key-index.ts';

afterEach(() => vi.unstubAllGlobals());

/** An index with the array that its slots point into; slots are used again, as a keyspace does. */
class Shelf {
  readonly index: KeyIndex;
  readonly keys: string[] = [];
  readonly #free: number[] = [];

  constructor(seed = 1) {
    this.index = new KeyIndex(seed);
  }

  add(key: string): number {
    const slot = this.#free.pop() ?? this.keys.length;
    this.keys[slot] = key;
    this.index.insert(key, slot);
    return slot;
  }

  take(key: string): void {
    const slot = this.index.find(key, this.keys);
    this.index.remove(key, slot);
    this.keys[slot] = '';
    this.#free.push(slot);
  }
}

const keyOf = (number: number): string => `key:${number}`;

describe('KeyIndex against a Map', () => {
  test('after any insertions, removals and moves', () => {
    const random = seededRandom(7);
    const shelf = new Shelf(42);
    const model = new Map<string, number>();
    // Six thousand keys are some twenty a segment: neighbours collide, and a removal shifts them back.
    for (let step = 0; step < 120_000; step++) {
      const key = keyOf(Math.floor(random.next() * 6000));
      expect(shelf.index.find(key, shelf.keys)).toBe(model.get(key) ?? -1);
      if (model.delete(key)) shelf.take(key);
      else model.set(key, shelf.add(key));
      if (step % 20_000 === 0) {
        for (const [each, slot] of model) expect(shelf.index.find(each, shelf.keys)).toBe(slot);
      }
    }
  });

  test('any keys, under any seed', () => {
    const key = fc.string({ unit: fc.constantFrom('a', 'b', '\0', '\xff'), maxLength: 4 });
    const keys = fc.array(key, { maxLength: 200, size: 'max' });
    fc.assert(
      fc.property(fc.integer(), keys, (seed, toggled) => {
        const shelf = new Shelf(seed);
        const model = new Map<string, number>();
        for (const each of toggled) {
          if (model.delete(each)) shelf.take(each);
          else model.set(each, shelf.add(each));
        }
        for (const each of toggled) {
          expect(shelf.index.find(each, shelf.keys)).toBe(model.get(each) ?? -1);
        }
      }),
    );
  });

  test('a key that moves to another slot is found there', () => {
    const shelf = new Shelf();
    for (let number = 0; number < 1000; number++) shelf.add(keyOf(number));
    shelf.keys[2000] = keyOf(17);
    shelf.index.move(keyOf(17), 17, 2000);
    expect(shelf.index.find(keyOf(17), shelf.keys)).toBe(2000);
    expect(shelf.index.find(keyOf(18), shelf.keys)).toBe(18);
  });

  test('what was looked up last stays right when another key moves', () => {
    const shelf = new Shelf();
    shelf.add('a');
    shelf.add('b');
    expect(shelf.index.find('c', shelf.keys)).toBe(-1);
    shelf.index.move('b', 1, 5);
    shelf.keys[5] = 'b';
    shelf.index.insert('c', 1);
    shelf.keys[1] = 'c';
    expect(shelf.index.find('b', shelf.keys)).toBe(5);
    expect(shelf.index.find('c', shelf.keys)).toBe(1);
  });
});

describe('the cost of KeyIndex, counted', () => {
  const SIZE = 100_000;

  test('a look reads the key that it finds and hardly any other', () => {
    const shelf = new Shelf(3);
    for (let number = 0; number < SIZE; number++) shelf.add(keyOf(number));
    let reads = 0;
    const counted = new Proxy(shelf.keys, {
      get(keys, slot) {
        reads++;
        return Reflect.get(keys, slot);
      },
    });
    for (let number = 0; number < 2000; number++) {
      expect(shelf.index.find(keyOf(number), counted)).toBe(number);
      expect(shelf.index.find(`none:${number}`, counted)).toBe(-1);
    }
    // Two hashes of 32 bits are equal by chance once in 40 000 looks at this size.
    expect(reads).toBeLessThan(2005);
  });

  test('no growth moves more than a hundredth of all, and removals give the room back', () => {
    const lengths = countedTables();
    const shelf = new Shelf(5);
    for (let number = 0; number < SIZE; number++) shelf.add(keyOf(number));
    // From 512 cells, three quarters full, to 1024 of two numbers each.
    expect(Math.max(...lengths)).toBe(2 * 1024);
    expect(lengths.reduce((total, length) => total + length, 0)).toBeLessThan(12 * SIZE);
    lengths.length = 0;
    for (let number = 0; number < SIZE; number++) shelf.take(keyOf(number));
    expect(lengths.filter((length) => length === 2 * 8)).toHaveLength(256);
  });

  test('another seed puts keys elsewhere', () => {
    // How many keys come before the first segment of eight cells has to grow.
    const untilGrowth = (seed: number): number => {
      const lengths = countedTables();
      const shelf = new Shelf(seed);
      while (!lengths.some((length) => length > 2 * 8)) shelf.add(keyOf(shelf.keys.length));
      vi.unstubAllGlobals();
      return shelf.keys.length;
    };
    const counts = [1, 2, 3, 4, 5, 6, 7, 8].map(untilGrowth);
    expect(new Set(counts).size).toBeGreaterThan(4);
    expect(Math.min(...counts)).toBeGreaterThan(100);
  });
});

/** The lengths of all Int32Arrays that are made from now on. */
function countedTables(): number[] {
  const lengths: number[] = [];
  const Original = Int32Array;
  vi.stubGlobal('Int32Array', function counted(length: number): Int32Array {
    lengths.push(length);
    return new Original(length);
  });
  return lengths;
}
