import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../clock/index.ts';
import { Journal } from './journal.ts';
import { lexCuts, scoreCuts } from './sorted-set-bounds.ts';
import { SortedSetValue } from './sorted-set-value.ts';

type Entry = readonly [member: string, score: number];

function setOf(entries: Iterable<Entry>, journal = new Journal()): SortedSetValue {
  const value = new SortedSetValue(journal);
  for (const [member, score] of entries) value.set(member, score);
  return value;
}

function entriesOf(value: SortedSetValue): Entry[] {
  const { members, scores } = value.range(0, value.size);
  return members.map((member, at) => [member, scores[at]!] as const);
}

/** The entries of the model in the order of a sorted set. */
function sorted(model: ReadonlyMap<string, number>): Entry[] {
  return [...model].sort(([a, x], [b, y]) => (x === y ? (a < b ? -1 : 1) : x < y ? -1 : 1));
}

const member = fc.oneof(
  fc.integer({ min: 0, max: 300 }).map((number) => `m${number}`),
  fc.constantFrom('', 'a', 'ab', 'a\0', '\xff', 'B', 'x'.repeat(65)),
);
const score = fc.oneof(
  fc.integer({ min: -5, max: 5 }),
  fc.double({ noNaN: true, min: -3, max: 3 }),
  fc.constantFrom(Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY),
);
const changes = fc.array(
  fc.record({ member, score: fc.option(score, { nil: undefined, freq: 3 }) }),
  { maxLength: 400, size: 'max' },
);
type Change = { readonly member: string; readonly score: number | undefined };

/** Sets the score of the member; undefined removes it. */
function apply(
  value: SortedSetValue,
  model: Map<string, number>,
  changed: readonly Change[],
): void {
  for (const { member: name, score: next } of changed) {
    if (next === undefined) {
      expect(value.delete(name)).toBe(model.get(name));
      model.delete(name);
    } else {
      value.set(name, next);
      model.set(name, next === 0 && value.encoding === 'listpack' ? 0 : next);
    }
  }
}

describe('SortedSetValue against a sorted array', () => {
  test('members, scores and ranks', () => {
    fc.assert(
      fc.property(changes, (changed) => {
        const model = new Map<string, number>();
        const value = setOf([]);
        apply(value, model, changed);
        const expected = sorted(model);
        expect(value.size).toBe(model.size);
        expect(entriesOf(value)).toEqual(expected);
        expect(expected.map(([name]) => value.rank(name))).toEqual(expected.map((_, rank) => rank));
        expect(value.members().map((name) => value.score(name))).toEqual(value.scores());
        expect(value.rank('nobody')).toBeUndefined();
        expect(value.score('nobody')).toBeUndefined();
      }),
    );
  });

  const bound = fc.tuple(fc.boolean(), fc.oneof(fc.integer({ min: -6, max: 6 }), score));
  const text = ([isExclusive, each]: readonly [boolean, number]): string =>
    `${isExclusive ? '(' : ''}${each === Number.POSITIVE_INFINITY ? '+inf' : each === Number.NEGATIVE_INFINITY ? '-inf' : each}`;

  test('ranges by score', () => {
    fc.assert(
      fc.property(changes, bound, bound, (changed, min, max) => {
        const model = new Map<string, number>();
        const value = setOf([]);
        apply(value, model, changed);
        const expected = sorted(model).filter(
          ([, each]) =>
            (min[0] ? each > min[1] : each >= min[1]) && (max[0] ? each < max[1] : each <= max[1]),
        );
        const { from, to } = value.scoreSpan(scoreCuts(text(min), text(max)));
        expect(value.range(from, to).members).toEqual(expected.map(([name]) => name));
      }),
    );
  });

  test('ranges by member among equal scores', () => {
    const end = fc.oneof(
      fc.constantFrom('-', '+'),
      fc.tuple(fc.constantFrom('[', '('), member).map(([mark, name]) => mark + name),
    );
    const isAbove = (name: string, min: string): boolean =>
      min === '-' || (min !== '+' && (min[0] === '(' ? name > min.slice(1) : name >= min.slice(1)));
    const isBelow = (name: string, max: string): boolean =>
      max === '+' || (max !== '-' && (max[0] === '(' ? name < max.slice(1) : name <= max.slice(1)));
    fc.assert(
      fc.property(
        fc.uniqueArray(member, { maxLength: 300, size: 'max' }),
        end,
        end,
        (names, min, max) => {
          const value = setOf(names.map((name) => [name, 7]));
          const expected = names.filter((name) => isAbove(name, min) && isBelow(name, max)).sort();
          const { from, to } = value.lexSpan(lexCuts(min, max));
          expect(value.range(from, to).members).toEqual(expected);
        },
      ),
    );
  });

  test('a rollback restores it exactly', () => {
    fc.assert(
      fc.property(changes, changes, (before, during) => {
        const journal = new Journal();
        const value = setOf([], journal);
        apply(value, new Map(), before);
        const state = (): unknown => [
          entriesOf(value),
          value.encoding,
          [...value.members()],
          [...value.scores()],
        ];
        const saved = state();
        journal.begin();
        apply(value, new Map(entriesOf(value)), during);
        journal.rollBack();
        expect(state()).toEqual(saved);
        expect(value.members().map((name) => value.rank(name))).not.toContain(undefined);
      }),
    );
  });

  test('a copy is equal and does not change with the original', () => {
    const value = setOf([
      ['a', 1],
      ['L'.repeat(65), 2],
      ['c', -0],
    ]);
    const copy = value.copy();
    expect(entriesOf(copy)).toEqual(entriesOf(value));
    expect(copy.encoding).toBe('skiplist');
    copy.set('a', 9);
    copy.delete('c');
    expect(value.score('a')).toBe(1);
    expect(value.score('c')).toBe(-0);
  });
});

