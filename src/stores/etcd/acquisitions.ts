import {
  type AcquireResult,
  LockArgumentError,
  type LockRequest,
  otherSlots,
  type Waiter,
} from '../../lock/index.ts';
import { type Entry, entriesOf, isAbsent, isAdmitted, isUnchanged } from './entry.ts';
import type { TxnReply } from './etcd-messages.ts';
import { type EtcdRequests, LockChangedError, MAX_ATTEMPTS } from './etcd-requests.ts';
import type { LockQueue } from './lock-queue.ts';
import type { OwnEntries } from './own-entries.ts';
import { granted, type OwnEntry, QUEUED } from './own-entry.ts';
import type { QueueWatcher } from './queue-watcher.ts';

/** Adds entries at the end of queues: the three ways to acquire locks without ending those of others. */
export class Acquisitions {
  readonly #requests: EtcdRequests;
  readonly #entries: OwnEntries;
  readonly #watcher: QueueWatcher;

  constructor(requests: EtcdRequests, entries: OwnEntries, watcher: QueueWatcher) {
    this.#requests = requests;
    this.#entries = entries;
    this.#watcher = watcher;
  }

  async enqueue(request: LockRequest, waiter: Waiter, sentMs: number): Promise<AcquireResult> {
    const known = this.#entries.find(request);
    const own = known ?? this.#entries.add(request);
    const { queue } = own;
    own.waiter = waiter;
    queue.pendingCount++;
    // A repeated request reads the whole queue: its entry may have been added long ago.
    const isPartial = known === undefined && (await queue.startReading());
    try {
      return await this.#enter(own, isPartial, sentMs);
    } finally {
      if (known === undefined) queue.endReading(isPartial);
      queue.requestEnded();
      this.#entries.tidy(queue);
    }
  }

