import type { Clock, Random } from '../../clock/index.ts';
import {
  type AcquireResult,
  type Contention,
  type Inspection,
  type ListFilter,
  LockArgumentError,
  type LockListing,
  type LockRequest,
  type LockState,
  type LockStore,
  type LockTarget,
  type Waiter,
  type WaiterEvent,
} from '../../lock/index.ts';
import { ownerPrefixOf, tokenOf } from '../redis/lock-keys.ts';
import { gather, type NodeFailure, noMajority, outFailure } from './gather.ts';
import { NodeAdmission } from './node-admission.ts';
import type { QuorumNode } from './quorum-node.ts';
import { QuorumReader } from './quorum-reader.ts';
import { type RoundResult, voteRound } from './vote-round.ts';
import { majorityOf } from './voting.ts';

export interface QuorumLocksSettings {
  readonly clock: Clock;
  readonly random: Random;
  readonly clientId: string;
  readonly maxLeaseMs: number;
}

/**
 * Mutexes on a majority of independent servers. A client holds a lock by the votes of a majority: see voting.ts.
 *
 * Clients that request votes at the same time would split them. So the first node that replies also has an ordinary lock
 * for each mutex, whose queue decides which client requests votes. It makes clients take turns, and nothing else: without
 * it, or with two of them, the votes still decide. If the lock was free lately, the client does both at once.
 */
export class QuorumLocks implements LockStore {
  readonly ownerPrefix: string;
  readonly ownsConnections: boolean;
  readonly connected: Promise<void>;
  #markConnected = (): void => {};
  readonly #nodes: readonly QuorumNode[];
  readonly #majority: number;
  readonly #admission: NodeAdmission;
  readonly #reader: QuorumReader;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #maxLeaseMs: number;
  /** The requests of this client that hold a lock or wait for one, by owner. */
  readonly #entries = new Map<string, Entry>();
  #sweepAtCount = MIN_SWEEP_COUNT;
  /** Until when a client that requests a lock waits for its turn first, by the name of the lock. */
  readonly #contended = new Map<string, number>();
  /** Numbers the requests for votes of this client. */
  #roundCount = 0;
  #closing: Promise<void> | undefined;

  constructor(
    nodes: readonly QuorumNode[],
    { clock, random, clientId, maxLeaseMs }: QuorumLocksSettings,
  ) {
    this.#nodes = nodes;
    this.ownsConnections = nodes.some(({ queue }) => queue.ownsConnections);
    this.#majority = majorityOf(nodes.length);
    this.#clock = clock;
    this.#random = random;
    this.#maxLeaseMs = maxLeaseMs;
    this.#reader = new QuorumReader(nodes, clock);
    this.#admission = new NodeAdmission(nodes, clock, maxLeaseMs);
    this.ownerPrefix = ownerPrefixOf(clientId);
    this.connected = new Promise((resolve) => {
      this.#markConnected = resolve;
    });
  }

  async acquire(request: LockRequest, waiter?: Waiter): Promise<AcquireResult> {
    await this.#prepare(request);
    return request.stealReason === undefined
      ? this.#acquire(request, waiter, 0)
      : this.#steal(request);
  }

  /** Several locks are acquired one by one. */
  async acquireAll(
    requests: readonly LockRequest[],
    minFence: number,
  ): Promise<AcquireResult | undefined> {
    const [request, ...others] = requests;
    if (request === undefined || others.length > 0) return undefined;
    await this.#prepare(request);
    return this.#acquire(request, undefined, minFence);
  }

  async adopt(request: LockRequest, from: LockRequest): Promise<AcquireResult> {
    await this.#prepare(request);
    const entry = this.#entryOf(request);
    entry.hasTurn = true;
    entry.node.queue.adopt(request, from).catch(IGNORE);
    const other = tokenOf(from.owner, from.info);
    return this.#vote(request, entry, { verb: 'adopt', other });
  }

  async extend(request: LockRequest): Promise<boolean> {
    this.#check(request);
    const entry = this.#entries.get(request.owner);
    entry?.node.queue.extend(request).catch(IGNORE);
    if (entry !== undefined) entry.endsMs = this.#clock.monotonicMs() + request.leaseMs;
    return this.#tally(request, ['extend', tokenOfRequest(request), leaseOf(request)]);
  }

  async keep(request: LockRequest): Promise<boolean> {
    this.#check(request);
    const { node } = this.#entryOf(request);
    this.#entries.delete(request.owner);
    node.queue.keep(request).catch(IGNORE);
    return this.#tally(request, ['keep', tokenOfRequest(request), leaseOf(request)]);
  }

