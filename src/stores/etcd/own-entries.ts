import type { Timer } from '../../clock/index.ts';
import {
  type AcquireResult,
  type LockRequest,
  type LockTarget,
  StolenError,
  TimerQueues,
} from '../../lock/index.ts';
import { type Entry, isUnchanged, LockKeys, storedValue } from './entry.ts';
import type { Operation } from './etcd-messages.ts';
import { type EtcdRequests, LockChangedError, MAX_ATTEMPTS } from './etcd-requests.ts';
import { LockQueue } from './lock-queue.ts';
import { type EntryState, granted, OwnEntry } from './own-entry.ts';
import type { SharedLease } from './shared-lease.ts';

/**
 * The entries that this process has, or may have, in etcd, from their requests to their ends. The process ends an entry
 * whose lease is over by its own clock; when the process dies, etcd ends all its entries.
 */
export class OwnEntries {
  /** Called when this process has deleted an entry of the queue. */
  onDeleted: (queue: LockQueue<OwnEntry>) => void = IGNORE;
  onLost: (reason: Error, owner?: string) => void = IGNORE;
  readonly #requests: EtcdRequests;
  readonly #prefix: string;
  /** By id. */
  readonly #own = new Map<string, OwnEntry>();
  /** By the key of the lock. */
  readonly #queues = new Map<string, LockQueue<OwnEntry>>();
  readonly #deadlines: TimerQueues<OwnEntry>;
  /** Never fires: keeps the process alive while an entry waits or is held. */
  readonly #alive: Timer;
  #aliveCount = 0;

  constructor(requests: EtcdRequests, prefix: string) {
    this.#requests = requests;
    this.#prefix = prefix;
    this.#deadlines = new TimerQueues(requests.clock, (own) => this.#due(own));
    this.#alive = requests.clock.setTimer(Number.POSITIVE_INFINITY, IGNORE);
    requests.onLeaseEnded = (lease) => this.leaseEnded(lease);
  }

