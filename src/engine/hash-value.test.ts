import { describe, expect, it } from 'vitest';
import { seededRandom } from '../clock/index.ts';
import { HashValue } from './hash-value.ts';
import { Journal } from './journal.ts';

function contents(hash: HashValue): unknown {
  return [hash.encoding, hash.fields().slice(), hash.values().slice()];
}

describe('HashValue', () => {
  it('converts to a hash table by a long field, a long value or many fields, and never back', () => {
    const long = 'x'.repeat(65);
    for (const [field, value] of [
      [long, ''],
      ['', long],
    ] as const) {
      const hash = new HashValue(new Journal());
      hash.set('x'.repeat(64), 'x'.repeat(64));
      expect(hash.encoding).toBe('listpack');
      hash.set(field, value);
      hash.delete(field);
      expect(hash.encoding).toBe('hashtable');
    }
    const hash = new HashValue(new Journal());
    for (let at = 0; at < 512; at++) hash.set(`f${at}`, '');
    expect(hash.encoding).toBe('listpack');
    hash.set('one more', '');
    expect(hash.encoding).toBe('hashtable');
    expect(hash.copy().encoding).toBe('hashtable');
  });

  it('a copy does not change with the original', () => {
    const hash = new HashValue(new Journal());
    hash.set('a', '1');
    const copy = hash.copy();
    copy.set('a', '2');
    copy.set('b', '3');
    expect(contents(hash)).toEqual(['listpack', ['a'], ['1']]);
  });

  it('a rollback restores it exactly', () => {
    const random = seededRandom(1);
    const pick = (count: number): number => Math.floor(random.next() * count);
    const journal = new Journal();
    for (let round = 0; round < 300; round++) {
      const hash = new HashValue(journal);
      const fields = 1 + pick(30);
      const change = (): void => {
        const field = `f${pick(fields)}`;
        if (pick(2)) hash.set(field, pick(50) ? String(pick(1000)) : 'x'.repeat(65));
        else hash.delete(field);
      };
      for (let step = pick(40); step > 0; step--) change();
      const before = contents(hash);
      journal.begin();
      for (let step = pick(60); step > 0; step--) change();
      journal.rollBack();
      expect(contents(hash)).toEqual(before);
      for (const field of hash.fields()) expect(hash.has(field)).toBe(true);
    }
  });
});