  async release(request: LockRequest, fence?: number): Promise<boolean> {
    this.#checkKind(request);
    const { node, fence: known } = this.#entryOf(request);
    this.#entries.delete(request.owner);
    const released = this.#tally(request, ['release', tokenOfRequest(request), fence ?? known]);
    // After the votes, so that the next client finds free nodes.
    node.queue.release(request).catch(IGNORE);
    return released;
  }

  async forceRelease(target: LockTarget): Promise<number> {
    this.#checkKind(target);
    const replies = await this.#reader.replies(target, ['force', ''], () => false);
    await Promise.allSettled(this.#nodes.map(({ queue }) => queue.forceRelease(target)));
    const tokens = replies.flatMap(([code, token]) => (Number(code) === 1 ? [String(token)] : []));
    return tokens.some((token) => this.#reader.isMajority(tokens, token)) ? 1 : 0;
  }

  async inspect(target: LockTarget): Promise<Inspection> {
    this.#checkKind(target);
    const { queue } = this.#firstUp();
    const [holders, queued] = await Promise.all([
      this.#reader.holders(target),
      queue.inspect(target).catch(() => ({ waiters: [] })),
    ]);
    return { holders, waiters: queued.waiters };
  }

  async contention(request: LockRequest): Promise<Contention> {
    this.#checkKind(request);
    const { queue } = this.#entries.get(request.owner)?.node ?? this.#firstUp();
    const [holders, { place }] = await Promise.all([
      this.#reader.holders(request),
      queue.contention(request).catch(() => ({ place: undefined })),
    ]);
    return { holders, place };
  }

  async list({ name, maxLocks, maxParties }: ListFilter): Promise<LockListing> {
    const names = name === undefined ? await this.#reader.names(maxLocks) : [name];
    const states = await Promise.all(
      names.slice(0, maxLocks).map((each) => this.#stateOf(each, maxParties)),
    );
    const locks = states.filter(({ holderCount, waiterCount }) => holderCount + waiterCount > 0);
    return { locks, isCut: names.length > maxLocks };
  }

  onLost(listener: (reason: Error, owner?: string) => void): void {
    for (const { queue } of this.#nodes) queue.onLost(listener);
  }

  watch(request: LockRequest, onContended: () => void): void {
    this.#entryOf(request).node.queue.watch(request, onContended);
  }

  unwatch(request: LockRequest): void {
    this.#entries.get(request.owner)?.node.queue.unwatch(request);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#admission.close();
    this.#entries.clear();
    await Promise.all(this.#nodes.map((node) => node.close()));
  }

  async #prepare(request: LockRequest): Promise<void> {
    this.#check(request);
    try {
      await this.#admission.ready();
    } finally {
      this.#markConnected();
    }
  }

  #check({ name, kind, leaseMs }: LockRequest): void {
    this.#checkKind({ name, kind });
    if (leaseMs <= this.#maxLeaseMs) return;
    throw new LockArgumentError(
      name,
      `a lease of ${leaseMs} ms is longer than maxLease, ${this.#maxLeaseMs} ms. A node that restarts stays out for ` +
        'maxLease: use a shorter lease, or quorumStore(nodes, { maxLease }) with a longer one in every program.',
    );
  }

  #checkKind({ name, kind }: Pick<LockTarget, 'name' | 'kind'>): void {
    if (kind !== 'mutex') throw new LockArgumentError(name, ONLY_MUTEX);
  }

  /** Takes its turn and requests votes: at the same time, if the lock was free lately. */
  async #acquire(
    request: LockRequest,
    waiter: Waiter | undefined,
    minFence: number,
  ): Promise<AcquireResult> {
    const entry = this.#entryOf(request);
    const turn = this.#takeTurn(entry, request, waiter);
    const vote: Vote = { verb: 'vote', minFence, waiter };
    const isDirect = entry.hasTurn || !this.#isContended(request.name);
    const voting = isDirect ? this.#vote(request, entry, vote) : undefined;
    voting?.catch(IGNORE);
    const result = await turn;
    if (result.type === 'busy' && !entry.hasTurn) {
      this.#contend(request.name);
      if (voting !== undefined) this.#abandon(request, entry);
      if (waiter === undefined) this.#entries.delete(request.owner);
      return result;
    }
    entry.hasTurn = true;
    return voting ?? this.#vote(request, entry, vote);
  }

  /** Enters the queue. A queue that cannot be reached keeps no client from requesting votes. */
  async #takeTurn(
    entry: Entry,
    request: LockRequest,
    waiter: Waiter | undefined,
  ): Promise<AcquireResult> {
    if (!entry.node.isUp) {
      entry.node.queue.release(request).catch(IGNORE);
      entry.node = this.#firstUp();
      entry.hasTurn = entry.fence > 0;
    }
    const notify = (event: WaiterEvent): void => void this.#notified(request, waiter!, event);
    const { node } = entry;
    try {
      return await node.queue.acquire(request, waiter && { notify });
    } catch {
      node.isUp = false;
      return NO_QUEUE;
    }
  }

  async #notified(request: LockRequest, waiter: Waiter, event: WaiterEvent): Promise<void> {
    const entry = this.#entries.get(request.owner);
    if (event.type !== 'granted' || entry === undefined) {
      waiter.notify(event.type === 'granted' ? { type: 'retry' } : event);
      return;
    }
    entry.hasTurn = true;
    this.#contend(request.name);
    // The turn is reserved for a short time only.
    if (event.isReserved) entry.node.queue.extend(request).catch(IGNORE);
    const sentMs = this.#clock.monotonicMs();
    const sentWallMs = this.#clock.wallMs();
    try {
      const vote: Vote = { verb: 'vote', waiter };
      const result = await this.#vote(request, entry, vote);
      if (result.type === 'granted') {
        waiter.notify({
          type: 'granted',
          fence: result.fence,
          sentMs,
          sentWallMs,
          isReserved: false,
        });
      } else this.#clock.setTimer(result.retryInMs, () => waiter.notify({ type: 'retry' }));
    } catch (error) {
      waiter.notify({ type: 'failed', error });
    }
  }

