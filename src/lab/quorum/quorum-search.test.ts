import { describe, expect, it } from 'vitest';
import { QUORUM_VARIANTS } from './quorum-variants.ts';
import { searchQuorum } from './search-quorum.ts';

/** The number of steps of the shortest schedule that refutes each variant. */
const SHORTEST: Readonly<Record<string, number>> = {
  'no-confirm': 12,
  'confirm-any-owner': 16,
  'late-vote': 18,
  'fence-expires': 11,
  'restart-votes': 11,
  'restart-no-wait': 12,
  'restart-one-source': 12,
};

const broken = QUORUM_VARIANTS.filter(({ isBroken }) => isBroken);
const right = QUORUM_VARIANTS.filter(({ isBroken }) => !isBroken);

describe('the search of the quorum scheme', () => {
  it.each(right)('finds no failure in $name: $about', { timeout: 300_000 }, ({ model }) => {
    const { states, failure } = searchQuorum(model);
    expect(failure).toBe(undefined);
    expect(states).toBeGreaterThan(20_000);
  });

  it.each(broken)('refutes $name: $about', { timeout: 120_000 }, ({ name, model }) => {
    const { failure } = searchQuorum(model);
    expect(failure?.violation).toMatch(/^fence \d+ is granted (?:twice|after fence \d+)$/);
    expect(failure?.steps).toHaveLength(SHORTEST[name]!);
  });

  it('names each node in all steps of a schedule', () => {
    const { model } = broken.find(({ name }) => name === 'fence-expires')!;
    expect(searchQuorum(model).failure).toEqual({
      violation: 'fence 1 is granted after fence 1',
      steps: [
        'A requests votes',
        'the request of A arrives at node 1',
        'A receives the vote of node 1 with fence 1',
        'the request of A arrives at node 2',
        'A receives the vote of node 2 with fence 1',
        'B requests votes',
        'the request of B arrives at node 3',
        'B receives the vote of node 3 with fence 1',
        'node 1 ends the lease of A',
        'the request of B arrives at node 1',
        'B receives the vote of node 1 with fence 1',
      ],
    });
  });
});