  keysOf(target: LockTarget): LockKeys {
    return new LockKeys(this.#prefix, target);
  }

  find(request: LockRequest): OwnEntry | undefined {
    return this.#own.get(this.keysOf(request).idOf(request.owner));
  }

  /** With a place, the entry goes to the front of the lock. */
  add(request: LockRequest, place?: number): OwnEntry {
    const queue = this.#queueOf(request);
    const slot = queue.takeSlot(this.#requests.slotPrefix);
    const key = place === undefined ? queue.keys.inQueue(slot) : queue.keys.inFront(slot);
    return this.#register(new OwnEntry(request, queue, key, place));
  }

  /** The own entry of a key that is in etcd already. Undefined: a new one. */
  at(request: LockRequest, entry: Entry | undefined): OwnEntry {
    const known = this.find(request);
    if (entry === undefined) return known ?? this.add(request);
    if (known?.key === entry.key) return known;
    if (known !== undefined) this.forget(known);
    const place = entry.place === entry.createRevision ? undefined : entry.place;
    return this.#register(new OwnEntry(request, this.#queueOf(request), entry.key, place));
  }

  waitingOn(lease: SharedLease): OwnEntry[] {
    return [...this.#own.values()].filter((own) => own.lease === lease && own.state === 'waiting');
  }

  #queueOf(request: LockRequest): LockQueue<OwnEntry> {
    const keys = this.keysOf(request);
    const known = this.#queues.get(keys.lock);
    if (known !== undefined) return known;
    const queue = new LockQueue<OwnEntry>(keys);
    this.#queues.set(keys.lock, queue);
    return queue;
  }

  #register(own: OwnEntry): OwnEntry {
    this.#own.set(own.id, own);
    own.queue.own.set(own.key, own);
    this.#forgetLater(own);
    return own;
  }

  /** The connections do not keep the process alive: an entry that waits or is held does. */
  setState(own: OwnEntry, state: EntryState): void {
    this.#aliveCount += Number(KEEPS_ALIVE[state]) - Number(KEEPS_ALIVE[own.state]);
    own.state = state;
    this.#alive.keepAlive(this.#aliveCount > 0);
  }

  put({ key, request, place }: OwnEntry, lease: SharedLease, fence?: number): Operation {
    const value = storedValue(request, { at: this.#requests.clock.wallMs(), place, fence });
    return { put: { key, value, lease: lease.id } };
  }

  hold(own: OwnEntry, revision: number, sentMs: number, fence = revision): AcquireResult {
    this.setState(own, 'held');
    own.fence = fence;
    own.modRevision = revision;
    own.queue.waiting.delete(own.key);
    this.endAfter(own, own.request.leaseMs, sentMs);
    return granted(fence);
  }

  /** Ends the entry when this duration is over. */
  endAfter(own: OwnEntry, leaseMs: number, sentMs: number): void {
    this.#deadlines.add(own, leaseMs, sentMs);
  }

  /** Puts the key with another lease. The value keeps the fence. False: the key does not exist any more. */
  async move(own: OwnEntry, sentMs: number): Promise<boolean> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const kv = await this.#requests.readKey(own.key);
      if (kv === undefined) return false;
      const { reply, lease } = await this.#requests.write(own.request.leaseMs, sentMs, (lease) => ({
        compare: [isUnchanged(own.key, kv.modRevision)],
        success: [this.put(own, lease, own.fence || undefined)],
        failure: [],
      }));
      if (!reply.succeeded) continue;
      own.lease = lease;
      own.modRevision = reply.header.revision;
      if (own.state !== 'released') return true;
      // Its lease ended, or it was released, before this reply: that deletion may have compared the revision before.
      this.remove(own);
      return false;
    }
    throw new LockChangedError();
  }

  /** The request was released, or its entry deleted, while a request that may have put the entry was under way. */
  checkState(own: OwnEntry): void {
    if (own.state !== 'released') return;
    this.#requests.doubt(own.lease);
    this.remove(own);
    throw new LockChangedError();
  }

  /** The lease of a held entry is over, or etcd has ended an entry that this process does not use any more. */
  #due(own: OwnEntry): void {
    if (own.state !== 'held' && own.state !== 'kept') {
      this.forget(own);
      return;
    }
    this.leave(own);
    this.#own.delete(own.id);
    this.remove(own);
  }

  /** The caller does not use the entry any more. It is forgotten when etcd has deleted it, or has ended its lease. */
  leave(own: OwnEntry): void {
    if (own.state === 'requested') this.#requests.doubt(own.lease);
    this.setState(own, 'released');
    own.waiter = undefined;
    own.queue.waiting.delete(own.key);
    own.unwatch();
    this.#forgetLater(own);
  }

  #forgetLater(own: OwnEntry): void {
    this.#deadlines.add(own, FORGET_MS, this.#requests.clock.monotonicMs());
  }

  /**
   * Deletes the entry in the background. If that fails, the entry ends with its lease. Compares the revision: the entry
   * may be deleted already, and a later request may use its key.
   */
  remove(own: OwnEntry): void {
    const { key, lease, modRevision } = own;
    const compare = [isUnchanged(key, modRevision)];
    this.#requests.txn({ compare, success: [{ delete: { key } }], failure: [] }, lease).then(
      ({ succeeded, header }) => {
        if (succeeded) this.deleted(own, header.revision);
        else this.forget(own);
      },
      () => this.forget(own),
    );
  }

  /** This process has deleted the entry. */
  deleted(own: OwnEntry, revision: number): void {
    const { queue, key } = own;
    const isKnown = queue.own.get(key) === own;
    this.forget(own);
    if (isKnown && own.modRevision > 0) queue.returnSlot(key.slice(key.lastIndexOf('/') + 1));
    queue.delete(key, revision);
    this.onDeleted(queue);
  }

  /** This process has deleted the entry of an owner, which may be its own. */
  dropped({ owner }: Entry, keys: LockKeys, reason?: Error): void {
    const own = this.#own.get(keys.idOf(owner));
    if (own === undefined) return;
    const { state } = own;
    this.forget(own);
    if (state === 'waiting') this.retry(own);
    // Later: the caller receives its lease first.
    if (state === 'held' && reason) this.#requests.clock.defer(() => this.onLost(reason, owner));
  }

  /** The entry was deleted, and not by its owner. */
  gone(own: OwnEntry): void {
    const { state } = own;
    if (state !== 'waiting' && state !== 'held') return;
    this.forget(own);
    if (state === 'waiting') this.retry(own);
    else this.#reportLoss(own);
  }

  /** Finds out whether the lock was stolen. */
  #reportLoss({ request, queue }: OwnEntry): void {
    const report = (reason: Error): void => this.onLost(reason, request.owner);
    this.#requests.read(queue.keys).then(
      ({ entries }) => {
        const thief = entries.find(({ stealReason }) => stealReason !== undefined);
        report(thief ? new StolenError(thief.info, thief.stealReason!) : new Error(GONE));
      },
      () => report(new Error(GONE)),
    );
  }

  /** etcd has ended the lease, and deleted its keys. */
  leaseEnded(lease: SharedLease): void {
    lease.markDead();
    for (const own of [...this.#own.values()]) if (own.lease === lease) this.gone(own);
  }

  /** Makes the waiter send its request again. */
  retry(own: OwnEntry): void {
    if (!this.#requests.client.isClosed) own.waiter?.notify({ type: 'retry' });
  }

  forget(own: OwnEntry): void {
    const { queue, id, key } = own;
    own.unschedule();
    own.unwatch();
    this.setState(own, 'released');
    if (queue.own.get(key) !== own) return;
    queue.waiting.delete(key);
    queue.own.delete(key);
    if (this.#own.get(id) === own) this.#own.delete(id);
    this.tidy(queue);
  }

  /** Removes a queue without entries of this process, some time later if it is watched: it may be used again. */
  tidy(queue: LockQueue<OwnEntry>): void {
    if (queue.own.size > 0 || queue.pendingCount > 0) return;
    const { lock } = queue.keys;
    if (queue.unwatch === undefined) {
      // Another queue of this lock may have replaced it since.
      if (this.#queues.get(lock) === queue) this.#queues.delete(lock);
    } else if (!queue.isLingering) {
      queue.isLingering = true;
      this.#requests.clock.setTimer(LINGER_MS, () => {
        queue.isLingering = false;
        if (queue.own.size > 0) return;
        queue.unwatch?.();
        queue.unwatch = undefined;
        this.tidy(queue);
      });
    }
  }

  close(): void {
    this.#alive.cancel();
    this.#deadlines.close();
  }
}

const KEEPS_ALIVE: Readonly<Record<EntryState, boolean>> = {
  requested: false,
  waiting: true,
  held: true,
  kept: false,
  released: false,
};
const GONE = 'its key in etcd was deleted, or its lease there has ended';
/** How long an entry is remembered whose release has failed. */
const FORGET_MS = 60_000;
const LINGER_MS = 1000;
const IGNORE = (): void => {};
