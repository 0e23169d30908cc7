import type { Clock } from '../../clock/index.ts';
import type { Holder, LockTarget } from '../../lock/index.ts';
import { parseToken } from '../redis/lock-keys.ts';
import { gather, noMajority } from './gather.ts';
import { LOCK_PATTERN, nameOfKey, SCAN_SCRIPT } from './node-script.ts';
import type { QuorumNode } from './quorum-node.ts';
import { majorityOf } from './voting.ts';

/** Reads the votes of the nodes: what a majority of them says is true. */
export class QuorumReader {
  readonly #nodes: readonly QuorumNode[];
  readonly #majority: number;
  readonly #clock: Clock;

  constructor(nodes: readonly QuorumNode[], clock: Clock) {
    this.#nodes = nodes;
    this.#majority = majorityOf(nodes.length);
    this.#clock = clock;
  }

  /** The replies of a majority of nodes, or of more. */
  async replies(
    { name }: Pick<LockTarget, 'name'>,
    args: readonly string[],
    isEnough: (replies: readonly unknown[][]) => boolean,
  ): Promise<readonly unknown[][]> {
    const { replies, failures } = await gather(
      this.#nodes,
      (node) => node.vote(name, args),
      isEnough,
    );
    if (replies.length < this.#majority) throw noMajority(this.#nodes.length, failures);
    return replies;
  }

  /** The holder is the client that a majority votes for. */
  async holders(target: Pick<LockTarget, 'name'>): Promise<Holder[]> {
    const tokensOf = (replies: readonly unknown[][]): string[] =>
      replies.map(([token]) => String(token));
    const isEnough = (replies: readonly unknown[][]): boolean => {
      const tokens = tokensOf(replies);
      return tokens.some((token) => this.isMajority(tokens, token));
    };
    const replies = await this.replies(target, ['read', ''], isEnough);
    const tokens = tokensOf(replies);
    const token = tokens.find((each) => this.isMajority(tokens, each));
    const parsed = token && parseToken(token);
    if (!parsed) return [];
    const votes = replies.filter(([each]) => each === token);
    // A majority has at least this fence, and this much time.
    const last = this.#majority - 1;
    const [fence, leftMs] = [1, 2].map(
      (field) => votes.map((vote) => Number(vote[field])).sort((a, b) => b - a)[last]!,
    ) as [number, number];
    const ageMs = Math.max(0, this.#clock.wallMs() - fence / 1000);
    const { owner, info } = parsed;
    return [{ foreign: false, owner, ...info, permits: 1, fence, ageMs, leftMs }];
  }

  isMajority(tokens: readonly string[], token: string): boolean {
    return tokens.filter((each) => each === token).length >= this.#majority;
  }

  /** The first names of locks that some node votes for, in order, and one more than the maximum. */
  async names(maxCount: number): Promise<string[]> {
    const found = await Promise.allSettled(this.#nodes.map((node) => namesOn(node, maxCount + 1)));
    const names = found.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
    const failures = found.flatMap((each, index) =>
      each.status === 'rejected' ? [{ node: this.#nodes[index]!, error: each.reason }] : [],
    );
    if (names.length < this.#majority) throw noMajority(this.#nodes.length, failures);
    return firstOf(new Set(names.flat()), maxCount + 1);
  }
}

/** Keys that one call visits: less than a millisecond of a server's time. */
const SCAN_COUNT = 500;

async function namesOn(node: QuorumNode, maxCount: number): Promise<string[]> {
  const names = new Set<string>();
  let cursor = '0';
  do {
    const reply = await node.run(SCAN_SCRIPT, [LOCK_PATTERN], [cursor, SCAN_COUNT]);
    cursor = String(reply[0]);
    for (const key of reply[1] as string[]) names.add(nameOfKey(key));
    for (const extra of [...names].sort().slice(maxCount)) names.delete(extra);
  } while (cursor !== '0');
  return [...names];
}

function firstOf(names: ReadonlySet<string>, count: number): string[] {
  return [...names].sort().slice(0, count);
}