  async #steal(request: LockRequest): Promise<AcquireResult> {
    const entry = this.#entryOf(request);
    entry.hasTurn = true;
    // Notifies the former holder.
    entry.node.queue.acquire(request).catch(IGNORE);
    return this.#vote(request, entry, { verb: 'steal' });
  }

  /**
   * Requests votes, and records a grant. One round at a time for each owner: a round that is lost drops all votes for the
   * owner, also those that another round has counted.
   */
  #vote(request: LockRequest, entry: Entry, vote: Vote): Promise<AcquireResult> {
    const next = (): Promise<AcquireResult> => this.#round(request, entry, vote);
    const result = entry.voting === undefined ? next() : entry.voting.then(next, next);
    entry.voting = result;
    const ended = (): void => {
      if (entry.voting === result) entry.voting = undefined;
    };
    result.then(ended, ended);
    return result;
  }

  async #round(request: LockRequest, entry: Entry, vote: Vote): Promise<AcquireResult> {
    const { verb, other = '', minFence = 0, waiter } = vote;
    const { name } = request;
    const token = tokenOfRequest(request);
    const round = ++this.#roundCount;
    entry.round = round;
    const hint = Math.floor(this.#clock.wallMs() * 1000);
    const args = [verb, token, leaseOf(request), round, hint, this.#maxLeaseMs, other];
    let result: RoundResult;
    try {
      const details = { name, token, args, minFence, heldFence: entry.fence };
      result = await voteRound(this.#nodes, details, this.#checkNodes);
    } catch (error) {
      if (entry.fence === 0) this.#dropVotes(request, round);
      throw error;
    }
    if (round !== entry.round) return ABANDONED;
    if (result.type === 'won') {
      entry.fence = result.fence;
      entry.tries = 0;
      return { type: 'granted', fence: result.fence };
    }
    this.#contend(name);
    if (entry.fence === 0) this.#dropVotes(request, round);
    if (waiter !== undefined) return { type: 'busy', retryInMs: this.#pauseMs(entry) };
    this.#entries.delete(request.owner);
    entry.node.queue.release(request).catch(IGNORE);
    return { type: 'busy', retryInMs: result.leftMs };
  }

  /** Another client has its turn first: gives up the votes, also those that may still arrive. */
  #abandon(request: LockRequest, entry: Entry): void {
    this.#dropVotes(request, entry.round);
    entry.round = 0;
    entry.fence = 0;
    entry.voting = undefined;
  }

  /** A release that is under way frees the nodes soon; another holder may keep them for long. */
  #pauseMs(entry: Entry): number {
    const longestMs = Math.min(MIN_PAUSE_MS * 2 ** entry.tries++, MAX_PAUSE_MS);
    return longestMs * (0.5 + this.#random.next() / 2);
  }

  /** In the background. If it fails, the votes end with the lease. */
  #dropVotes(request: LockRequest, round: number): void {
    this.#tally(request, ['drop', tokenOfRequest(request), 0, round]).catch(IGNORE);
  }

  /** Whether a majority of nodes votes for the token of a request. */
  async #tally(request: LockRequest, args: readonly (string | number)[]): Promise<boolean> {
    const yes = (replies: readonly unknown[][]): number =>
      replies.filter(([code]) => Number(code) === 1).length;
    const isNo = (replies: readonly unknown[][]): boolean =>
      replies.length - yes(replies) > this.#nodes.length - this.#majority;
    const isEnough = (replies: readonly unknown[][]): boolean =>
      yes(replies) >= this.#majority || isNo(replies);
    const out: NodeFailure[] = [];
    const send = async (node: QuorumNode): Promise<unknown[]> => {
      const reply = await node.vote(request.name, args);
      if (Number(reply[0]) === -1) out.push(outFailure(node));
      return reply;
    };
    const { replies, failures } = await gather(this.#nodes, send, isEnough);
    if (out.length > 0) this.#checkNodes();
    if (yes(replies) >= this.#majority) return true;
    if (isNo(replies)) return false;
    throw noMajority(this.#nodes.length, [...out, ...failures]);
  }

  async #stateOf(name: string, maxParties: number): Promise<LockState> {
    const target = { kind: 'mutex', name, slots: 1 } as const;
    const { holders, waiters } = await this.inspect(target);
    return {
      ...target,
      holders: holders.slice(0, maxParties),
      waiters: waiters.slice(0, maxParties),
      holderCount: holders.length,
      waiterCount: waiters.length,
    };
  }

  #firstUp(): QuorumNode {
    return this.#nodes.find(({ isUp }) => isUp) ?? this.#nodes[0]!;
  }

  #entryOf({ owner, leaseMs }: LockRequest): Entry {
    let entry = this.#entries.get(owner);
    const endsMs = this.#clock.monotonicMs() + leaseMs + IDLE_MS;
    if (entry === undefined) {
      if (this.#entries.size >= this.#sweepAtCount) this.#sweep();
      entry = {
        node: this.#firstUp(),
        fence: 0,
        hasTurn: false,
        voting: undefined,
        round: 0,
        tries: 0,
        endsMs,
      };
      this.#entries.set(owner, entry);
    }
    entry.endsMs = endsMs;
    return entry;
  }

  /** Removes the entries of leases that were lost or transferred: no release removes them. */
  #sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [owner, { endsMs }] of this.#entries) {
      if (endsMs < nowMs) this.#entries.delete(owner);
    }
    this.#sweepAtCount = Math.max(MIN_SWEEP_COUNT, 2 * this.#entries.size);
  }

  #isContended(name: string): boolean {
    return (this.#contended.get(name) ?? 0) > this.#clock.monotonicMs();
  }

  #contend(name: string): void {
    // Deleted first, so that the oldest entries come first.
    this.#contended.delete(name);
    this.#contended.set(name, this.#clock.monotonicMs() + CONTENDED_MS);
    if (this.#contended.size > MAX_CONTENDED) {
      this.#contended.delete(this.#contended.keys().next().value!);
    }
  }

  readonly #checkNodes = (): void => void this.#admission.check().catch(IGNORE);
}

