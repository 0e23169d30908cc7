import { describe, expect, it } from 'vitest';
import { seededRandom } from '../clock/index.ts';
import { Journal } from './journal.ts';
import { SetValue } from './set-value.ts';

function setOf(...members: string[]): SetValue {
  const set = new SetValue(new Journal());
  for (const member of members) set.add(member);
  return set;
}

function contents(set: SetValue): unknown {
  return [set.encoding, Array.from({ length: set.size }, (_, slot) => set.memberAt(slot))];
}

describe('SetValue', () => {
  it('returns up to 512 integers in ascending order', () => {
    const set = setOf('10', '-3', '9223372036854775807', '9', '-9223372036854775808');
    const ascending = ['-9223372036854775808', '-3', '9', '10', '9223372036854775807'];
    expect(set.encoding).toBe('intset');
    expect(set.members()).toEqual(ascending);
    set.add('9223372036854775808');
    expect(set.encoding).toBe('hashtable');
    expect(new Set(set.members())).toEqual(new Set([...ascending, '9223372036854775808']));
  });

  it('converts to a hash table by the 513th integer, and never back', () => {
    const set = setOf(...Array.from({ length: 512 }, (_, at) => String(at)));
    expect(set.encoding).toBe('intset');
    set.add('512');
    set.delete('512');
    expect(set.encoding).toBe('hashtable');
    expect(set.copy().encoding).toBe('hashtable');
  });

  it('pops every member once', () => {
    const set = setOf('a', 'b', 'c');
    const random = seededRandom(1);
    const popped = [set.popRandom(random), set.popRandom(random), set.popRandom(random)];
    expect(popped.toSorted()).toEqual(['a', 'b', 'c']);
    expect(set.size).toBe(0);
  });

  it('a copy does not change with the original', () => {
    const set = setOf('a');
    const copy = set.copy();
    copy.add('b');
    copy.delete('a');
    expect(set.members()).toEqual(['a']);
    expect(copy.members()).toEqual(['b']);
  });

  it('a rollback restores it exactly', () => {
    const random = seededRandom(2);
    const pick = (count: number): number => Math.floor(random.next() * count);
    const journal = new Journal();
    for (let round = 0; round < 300; round++) {
      const set = new SetValue(journal);
      const members = 1 + pick(30);
      const change = (): void => {
        const kind = pick(5);
        if (kind < 2) set.add(String(pick(members)));
        else if (kind < 4) set.delete(String(pick(members)));
        else if (set.size > 0) set.popRandom(random);
        if (pick(40) === 0) set.add('text');
      };
      for (let step = pick(40); step > 0; step--) change();
      const before = contents(set);
      journal.begin();
      for (let step = pick(60); step > 0; step--) change();
      journal.rollBack();
      expect(contents(set)).toEqual(before);
    }
  });
});
