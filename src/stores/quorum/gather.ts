import type { QuorumNode } from './quorum-node.ts';
import { majorityOf } from './voting.ts';

/** Sends one request to each node at the same time. Resolves when the replies are enough, or all have arrived. */
export function gather(
  nodes: readonly QuorumNode[],
  send: (node: QuorumNode) => Promise<unknown[]>,
  isEnough: (replies: readonly unknown[][]) => boolean,
): Promise<Gathered> {
  return new Promise((resolve) => {
    const replies: unknown[][] = [];
    const failures: NodeFailure[] = [];
    const check = (): void => {
      const isLast = replies.length + failures.length === nodes.length;
      if (isLast || isEnough(replies)) resolve({ replies, failures });
    };
    for (const node of nodes) {
      send(node).then(
        (reply) => {
          replies.push(reply);
          check();
        },
        (error: unknown) => {
          failures.push({ node, error });
          check();
        },
      );
    }
  });
}

export interface Gathered {
  readonly replies: readonly unknown[][];
  readonly failures: readonly NodeFailure[];
}

export interface NodeFailure {
  readonly node: QuorumNode;
  readonly error: unknown;
}

/** The node replied that it does not vote: -1, see VOTE_SCRIPT. */
export function outFailure(node: QuorumNode): NodeFailure {
  return { node, error: new Error('it has restarted, and does not vote yet') };
}

/** Too few nodes have replied. Retries do not help if one of the errors is permanent. */
export function noMajority(nodeCount: number, failures: readonly NodeFailure[]): Error {
  const replied = nodeCount - failures.length;
  const texts = failures.map(({ node, error }) => `${node.label}: ${messageOf(error)}`);
  const text = `${replied} of ${nodeCount} nodes replied, and ${majorityOf(nodeCount)} must. ${texts.join('; ')}`;
  const isFinal = failures.some(({ error }) => (error as { isFinal?: boolean }).isFinal);
  return Object.assign(new Error(text), { isFinal });
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
