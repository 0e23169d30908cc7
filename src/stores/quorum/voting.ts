/**
 * The voting scheme of the quorum store. A client that gets the votes of a majority of nodes holds the lock, and its
 * fence is larger than those of all earlier holders.
 *
 * A node votes for one owner at a time, until that owner's lease ends, and each vote raises the fence of the lock on
 * that node. The client takes the largest fence of a majority of votes, and has the nodes with a smaller one confirm
 * it. A node confirms a fence only while it still votes for this owner, and only if its own fence is not larger.
 *
 * Why the fences rise: two majorities share a node, and that node voted for both owners, one after the other. The later
 * vote came after the confirmation of the earlier fence and is larger. No clock is involved, except after a node lost
 * its data: see node-admission.ts.
 *
 * The lab searches these functions in all interleavings. The script in node-script.ts does the same on a server, and a
 * test compares both.
 */
export interface VotingRules {
  /** Returns the fence of the vote. Undefined: the node votes for another owner. The hint is the client's clock. */
  vote(lock: NodeLock, owner: string, hint: number): number | undefined;
  confirm(lock: NodeLock, owner: string, fence: number): boolean;
  /** A fence of 0 is not known. */
  release(lock: NodeLock, owner: string, fence: number): void;
}

/** A lock on one node. */
export interface NodeLock {
  /** Empty: the node votes for no owner. */
  owner: string;
  /** The largest fence that the node voted for or confirmed. */
  fence: number;
  /** The node votes only for larger fences. */
  floor: number;
}

export const VOTING_RULES: VotingRules = {
  vote(lock, owner, hint) {
    if (lock.owner === owner) return lock.fence;
    if (lock.owner !== '') return undefined;
    lock.owner = owner;
    lock.fence = Math.max(lock.fence + 1, lock.floor + 1, hint);
    return lock.fence;
  },

  confirm(lock, owner, fence) {
    if (lock.owner !== owner || lock.fence > fence) return false;
    lock.fence = fence;
    return true;
  },

  release(lock, owner, fence) {
    lock.fence = Math.max(lock.fence, fence);
    if (lock.owner === owner) lock.owner = '';
  },
};

export function majorityOf(nodeCount: number): number {
  return Math.floor(nodeCount / 2) + 1;
}

/** The votes for one request of one client. */
export interface Ballot {
  /** The fence that each node voted for or has confirmed, by its index. 0: no vote. */
  readonly votes: number[];
  /** The fence that a majority must have. 0: not chosen yet. */
  fence: number;
}

/** The rules for the client's side. */
export interface BallotRules {
  /** Counts the vote of a node, and chooses the fence when there is a majority of votes. */
  count(ballot: Ballot, node: number, fence: number, minFence: number): void;
  /** Whether a majority of nodes has the chosen fence. */
  isWon(ballot: Ballot): boolean;
}

export const BALLOT_RULES: BallotRules = {
  count(ballot, node, fence, minFence) {
    ballot.votes[node] = fence;
    if (ballot.fence > 0) return;
    const votes = ballot.votes.filter((vote) => vote > 0);
    if (votes.length >= majorityOf(ballot.votes.length)) {
      ballot.fence = Math.max(minFence, ...votes);
    }
  },

  isWon({ votes, fence }) {
    const count = votes.filter((vote) => vote === fence).length;
    return fence > 0 && count >= majorityOf(votes.length);
  },
};

/** Whether the node must confirm the chosen fence to count. A vote with a larger fence never counts. */
export function needsConfirm({ votes, fence }: Ballot, node: number): boolean {
  const vote = votes[node]!;
  return vote > 0 && vote < fence;
}
