import type { Clock, Timer } from '../../clock/index.ts';
import { messageOf } from './gather.ts';
import { NODE_KEY } from './node-script.ts';
import type { NodeState, QuorumNode } from './quorum-node.ts';
import { majorityOf } from './voting.ts';

/**
 * Decides which nodes vote. A node that has restarted may have lost votes and fences, and does not vote until
 * - the longest lease has passed, so that no client holds a lock by a vote that the node has forgotten, and
 * - its floor is the largest fence that a majority of voting nodes know then.
 * If fewer than a majority vote, their fences do not suffice, and the store refuses all requests: an operator decides.
 * Exception: if no node has ever voted, as on the first start, all nodes are admitted together.
 *
 * The state is on the nodes. Any client may do the next step, and each step can be repeated.
 */
export class NodeAdmission {
  readonly #nodes: readonly QuorumNode[];
  readonly #clock: Clock;
  readonly #maxLeaseMs: number;
  #checking: Promise<void> | undefined;
  #timer: Timer | undefined;
  /** Why the nodes cannot be used. Undefined: a majority votes. */
  #failure: Error | undefined = new Error('not checked yet');
  #isClosed = false;

  constructor(nodes: readonly QuorumNode[], clock: Clock, maxLeaseMs: number) {
    this.#nodes = nodes;
    this.#clock = clock;
    this.#maxLeaseMs = maxLeaseMs;
  }

  /** Rejects if fewer than a majority of nodes vote. */
  async ready(): Promise<void> {
    if (this.#failure === undefined) return;
    await this.check();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Called when a node replied that it does not vote. */
  check(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  async #check(): Promise<void> {
    this.#timer?.cancel();
    let members = await this.#read();
    this.#failure = wrongNodes(members);
    if (this.#failure !== undefined) return;
    members = await this.#begin(members);
    members = await this.#admit(members);
    this.#failure = tooFew(members);
    const waits = members.flatMap(({ state }) =>
      state?.status === 'waiting' ? [state.waitMs] : [],
    );
    if (waits.length === 0 || this.#isClosed) return;
    const delayMs = Math.max(MIN_PAUSE_MS, Math.min(...waits));
    this.#timer = this.#clock.setTimer(delayMs, () => void this.check());
  }

  #read(): Promise<Member[]> {
    return this.#each((node) => node.admission('state'));
  }

  /** A majority of voting nodes knows the longest lease of all clients that hold a lock. */
  #begin(members: readonly Member[]): Promise<Member[]> {
    const isNew = areNew(members);
    if (!isNew && !isKnown(members)) return Promise.resolve([...members]);
    const leases = members.map(({ state }) => state?.leaseMs ?? 0);
    // As long as a holder with a slow clock may take to notice the end of its lease, and a little more.
    const waitMs = Math.ceil(Math.max(this.#maxLeaseMs, ...leases) * 1.02) + MIN_PAUSE_MS;
    return this.#each((node, state) => {
      if (state?.status !== 'out') return undefined;
      const leftMs = isNew ? Math.max(0, waitMs - state.uptimeMs) : waitMs;
      return node.admission('begin', state.runId, leftMs);
    }, members);
  }

  /** Reads the fences again: those from before the end of the wait may be too small. */
  async #admit(members: readonly Member[]): Promise<Member[]> {
    const due = members.map(({ state }) => state?.status === 'due' && state.runId);
    if (!due.some(Boolean)) return [...members];
    const latest = await this.#read();
    const isTogether = areNew(latest) && latest.every(({ state }) => IS_PAST_WAIT[state!.status]);
    if (!isKnown(latest) && !isTogether) return latest;
    const floor = Math.max(...votingStates(latest).map(({ max }) => max), 0);
    return this.#each((node, state) => {
      const index = this.#nodes.indexOf(node);
      const runId = due[index];
      if (!runId || state === undefined) return undefined;
      return node.admission('admit', runId, floor, latest.length, index + 1);
    }, latest);
  }

  /** Sends a request to each node at the same time. Where there is none, the state stays as it is. */
  #each(
    send: (node: QuorumNode, state: NodeState | undefined) => Promise<NodeState> | undefined,
    members?: readonly Member[],
  ): Promise<Member[]> {
    return Promise.all(
      this.#nodes.map(async (node, index): Promise<Member> => {
        const before = members?.[index];
        try {
          const state = await (send(node, before?.state) ?? before?.state);
          return { ...before, node, state };
        } catch (error) {
          return { node, state: undefined, error };
        }
      }),
    );
  }
}

