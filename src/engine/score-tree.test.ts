import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Branch, Leaf, ScoreTree } from './score-tree.ts';

afterEach(() => vi.restoreAllMocks());

type Entry = readonly [score: number, member: string];

const byOrder = (a: Entry, b: Entry): number =>
  a[0] - b[0] || (a[1] < b[1] ? -1 : a[1] > b[1] ? 1 : 0);

function entriesOf(tree: ScoreTree, from = 0, to = tree.size): Entry[] {
  const { members, scores } = tree.range(from, to);
  return scores.map((score, at) => [score, members[at]!] as const);
}

/** All leaves of the tree. */
function leavesOf(tree: ScoreTree): Leaf[] {
  const collect = vi.spyOn(Leaf.prototype, 'collect');
  tree.range(0, tree.size);
  const leaves = collect.mock.contexts as Leaf[];
  collect.mockRestore();
  return leaves;
}

function expectToBe(tree: ScoreTree, model: readonly Entry[]): void {
  expect(tree.size).toBe(model.length);
  expect(entriesOf(tree)).toEqual(model);
  const ranks = model.map((_, rank) => rank);
  expect(model.map(([score, member]) => tree.rank(score, member))).toEqual(ranks);
  expect(ranks.map((rank) => tree.scoreAt(rank))).toEqual(model.map(([score]) => score));
}

/** The entry for a number: its score is the number modulo `scores`, for ties. */
const entryOf = (number: number, scores: number): Entry => [
  scores === 0 ? number : number % scores,
  `m${number}`,
];

describe('ScoreTree against a sorted array', () => {
  test('gives the same results after any insertions and removals', () => {
    const operations = fc.array(fc.integer({ min: 0, max: 700 }), {
      minLength: 1,
      maxLength: 1500,
      size: 'max',
    });
    const property = fc.property(operations, fc.constantFrom(0, 1, 3), (numbers, scores) => {
      const tree = new ScoreTree();
      const present = new Map<number, Entry>();
      for (const number of numbers) {
        const entry = entryOf(number, scores);
        if (present.delete(number)) tree.remove(...entry);
        else {
          present.set(number, entry);
          tree.insert(...entry);
        }
      }
      expectToBe(tree, [...present.values()].sort(byOrder));
    });
    fc.assert(property, { numRuns: 60 });
  });

  test.each([
    ['ascending', (at: number) => at],
    ['descending', (at: number) => 10_000 - at],
    ['mixed', (at: number) => (at * 7919) % 10_007],
  ])('three levels, filled %s and emptied in another order', (_, scoreOf) => {
    const tree = new ScoreTree();
    const model: Entry[] = [];
    for (let at = 0; at < 10_000; at++) {
      model.push([scoreOf(at), `m${at}`]);
      tree.insert(...model[at]!);
    }
    const sorted = model.toSorted(byOrder);
    expectToBe(tree, sorted);
    const leaving = model.toSorted(
      (a, b) => (scoreOf(a[0]) % 97) - (scoreOf(b[0]) % 97) || byOrder(a, b),
    );
    for (const [count, entry] of leaving.entries()) {
      tree.remove(...entry);
      if (count % 999 === 0 || count > 9900) {
        expectToBe(tree, leaving.slice(count + 1).sort(byOrder));
        expect(leavesOf(tree).every(({ size }) => size > 0 && size <= 64)).toBe(true);
      }
    }
    expect(tree.size).toBe(0);
  });

  test('gives the same entries for any range', () => {
    const tree = new ScoreTree();
    const model = Array.from({ length: 5000 }, (_, at) => entryOf(at, 13)).sort(byOrder);
    for (const entry of model) tree.insert(...entry);
    const rank = fc.integer({ min: 0, max: 5000 });
    fc.assert(
      fc.property(rank, rank, (from, to) => {
        expect(entriesOf(tree, from, to)).toEqual(model.slice(from, Math.max(from, to)));
      }),
    );
  });

  test('the rank of a missing entry is that of the next one', () => {
    const tree = new ScoreTree();
    for (let at = 0; at < 1000; at++) tree.insert(at, 'b');
    expect(tree.rank(500, 'a')).toBe(500);
    expect(tree.rank(500, 'c')).toBe(501);
    expect(tree.rank(499.5, '')).toBe(500);
    expect(tree.rank(Number.NEGATIVE_INFINITY, '')).toBe(0);
    expect(tree.rank(Number.POSITIVE_INFINITY, '')).toBe(1000);
  });

  test('members with equal scores are ordered by bytes', () => {
    const tree = new ScoreTree();
    for (const member of ['b', '', '\xff', 'a\0', 'a', 'B']) tree.insert(0, member);
    expect(tree.range(0, 6).members).toEqual(['', 'B', 'a', 'a\0', 'b', '\xff']);
  });
});

