import type { AcquireResult } from '../../lock/index.ts';
import { entriesOf, isUnchanged } from './entry.ts';
import { DELETE, type KeyValue, NO_PUT, type TxnReply } from './etcd-messages.ts';
import { type EtcdRequests, RETRY_MS } from './etcd-requests.ts';
import type { LockQueue } from './lock-queue.ts';
import type { OwnEntries } from './own-entries.ts';
import { granted, type OwnEntry, QUEUED } from './own-entry.ts';
import type { SharedLease } from './shared-lease.ts';
import type { WatchStream } from './watch-stream.ts';

/** Watches the queues in which entries of this process wait, and grants the locks to those that are admitted. */
export class QueueWatcher {
  readonly #requests: EtcdRequests;
  readonly #entries: OwnEntries;
  readonly #watches: WatchStream;

  constructor(requests: EtcdRequests, entries: OwnEntries, watches: WatchStream) {
    this.#requests = requests;
    this.#entries = entries;
    this.#watches = watches;
    entries.onDeleted = (queue) => this.#serve(queue);
  }

  wait(own: OwnEntry): void {
    const { queue, lease } = own;
    this.#entries.setState(own, 'waiting');
    own.unschedule();
    queue.waiting.set(own.key, own);
    this.watch(queue);
    this.#keepAlive(lease!);
  }

  /** A lease with waiting entries is renewed here. Held entries are renewed by extend() of the store. */
  #keepAlive(lease: SharedLease): void {
    const isNeeded = (): boolean => {
      const waiting = this.#entries.waitingOn(lease);
      if (lease.isAbandoned) for (const own of waiting) this.#move(own);
      return !lease.isAbandoned && waiting.length > 0;
    };
    this.#requests.leases.keepAlive(lease, isNeeded, () => this.#entries.leaseEnded(lease));
  }

  #move(own: OwnEntry): void {
    this.#entries.move(own, this.#requests.clock.monotonicMs()).then(
      (isThere) => {
        if (!isThere) this.#entries.gone(own);
        else if (own.state === 'waiting') this.#keepAlive(own.lease!);
      },
      () => this.#entries.retry(own),
    );
  }

  /** Confirms the waiting entries of this process that are admitted. */
  #serve(queue: LockQueue<OwnEntry>): void {
    if (queue.waiting.size === 0) return;
    for (const { key } of queue.admitted()) {
      const own = queue.waiting.get(key);
      if (own === undefined || own.confirming !== undefined) continue;
      this.confirm(own).catch(() => this.#entries.retry(own));
    }
  }

  /** Grants the lock to a waiting entry that is admitted. The fence is the revision of this transaction. */
  confirm(own: OwnEntry): Promise<AcquireResult> {
    own.confirming ??= this.#sendConfirm(own).finally(() => {
      own.confirming = undefined;
      own.queue.requestEnded();
      this.#entries.tidy(own.queue);
    });
    return own.confirming;
  }

  async #sendConfirm(own: OwnEntry): Promise<AcquireResult> {
    own.queue.pendingCount++;
    const { clock } = this.#requests;
    const sentMs = clock.monotonicMs();
    const { modRevision, queue, waiter, request } = own;
    if (!(await this.confirmAt(own, modRevision, queue.syncedRevision, sentMs))) {
      // The queue was read again. Another turn: this confirmation is over by then.
      clock.defer(() => this.#serve(queue));
      return QUEUED;
    }
    const nowMs = clock.monotonicMs();
    // The lease was last renewed some time ago: the holder counts from then, and renews it at once.
    const startMs = Math.min(sentMs, own.lease!.aliveUntilMs - request.leaseMs);
    const sentWallMs = clock.wallMs() - (nowMs - startMs);
    const isReserved = startMs < sentMs;
    waiter?.notify({ type: 'granted', fence: own.fence, sentMs: startMs, sentWallMs, isReserved });
    return granted(own.fence);
  }

  /** False: the entry or the front has changed after these revisions. */
  async confirmAt(
    own: OwnEntry,
    modRevision: number,
    revision: number,
    sentMs: number,
  ): Promise<boolean> {
    const { queue, request } = own;
    const { leaseMs } = request;
    const isUsable = own.lease !== undefined && !own.lease.isAbandoned;
    const lease = isUsable ? own.lease! : await this.#requests.leases.of(leaseMs);
    const reply = await this.#requests.txn(
      {
        compare: [isUnchanged(own.key, modRevision), queue.keys.frontUnchangedSince(revision)],
        success: [this.#entries.put(own, lease)],
        failure: queue.keys.read(),
      },
      lease,
    );
    if (own.state === 'released') return false;
    if (!reply.succeeded) {
      this.#changed(own, reply);
      return false;
    }
    own.lease = lease;
    if (lease.aliveUntilMs < this.#requests.clock.monotonicMs() + leaseMs / 2) {
      await lease.ensure(sentMs + leaseMs);
      this.#entries.checkState(own);
    }
    this.#entries.hold(own, reply.header.revision, sentMs);
    return true;
  }

  #changed(own: OwnEntry, reply: TxnReply): void {
    const entries = entriesOf(reply.responses);
    const mine = entries.find(({ key }) => key === own.key);
    own.queue.merge(entries, reply.header.revision);
    // An earlier confirmation may have been executed, and its reply lost: confirm again.
    if (mine !== undefined) own.modRevision = mine.modRevision;
    else this.#entries.gone(own);
  }

  watch(queue: LockQueue<OwnEntry>, fromRevision?: number): void {
    if (queue.unwatch !== undefined) return;
    // Without a watch, the queue is out of date, unless it was just read.
    if (fromRevision !== undefined) queue.clear();
    const { first: key, end: rangeEnd } = queue.keys;
    const startRevision = fromRevision ?? queue.syncedRevision + 1;
    queue.unwatch = this.#watches.watch(
      { key, rangeEnd, startRevision, filter: NO_PUT },
      {
        changed: (events) => {
          // The filter leaves out puts. To take one for a deletion would grant the lock twice.
          for (const { type, kv } of events) if (type === DELETE) this.#keyDeleted(queue, kv);
          this.#serve(queue);
        },
        gap: () => this.#resync(queue),
      },
    );
  }

  #keyDeleted(queue: LockQueue<OwnEntry>, { key, modRevision: revision }: KeyValue): void {
    queue.delete(key, revision);
    const own = queue.own.get(key);
    if (own !== undefined && own.modRevision < revision) this.#entries.gone(own);
  }

  /** Events were lost: reads the whole queue and watches it from there. */
  #resync(queue: LockQueue<OwnEntry>): void {
    const { client, clock } = this.#requests;
    // When an earlier read has failed, a request may have begun another watch since.
    queue.unwatch?.();
    queue.unwatch = undefined;
    if (client.isClosed) return;
    if (queue.own.size === 0) {
      this.#entries.tidy(queue);
      return;
    }
    queue.pendingCount++;
    this.#requests
      .read(queue.keys)
      .then(
        ({ entries, revision }) => {
          queue.merge(entries, revision);
          this.watch(queue);
          const found = new Set(entries.map(({ key }) => key));
          for (const own of [...queue.own.values()]) {
            const isOlder = own.modRevision <= revision;
            if (isOlder && !found.has(own.key)) this.#entries.gone(own);
          }
          this.#serve(queue);
        },
        () => void clock.setTimer(RETRY_MS, () => this.#resync(queue)),
      )
      .finally(() => {
        queue.requestEnded();
        this.#entries.tidy(queue);
      });
  }
}