describe('the encoding', () => {
  test('is listpack up to 128 members of 64 bytes, then skiplist, and never converts back', () => {
    const value = setOf(Array.from({ length: 128 }, (_, at) => [`m${at}`, at]));
    expect(value.encoding).toBe('listpack');
    value.set('m0', 5);
    expect(value.encoding).toBe('listpack');
    value.set('one more', 5);
    expect(value.encoding).toBe('skiplist');
    for (let at = 0; at < 128; at++) value.delete(`m${at}`);
    expect(value.encoding).toBe('skiplist');
    expect(setOf([['x'.repeat(64), 1]]).encoding).toBe('listpack');
    expect(setOf([['x'.repeat(65), 1]]).encoding).toBe('skiplist');
  });

  test('keeps -0 only as a skiplist', () => {
    const value = setOf([['small', -0]]);
    expect(value.score('small')).toBe(0);
    value.set('x'.repeat(65), -0);
    expect(value.score('x'.repeat(65))).toBe(-0);
    expect(value.score('small')).toBe(0);
  });

  test('is chosen in advance for stored results', () => {
    const value = setOf([]);
    value.prepareFor(['a', 'x'.repeat(64)]);
    expect(value.encoding).toBe('listpack');
    value.prepareFor(['a', 'x'.repeat(65)]);
    expect(value.encoding).toBe('skiplist');
  });
});

describe('a range of members whose scores differ', () => {
  // In order: b d a c. The expected members are those of redis-server 7.0.15.
  const value = setOf([
    ['b', 1],
    ['d', 2],
    ['a', 3],
    ['c', 4],
  ]);
  test.each([
    ['-', '+', 0, false, ['b', 'd', 'a', 'c']],
    ['[b', '[c', 0, false, ['b']],
    ['[c', '+', 0, false, ['d', 'a', 'c']],
    ['[b', '[c', 0, true, ['c']],
    ['[b', '[d', 1, false, ['d', 'a', 'c']],
    ['[b', '[d', 3, false, ['c']],
    ['[b', '[d', 1, true, []],
    ['[b', '[d', 2, true, ['b', 'd']],
    ['[e', '+', 0, false, []],
    ['-', '(a', 0, false, []],
  ])('%s %s without %i, reverse: %s', (min, max, skip, isReverse, members) => {
    const { from, to } = value.lexSpan(lexCuts(min, max), skip, isReverse);
    expect(value.range(from, to).members).toEqual(members);
  });
});

describe('scan', () => {
  test('returns every member that stays while others are added and removed', () => {
    const random = seededRandom(3);
    const value = setOf(Array.from({ length: 500 }, (_, at) => [`stays${at}`, at]));
    for (let at = 0; at < 500; at++) value.set(`goes${at}`, at);
    const met = new Set<string>();
    let cursor = 0;
    let step = 0;
    do {
      cursor = value.scan(cursor, 7, (slot) => met.add(value.members()[slot]!));
      value.delete(`goes${Math.floor(random.next() * 500)}`);
      value.set(`comes${step++}`, 0);
    } while (cursor !== 0);
    for (let at = 0; at < 500; at++) expect(met).toContain(`stays${at}`);
  });
});
