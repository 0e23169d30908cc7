import { majorityOf } from '../../stores/index.ts';
import { MODEL_RULES, type ModelRules, type QuorumModel } from './quorum-model.ts';

/** A model to search, with the verdict that it must get. */
export interface QuorumVariant {
  readonly name: string;
  readonly about: string;
  readonly model: QuorumModel;
  readonly isBroken: boolean;
}

const ANY_CLOCKS: QuorumModel = {
  clocks: 'any',
  nodes: 3,
  hints: [0, 0],
  repeats: 0,
  restarts: 0,
  rules: MODEL_RULES,
};
const RIGHT_CLOCKS: QuorumModel = { ...ANY_CLOCKS, clocks: 'right' };

/** The scheme of the quorum store, and what happens without each of its rules. */
export const QUORUM_VARIANTS: readonly QuorumVariant[] = [
  right('scheme', 'Leases may end at any time.', ANY_CLOCKS),
  right('scheme-hints', 'The same; the clocks of the clients are the first fences.', {
    ...ANY_CLOCKS,
    hints: [3, 2],
  }),
  right('scheme-repeats', 'The clocks are right, and a request may arrive twice.', {
    ...RIGHT_CLOCKS,
    repeats: 1,
  }),
  right('scheme-restart', 'The clocks are right, and a node may restart without its data.', {
    ...RIGHT_CLOCKS,
    restarts: 1,
  }),
  broken('no-confirm', 'The client takes the largest fence, and no node confirms it.', ANY_CLOCKS, {
    isWon: ({ votes }) => votes.filter((vote) => vote > 0).length >= majorityOf(votes.length),
  }),
  broken('confirm-any-owner', 'A node confirms a fence after its vote has ended.', ANY_CLOCKS, {
    confirm(lock, _owner, fence) {
      if (lock.fence <= fence) lock.fence = fence;
      return true;
    },
  }),
  broken('late-vote', 'A vote with a larger fence than the chosen one counts.', ANY_CLOCKS, {
    isWon({ votes, fence }) {
      const count = votes.filter((vote) => vote >= fence).length;
      return fence > 0 && count >= majorityOf(votes.length);
    },
  }),
  broken('fence-expires', 'A node forgets the fence when the lease ends.', ANY_CLOCKS, {
    expire(lock) {
      lock.owner = '';
      lock.fence = 0;
    },
  }),
  broken('restart-votes', 'A node that lost its data votes at once.', withRestart(), {
    staysOut: false,
  }),
  broken(
    'restart-no-wait',
    'It takes the fences of a majority, and does not wait.',
    withRestart(),
    {
      waits: false,
    },
  ),
  broken(
    'restart-one-source',
    'It waits, and takes the fences of one node.',
    { ...ANY_CLOCKS, restarts: 1 },
    { floorSources: () => 1 },
  ),
];

function withRestart(): QuorumModel {
  return { ...RIGHT_CLOCKS, restarts: 1 };
}

function right(name: string, about: string, model: QuorumModel): QuorumVariant {
  return { name, about, model, isBroken: false };
}

function broken(
  name: string,
  about: string,
  model: QuorumModel,
  rules: Partial<ModelRules>,
): QuorumVariant {
  return { name, about, model: { ...model, rules: { ...MODEL_RULES, ...rules } }, isBroken: true };
}
