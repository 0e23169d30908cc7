import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { seededRandom } from '../clock/index.ts';
import { KeyIndex } from './key-index.ts';

afterEach(() => vi.unstubAllGlobals());

/** An index with the array of keys that its slots refer to. Slots are reused, as in a keyspace. */
class IndexedKeys {
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
  test('gives the same results for keys that were prefetched, in any order and after any change', () => {
    const random = seededRandom(9);
    const indexed = new IndexedKeys(42);
    const model = new Map<string, number>();
    const draw = (): string => keyOf(Math.floor(random.next() * 300));
    for (let batch = 0; batch < 2000; batch++) {
      const keys = Array.from({ length: 1 + Math.floor(random.next() * 64) }, draw);
      const slots = new Int32Array(keys.length);
      indexed.index.prefetch(keys, slots);
      expect([...slots]).toEqual(keys.map((key) => model.get(key) ?? -1));
      // Some commands use another key than the one that was prefetched for them, or none.
      for (const prefetched of keys) {
        if (random.next() < 0.1) continue;
        const key = random.next() < 0.1 ? draw() : prefetched;
        expect(indexed.index.find(key, indexed.keys)).toBe(model.get(key) ?? -1);
        if (model.delete(key)) indexed.take(key);
        else model.set(key, indexed.add(key));
      }
    }
  });

  test('finds keys that were prefetched after another index has prefetched others', () => {
    const [first, second] = [new IndexedKeys(42), new IndexedKeys(42)];
    const slots = new Int32Array(2);
    first.add('a');
    first.add('b');
    first.index.prefetch(['a', 'b'], slots);
    second.index.prefetch(['c', 'd'], slots);
    expect(first.index.find('a', first.keys)).toBe(0);
  });

  test('gives the same results after any insertions, removals and moves', () => {
    const random = seededRandom(7);
    const indexed = new IndexedKeys(42);
    const model = new Map<string, number>();
    // Six thousand keys are about twenty per segment: neighbours collide, and a removal shifts them back.
    for (let step = 0; step < 120_000; step++) {
      const key = keyOf(Math.floor(random.next() * 6000));
      expect(indexed.index.find(key, indexed.keys)).toBe(model.get(key) ?? -1);
      if (model.delete(key)) indexed.take(key);
      else model.set(key, indexed.add(key));
      if (step % 20_000 === 0) {
        for (const [each, slot] of model) expect(indexed.index.find(each, indexed.keys)).toBe(slot);
      }
    }
  });

  test('gives the same results for any keys and any seed', () => {
    const key = fc.string({ unit: fc.constantFrom('a', 'b', '\0', '\xff'), maxLength: 4 });
    const keys = fc.array(key, { maxLength: 200, size: 'max' });
    fc.assert(
      fc.property(fc.integer(), keys, (seed, toggled) => {
        const indexed = new IndexedKeys(seed);
        const model = new Map<string, number>();
        for (const each of toggled) {
          if (model.delete(each)) indexed.take(each);
          else model.set(each, indexed.add(each));
        }
        for (const each of toggled) {
          expect(indexed.index.find(each, indexed.keys)).toBe(model.get(each) ?? -1);
        }
      }),
    );
  });

  test('a key that moves to another slot is found there', () => {
    const indexed = new IndexedKeys();
    for (let number = 0; number < 1000; number++) indexed.add(keyOf(number));
    indexed.keys[2000] = keyOf(17);
    indexed.index.move(keyOf(17), 17, 2000);
    expect(indexed.index.find(keyOf(17), indexed.keys)).toBe(2000);
    expect(indexed.index.find(keyOf(18), indexed.keys)).toBe(18);
  });

  test('the cached lookup stays valid when another key moves', () => {
    const indexed = new IndexedKeys();
    indexed.add('a');
    indexed.add('b');
    expect(indexed.index.find('c', indexed.keys)).toBe(-1);
    indexed.index.move('b', 1, 5);
    indexed.keys[5] = 'b';
    indexed.index.insert('c', 1);
    indexed.keys[1] = 'c';
    expect(indexed.index.find('b', indexed.keys)).toBe(5);
    expect(indexed.index.find('c', indexed.keys)).toBe(1);
  });
});

describe('the cost of KeyIndex', () => {
  const SIZE = 100_000;

  test('a lookup compares the key that it finds and hardly any other', () => {
    const indexed = new IndexedKeys(3);
    for (let number = 0; number < SIZE; number++) indexed.add(keyOf(number));
    let reads = 0;
    const counted = new Proxy(indexed.keys, {
      get(keys, slot) {
        reads++;
        return Reflect.get(keys, slot);
      },
    });
    for (let number = 0; number < 2000; number++) {
      expect(indexed.index.find(keyOf(number), counted)).toBe(number);
      expect(indexed.index.find(`none:${number}`, counted)).toBe(-1);
    }
    // At this size, two hashes of 32 bits collide about once in 40 000 lookups.
    expect(reads).toBeLessThan(2005);
  });

  test('growing moves at most a hundredth of all entries, and removals shrink the table', () => {
    const indexed = new IndexedKeys(5);
    const lengths = countedTables();
    for (let number = 0; number < SIZE; number++) indexed.add(keyOf(number));
    // A segment grows from 512 cells, three quarters full, to 1024 cells of two numbers each.
    expect(Math.max(...lengths)).toBe(2 * 1024);
    expect(lengths.reduce((total, length) => total + length, 0)).toBeLessThan(12 * SIZE);
    lengths.length = 0;
    for (let number = 0; number < SIZE; number++) indexed.take(keyOf(number));
    expect(lengths.filter((length) => length === 2 * 8)).toHaveLength(256);
  });

  test('another seed changes the order of keys', () => {
    // The number of keys before the first segment of eight cells grows.
    const untilGrowth = (seed: number): number => {
      const indexed = new IndexedKeys(seed);
      const lengths = countedTables();
      while (!lengths.some((length) => length > 2 * 8)) indexed.add(keyOf(indexed.keys.length));
      vi.unstubAllGlobals();
      return indexed.keys.length;
    };
    const counts = [1, 2, 3, 4, 5, 6, 7, 8].map(untilGrowth);
    expect(new Set(counts).size).toBeGreaterThan(4);
    expect(Math.min(...counts)).toBeGreaterThan(100);
  });
});

/** Collects the lengths of all Int32Arrays that are created from now on. */
function countedTables(): number[] {
  const lengths: number[] = [];
  const Original = Int32Array;
  vi.stubGlobal('Int32Array', function counted(length: number): Int32Array {
    lengths.push(length);
    return new Original(length);
  });
  return lengths;
}