/** A request of this client. */
interface Entry {
  /** Has the queue that the request is in. */
  node: QuorumNode;
  /** The fence of its grant. 0: it has none. */
  fence: number;
  /** Whether it is first in the queue, and requests votes. */
  hasTurn: boolean;
  /** The result of the round that is under way. */
  voting: Promise<AcquireResult> | undefined;
  /** The number of its last round. An earlier one is abandoned. */
  round: number;
  /** How often it has lost a vote since its last grant. */
  tries: number;
  /** After this time, the entry can be removed. */
  endsMs: number;
}

/** What a request for votes asks for: see VOTE_SCRIPT. */
interface Vote {
  readonly verb: 'vote' | 'steal' | 'adopt';
  /** The token that `adopt` takes the lock from. */
  readonly other?: string;
  readonly minFence?: number;
  readonly waiter?: Waiter | undefined;
}

const ABANDONED: AcquireResult = { type: 'busy', retryInMs: 0 };

/** The result of a queue that cannot be reached. Its fence is not used. */
const NO_QUEUE: AcquireResult = { type: 'granted', fence: 0 };
const IGNORE = (): void => {};

/** The pause before the next request for votes doubles from the first of these to the second. */
const MIN_PAUSE_MS = 4;
const MAX_PAUSE_MS = 200;
/** How long a lock counts as contended after a client was refused. */
const CONTENDED_MS = 1000;
const MAX_CONTENDED = 1000;
/** Entries are removed this long after the end of their lease, when there are many. */
const IDLE_MS = 60_000;
const MIN_SWEEP_COUNT = 1000;

const ONLY_MUTEX =
  'a quorum of Redis nodes has only mutexes: two majorities share one node, which can refuse a second holder, but ' +
  'cannot count permits. Use mutex(), or another store for semaphores and read/write locks, such as etcdStore.';

function tokenOfRequest({ owner, info }: LockRequest): string {
  return tokenOf(owner, info);
}

function leaseOf({ leaseMs }: LockRequest): number {
  return Math.max(1, Math.round(leaseMs));
}