describe('the shape of ScoreTree', () => {
  const SIZE = 100_000;

  function filled(next: (at: number) => number): ScoreTree {
    const tree = new ScoreTree();
    for (let at = 0; at < SIZE; at++) tree.insert(next(at), `m${at}`);
    return tree;
  }

  test('members in ascending order fill their leaves', () => {
    const leaves = leavesOf(filled((at) => at));
    expect(SIZE / leaves.length).toBeGreaterThan(63);
  });

  test('members in random order fill more than half of their leaves', () => {
    const leaves = leavesOf(filled((at) => (at * 7919) % 100_003));
    expect(SIZE / leaves.length).toBeGreaterThan(32);
  });

  test('few remaining members are in few leaves', () => {
    const tree = filled((at) => at);
    for (let at = 0; at < SIZE; at++) if (at % 100 !== 0) tree.remove(at, `m${at}`);
    expect(leavesOf(tree).length).toBeLessThan(1000 / 16);
  });

  test('a rank in 100 000 members visits three nodes', () => {
    const tree = filled((at) => (at * 7919) % 100_003);
    const visits = [vi.spyOn(Leaf.prototype, 'rank'), vi.spyOn(Branch.prototype, 'rank')];
    expect(tree.rank(50_000, '')).toBeGreaterThan(49_000);
    expect(visits.reduce((total, spy) => total + spy.mock.calls.length, 0)).toBe(3);
  });

  test('30 members that remain of 100 000 are in one leaf', () => {
    const tree = filled((at) => at);
    for (let at = 30; at < SIZE; at++) tree.remove(at, `m${at}`);
    const branches = vi.spyOn(Branch.prototype, 'rank');
    expect(tree.rank(20, 'm20')).toBe(20);
    expect(branches).not.toHaveBeenCalled();
  });

  test('a range of ten in 100 000 members visits three levels, and two leaves at most', () => {
    const tree = filled((at) => at);
    const leaves = vi.spyOn(Leaf.prototype, 'collect');
    const branches = vi.spyOn(Branch.prototype, 'collect');
    expect(tree.range(99_000, 99_010).scores[0]).toBe(99_000);
    expect(leaves.mock.calls.length).toBeLessThanOrEqual(2);
    expect(branches.mock.calls.length).toBeLessThanOrEqual(3);
  });

  test('a rank among 100 000 equal scores compares members some seventeen times', () => {
    let comparisons = 0;
    // A string that counts its comparisons.
    const counting = (text: string): string =>
      ({
        valueOf() {
          comparisons++;
          return text;
        },
      }) as unknown as string;
    const tree = new ScoreTree();
    for (let at = 0; at < SIZE; at++) tree.insert(0, `m${(at * 7919) % 100_003}`);
    for (const probe of ['m0', 'm5', 'm50000', 'm99999', 'm999999']) {
      comparisons = 0;
      tree.rank(0, counting(probe));
      expect(comparisons).toBeGreaterThanOrEqual(10);
      expect(comparisons).toBeLessThanOrEqual(21);
    }
  });
});
