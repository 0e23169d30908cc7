import { type NodeFailure, noMajority, outFailure } from './gather.ts';
import type { QuorumNode } from './quorum-node.ts';
import { BALLOT_RULES, type Ballot, majorityOf, needsConfirm } from './voting.ts';

/** What a round requests of each node. */
export interface RoundRequest {
  readonly name: string;
  readonly token: string;
  /** The arguments of the request for a vote: see VOTE_SCRIPT. */
  readonly args: readonly (string | number)[];
  readonly minFence: number;
  /** The fence of an earlier grant to the same owner. 0: there is none. */
  readonly heldFence: number;
}

export type RoundResult =
  | { readonly type: 'won'; readonly fence: number }
  /** Some nodes vote for other owners, whose leases end in so many ms. */
  | { readonly type: 'lost'; readonly leftMs: number };

/**
 * Requests the votes of all nodes at the same time. Resolves when a majority has the fence, or cannot have it any more.
 * Rejects if too few nodes reply. In both cases the replies of the other nodes may still arrive.
 */
export function voteRound(
  nodes: readonly QuorumNode[],
  request: RoundRequest,
  onOut: () => void,
): Promise<RoundResult> {
  return new Promise((resolve, reject) => {
    new VoteRound(nodes, request, onOut, resolve, reject).start();
  });
}

/** The code of a reply to a request for a vote: see VOTE_SCRIPT. */
const CODES = { out: -1, refused: 0, new: 1, kept: 2 } as const;

class VoteRound {
  readonly #nodes: readonly QuorumNode[];
  readonly #request: RoundRequest;
  readonly #onOut: () => void;
  readonly #resolve: (result: RoundResult) => void;
  readonly #reject: (error: Error) => void;
  readonly #ballot: Ballot;
  readonly #majority: number;
  /** Replies that may still arrive, to votes and confirmations. At most one for each node. */
  #pending = 0;
  /** The nodes that voted, for this owner or another. */
  #voters = 0;
  /**
   * Nodes that voted for the owner before, and for no other since its earlier grant. One with a larger fence may have
   * voted for another in between: a request that was sent again can make it vote for the owner once more.
   */
  #kept = 0;
  readonly #leftMs: number[] = [];
  readonly #failures: NodeFailure[] = [];
  #isOver = false;

  constructor(
    nodes: readonly QuorumNode[],
    request: RoundRequest,
    onOut: () => void,
    resolve: (result: RoundResult) => void,
    reject: (error: Error) => void,
  ) {
    this.#nodes = nodes;
    this.#request = request;
    this.#onOut = onOut;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#ballot = { votes: nodes.map(() => 0), fence: 0 };
    this.#majority = majorityOf(nodes.length);
  }

  start(): void {
    const { name, args } = this.#request;
    for (const [index, node] of this.#nodes.entries()) {
      this.#send(index, node.vote(name, args), (reply) => this.#voted(index, reply));
    }
  }

  #send(index: number, sent: Promise<unknown[]>, receive: (reply: unknown[]) => void): void {
    this.#pending++;
    sent.then(
      (reply) => {
        this.#pending--;
        receive(reply);
        this.#check();
      },
      (error: unknown) => {
        this.#pending--;
        this.#failed(index, error);
        this.#check();
      },
    );
  }

  #voted(index: number, reply: unknown[]): void {
    const [code, number] = reply.map(Number) as [number, number];
    if (code === CODES.out) {
      this.#onOut();
      this.#failures.push(outFailure(this.#nodes[index]!));
      return;
    }
    this.#voters++;
    if (code === CODES.refused) this.#leftMs.push(Math.max(0, number));
    else {
      if (code === CODES.kept && number <= this.#request.heldFence) this.#kept++;
      this.#count(index, number);
    }
  }

  #count(index: number, fence: number): void {
    const isChosen = this.#ballot.fence > 0;
    BALLOT_RULES.count(this.#ballot, index, fence, this.#request.minFence);
    if (this.#isOver || this.#isKept) return;
    for (const each of isChosen ? [index] : this.#nodes.keys()) {
      if (needsConfirm(this.#ballot, each)) this.#confirm(each);
    }
  }

  #confirm(index: number): void {
    const { name, token } = this.#request;
    const { fence } = this.#ballot;
    this.#send(index, this.#nodes[index]!.vote(name, ['confirm', token, fence]), ([code]) => {
      if (Number(code) === 1) this.#ballot.votes[index] = fence;
    });
  }

  #failed(index: number, error: unknown): void {
    this.#failures.push({ node: this.#nodes[index]!, error });
  }

  /** The earlier grant still holds. */
  get #isKept(): boolean {
    const { heldFence, minFence } = this.#request;
    return heldFence > 0 && heldFence >= minFence && this.#kept >= this.#majority;
  }

  #check(): void {
    if (this.#isOver) return;
    const { votes, fence } = this.#ballot;
    if (this.#isKept) this.#win(this.#request.heldFence);
    else if (BALLOT_RULES.isWon(this.#ballot)) this.#win(fence);
    else {
      const have = votes.filter((vote) => (fence > 0 ? vote === fence : vote > 0)).length;
      if (have + this.#pending < this.#majority) this.#lose();
    }
  }

  #win(fence: number): void {
    this.#isOver = true;
    this.#resolve({ type: 'won', fence });
  }

  /** Whether other clients have the votes, or too few nodes reply, is known when a majority did one or the other. */
  #lose(): void {
    const { length } = this.#nodes;
    if (this.#voters >= this.#majority) {
      this.#isOver = true;
      this.#resolve({ type: 'lost', leftMs: Math.min(...this.#leftMs, MAX_LEFT_MS) });
    } else if (this.#failures.length > length - this.#majority) {
      this.#isOver = true;
      this.#reject(noMajority(length, this.#failures));
    }
  }
}

/** When to request votes again if no node said how long another lease runs. */
const MAX_LEFT_MS = 1000;