/** The shortest time between two checks. */
const MIN_PAUSE_MS = 20;

const IS_PAST_WAIT = {
  voting: true,
  due: true,
  waiting: false,
  out: false,
} as const satisfies Record<NodeState['status'], boolean>;

/** A node as the last check found it. */
interface Member {
  readonly node: QuorumNode;
  /** Undefined: it did not reply. */
  readonly state: NodeState | undefined;
  readonly error?: unknown;
}

function votingStates(members: readonly Member[]): NodeState[] {
  return members.flatMap(({ state }) => (state?.status === 'voting' ? [state] : []));
}

/** Whether a majority of nodes votes: together they know all locks. */
function isKnown(members: readonly Member[]): boolean {
  return votingStates(members).length >= majorityOf(members.length);
}

/** Whether all nodes have replied, and none has ever voted for a lock. */
function areNew(members: readonly Member[]): boolean {
  return members.every(({ state }) => state?.max === 0);
}

/** The list of nodes is wrong: a mistake that no wait corrects. */
function wrongNodes(members: readonly Member[]): Error | undefined {
  for (const [index, { node, state }] of members.entries()) {
    const same = members.findIndex((other) => other.state && other.state.runId === state?.runId);
    if (state !== undefined && same < index) {
      return finalError(
        `${members[same]!.node.label} and ${node.label} are the same server, whose vote would count twice. List each ` +
          'server once.',
      );
    }
    if (state !== undefined && state.size > 0 && state.size !== members.length) {
      return finalError(
        `${node.label} is one of ${state.size} nodes, and this program lists ${members.length}. List the same nodes ` +
          'in every program.',
      );
    }
    // With two orders there are two queues, and clients of one split the votes of the other: safe, but slow and unfair.
    if (state?.status === 'voting' && state.place > 0 && state.place !== index + 1) {
      return finalError(
        `${node.label} is number ${state.place} of the nodes for another program, and number ${index + 1} for this one. ` +
          `List the nodes in the same order in every program. To change the order, stop them all and delete the key ` +
          `${NODE_KEY} on every node.`,
      );
    }
  }
  return undefined;
}

function tooFew(members: readonly Member[]): Error | undefined {
  const majority = majorityOf(members.length);
  if (isKnown(members)) return undefined;
  const voting = votingStates(members).length;
  const others = members.filter(({ state }) => state?.status !== 'voting');
  const kept = members.length - others.filter(({ state }) => state !== undefined).length;
  const reasons = others.map((member) => `${member.node.label}: ${reasonOf(member)}`).join('; ');
  const text = `${voting} of ${members.length} nodes vote, and ${majority} must. ${reasons}.`;
  if (mayBeNew(members) || kept >= majority) return new Error(text);
  return finalError(
    `${text} Too many nodes have restarted at once, so that no majority knows the locks. When no program holds one any ` +
      `more, delete the key ${NODE_KEY} on every node: the store then starts anew.`,
  );
}

/** Whether no node that replied has ever voted for a lock. */
function mayBeNew(members: readonly Member[]): boolean {
  return members.every(({ state }) => state === undefined || state.max === 0);
}

function reasonOf({ state, error }: Member): string {
  if (state === undefined) return messageOf(error);
  if (state.status !== 'waiting') return 'it has restarted, and waits for the others';
  const seconds = Math.ceil(state.waitMs / 1000);
  return `it has restarted, and votes in ${seconds} s, when leases from before have ended`;
}

function finalError(message: string): Error {
  return Object.assign(new Error(message), { isFinal: true });
}