  /** Puts the entry and reads the queue, in one transaction; in two, if other entries of this process share the read. */
  async #enter(own: OwnEntry, isPartial: boolean, sentMs: number): Promise<AcquireResult> {
    const { queue } = own;
    const { keys } = queue;
    const { reply, lease } = await this.#requests.write(own.request.leaseMs, sentMs, (lease) => {
      const put = this.#entries.put(own, lease);
      const success = isPartial ? [put] : [put, ...keys.read()];
      const enter = { compare: [isAbsent(own.key)], success, failure: keys.read() };
      if (isPartial) return enter;
      // A lock without entries is not read.
      return { compare: [keys.unchangedSince(0)], success: [put], failure: [{ txn: enter }] };
    });
    const { revision } = reply.header;
    own.lease = lease;
    own.modRevision = revision;
    this.#entries.checkState(own);
    if (!isPartial && reply.succeeded) return this.#entries.hold(own, revision, sentMs);
    const { succeeded, responses } = reply.responses[0]?.txn ?? reply;
    const entries = entriesOf(responses);
    const mine = entries.find(({ key }) => key === own.key);
    const isFull = !isPartial || !succeeded;
    if (!succeeded) own.modRevision = mine?.modRevision ?? 0;
    if (mine !== undefined && mine.owner !== own.request.owner) throw this.#occupied(own);
    if (isFull) queue.merge(entries, revision);
    else await this.#readNew(queue, revision);
    this.#entries.checkState(own);
    this.#checkSlots(own, isFull ? entries : queue.admitted());
    if (queue.isLong) this.#watcher.watch(queue);
    // The fence is larger than all before only if the transaction that put the entry saw all entries.
    const isGranted = succeeded && isFull && isAdmitted(entries, own.key);
    if (isGranted) return this.#entries.hold(own, revision, sentMs);
    this.#watcher.wait(own);
    // Deleted before this process could know it.
    if (!queue.has(own.key)) this.#entries.gone(own);
    else if (mine !== undefined && mine.lease !== lease.id) await this.#entries.move(own, sentMs);
    return isAdmitted(queue.admitted(), own.key) ? this.#watcher.confirm(own) : QUEUED;
  }

  /** Reads what was added up to this revision. Requests at the same time share one read. */
  async #readNew(queue: LockQueue<OwnEntry>, revision: number): Promise<void> {
    while (queue.syncedRevision < revision) {
      queue.reading ??= this.#mergeNew(queue).finally(() => {
        queue.reading = undefined;
      });
      await queue.reading;
    }
  }

  async #mergeNew(queue: LockQueue<OwnEntry>): Promise<void> {
    const from = queue.syncedRevision + 1;
    const success = queue.keys.read(from);
    const reply = await this.#requests.txn({ compare: [], success, failure: [] });
    queue.merge(entriesOf(reply.responses), reply.header.revision, from);
  }

  /** Puts the entry only if it is admitted at once. Otherwise it reads the queue, and sees whether another attempt is. */
  async tryOnce(request: LockRequest, sentMs: number): Promise<AcquireResult> {
    const known = this.#entries.find(request);
    if (known?.state === 'waiting') return QUEUED;
    const own = known ?? this.#entries.add(request);
    const { keys } = own.queue;
    let revision = 0;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { reply, lease } = await this.#requests.write(request.leaseMs, sentMs, (lease) => ({
        compare: [keys.unchangedSince(revision)],
        success: [this.#entries.put(own, lease)],
        failure: request.slots === 1 ? keys.readFirst(1) : keys.read(),
      }));
      own.lease = lease;
      revision = reply.header.revision;
      if (reply.succeeded) own.modRevision = revision;
      this.#entries.checkState(own);
      if (reply.succeeded) return this.#entries.hold(own, revision, sentMs);
      const entries = entriesOf(reply.responses);
      this.#checkSlots(own, entries);
      const mine = entries.find(({ owner }) => owner === request.owner);
      if (mine !== undefined && mine.key === own.key) {
        // An earlier attempt was executed, and its reply was lost.
        const { modRevision } = mine;
        const isConfirmed = await this.#watcher.confirmAt(own, modRevision, revision, sentMs);
        if (isConfirmed) return granted(own.fence);
      } else if (!fits(request, entries)) {
        this.#entries.forget(own);
        return { type: 'busy', retryInMs: shortestMs(entries) };
      }
    }
    this.#entries.forget(own);
    return { type: 'busy', retryInMs: 0 };
  }

  /** Undefined: these are too many for one transaction. */
  async acquireAll(
    requests: readonly LockRequest[],
    minFence: number,
  ): Promise<AcquireResult | undefined> {
    if (requests.length > MAX_GROUP) return undefined;
    const sentMs = this.#requests.clock.monotonicMs();
    const keys = requests.map((request) => this.#entries.keysOf(request));
    const readHeads = keys.flatMap((each) => each.readFirst(1));
    const headsOf = (reply: TxnReply): (Entry | undefined)[] =>
      keys.map((_, index) => entriesOf(reply.responses.slice(2 * index, 2 * index + 2))[0]);
    let revision = 0;
    let heads: readonly (Entry | undefined)[] = keys.map(() => undefined);
    if (minFence > 0) {
      const reply = await this.#requests.txn({ compare: [], success: readHeads, failure: [] });
      revision = reply.header.revision;
      heads = headsOf(reply);
    }
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const isBusy = heads.some((head, index) => head && head.owner !== requests[index]!.owner);
      if (isBusy) break;
      const fence = raisedFence(heads, minFence, revision);
      const owns = requests.map((request, index) => this.#entries.at(request, heads[index]));
      const { leaseMs } = requests[0]!;
      const { reply, lease } = await this.#requests.write(leaseMs, sentMs, (lease) => ({
        compare: keys.map((each, index) => {
          const head = heads[index];
          return head === undefined
            ? each.unchangedSince(revision)
            : isUnchanged(head.key, head.modRevision);
        }),
        success: owns.map((own) => this.#entries.put(own, lease, fence)),
        failure: readHeads,
      }));
      revision = reply.header.revision;
      if (reply.succeeded) {
        for (const own of owns) {
          own.lease = lease;
          this.#entries.hold(own, revision, sentMs, fence);
        }
        return granted(fence ?? revision);
      }
      for (const own of owns) if (own.state === 'requested') this.#entries.forget(own);
      heads = headsOf(reply);
    }
    return { type: 'busy', retryInMs: 0 };
  }

  /** The key belongs to an earlier entry, which ends with its lease: use another key. */
  #occupied(own: OwnEntry): Error {
    this.#requests.doubt(own.lease);
    this.#entries.forget(own);
    return new LockChangedError();
  }

  /** The first entry decides how many slots the lock has. An entry with another number is removed. */
  #checkSlots(own: OwnEntry, entries: readonly Entry[]): void {
    const first = entries.find(({ key }) => key !== own.key);
    const { name, slots } = own.request;
    const isBehind = first !== undefined && entries[0] === first;
    if (!isBehind || first.slots === slots) return;
    this.#entries.leave(own);
    this.#entries.remove(own);
    throw otherSlots(name, first.slots, slots);
  }
}

/** Each lock takes two ranges of a transaction. */
const MAX_GROUP = 60;

function fits({ permits, slots }: LockRequest, entries: readonly Entry[]): boolean {
  return entries.reduce((sum, entry) => sum + entry.permits, permits) <= slots;
}

/** The end of the first lease, if none of them was renewed. */
function shortestMs(entries: readonly Entry[]): number {
  const shortest = (least: number, { leaseMs }: Entry): number => Math.min(least, leaseMs);
  return Math.max(1, entries.reduce(shortest, Number.MAX_SAFE_INTEGER));
}

/** The fence of locks that are all held already. Undefined: some are not, and the fence is the next revision. */
function raisedFence(
  heads: readonly (Entry | undefined)[],
  minFence: number,
  revision: number,
): number | undefined {
  if (revision > 0 && minFence > revision) {
    throw new LockArgumentError(
      '',
      `the fence ${minFence} is larger than the revision ${revision} of etcd: it is not a fence of this store`,
    );
  }
  const fences = heads.map((head) => head?.fence);
  if (fences.includes(undefined)) return undefined;
  return Math.max(minFence, ...(fences as number[]));
}
