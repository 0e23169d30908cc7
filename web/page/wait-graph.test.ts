import { describe, expect, it } from 'vitest';
import type { PageLock } from '../../src/page/protocol.ts';
import { cyclesOf, waitGraph } from './wait-graph.ts';

/** A lock by its name, the owners of its holders, and its waiters as `[owner, ...holds]`. */
function lock(name: string, holders: string[], waiters: string[][]): PageLock {
  const party = (owner: string) => ({
    owner,
    client: { host: 'h', pid: 1, label: owner },
    permits: 1,
    sinceMs: null,
  });
  return {
    id: name,
    kind: 'mutex',
    name,
    holderCount: holders.length,
    waiterCount: waiters.length,
    holders: holders.map((owner) => ({ ...party(owner), fence: 1, endsMs: null })),
    waiters: waiters.map(([owner, ...holds]) => ({ ...party(owner!), holds })),
  };
}

/** The nodes of a graph by name: a task by the owner that it was first seen with. */
function names({ nodes }: ReturnType<typeof waitGraph>): string[] {
  return nodes.map((node) => (node.type === 'lock' ? node.lock.name : node.owner));
}

describe('waitGraph', () => {
  it('is empty when no waiter holds a lock', () => {
    expect(waitGraph([lock('a', ['a1'], [['w1'], ['w2']])]).nodes).toEqual([]);
  });

  it('finds the deadlock of two tasks, and begins it with a task', () => {
    const graph = waitGraph([lock('a', ['t1'], [['t4', 't2']]), lock('b', ['t2'], [['t3', 't1']])]);
    expect(graph.cycles).toHaveLength(1);
    const cycle = graph.cycles[0]!.map((index) => graph.nodes[index]!);
    expect(cycle.map(({ type }) => type)).toEqual(['task', 'lock', 'task', 'lock']);
    expect(graph.edges.every(({ isInCycle }) => isInCycle)).toBe(true);
  });

  it('makes one task of all owners of a callback', () => {
    // One callback holds a and b, and waits for c.
    const graph = waitGraph([
      lock('a', ['t1'], []),
      lock('b', ['t2'], []),
      lock('c', ['other'], [['t3', 't1', 't2']]),
    ]);
    expect(graph.nodes.filter(({ type }) => type === 'task')).toHaveLength(2);
    expect(graph.edges.map(({ type }) => type).sort()).toEqual(['held', 'held', 'held', 'waits']);
    expect(graph.cycles).toEqual([]);
  });

  it('counts waiters that hold nothing on their lock', () => {
    const graph = waitGraph([lock('a', ['t1'], [['plain'], ['t3', 't2'], ['plain2']])]);
    expect(names(graph)).toEqual(['a', 't3', 't1']);
    expect(graph.nodes[0]).toMatchObject({ otherWaiters: 2 });
  });

  it('keeps the deadlock of a graph that is too large', () => {
    const chain = Array.from({ length: 400 }, (_, index) =>
      lock(`l${index}`, [`h${index}`], [[`w${index}`, `h${index + 1}`]]),
    );
    const graph = waitGraph([
      ...chain,
      lock('a', ['t1'], [['t4', 't2']]),
      lock('b', ['t2'], [['t3', 't1']]),
    ]);
    expect(graph.nodes).toHaveLength(300);
    expect(graph.left).toBeGreaterThan(400);
    expect(graph.cycles).toHaveLength(1);
    expect(graph.edges.filter(({ isInCycle }) => isInCycle)).toHaveLength(4);
  });
});

describe('cyclesOf', () => {
  const edges = (...pairs: [number, number][]) => pairs.map(([from, to]) => ({ from, to }));

  it.each([
    ['no edge', 2, edges(), []],
    ['a chain', 3, edges([0, 1], [1, 2]), []],
    ['a loop', 1, edges([0, 0]), [[0]]],
    ['a ring with a tail', 4, edges([3, 0], [0, 1], [1, 2], [2, 0]), [[0, 1, 2]]],
    [
      'two rings',
      4,
      edges([0, 1], [1, 0], [2, 3], [3, 2]),
      [
        [0, 1],
        [2, 3],
      ],
    ],
    ['a short way and a long one', 3, edges([0, 1], [1, 2], [2, 0], [1, 0]), [[0, 1]]],
  ])('finds one shortest cycle for each component: %s', (_, count, all, cycles) => {
    expect(cyclesOf(count, all)).toEqual(cycles);
  });

  it('walks a chain of 100,000 nodes without a stack overflow', () => {
    const count = 100_000;
    const chain = Array.from({ length: count - 1 }, (_, node) => ({ from: node, to: node + 1 }));
    expect(cyclesOf(count, chain)).toEqual([]);
  });
});
