import type { LockRequest } from '../../lock/index.ts';
import { isUnchanged } from './entry.ts';
import { type EtcdRequests, LockChangedError } from './etcd-requests.ts';
import type { OwnEntries } from './own-entries.ts';
import type { OwnEntry } from './own-entry.ts';
import type { QueueWatcher } from './queue-watcher.ts';
import { isLeaseEnded } from './shared-lease.ts';

/** Extends the leases of held entries. Methods return false if the entry does not exist any more. */
export class Renewals {
  readonly #requests: EtcdRequests;
  readonly #entries: OwnEntries;
  readonly #watcher: QueueWatcher;

  constructor(requests: EtcdRequests, entries: OwnEntries, watcher: QueueWatcher) {
    this.#requests = requests;
    this.#entries = entries;
    this.#watcher = watcher;
  }

  async extend(request: LockRequest): Promise<boolean> {
    const own = this.#entries.find(request);
    if (own?.state !== 'held') return false;
    const sentMs = this.#requests.clock.monotonicMs();
    const { lease } = own;
    const { leaseMs } = request;
    if (leaseMs > own.request.leaseMs) own.request = request;
    try {
      if (!(await this.#renew(own, leaseMs, sentMs))) {
        if (own.state === 'held') this.#entries.forget(own);
        return false;
      }
    } catch (error) {
      if (!isLeaseEnded(error)) throw error;
      if (lease !== undefined) this.#entries.leaseEnded(lease);
      return false;
    }
    if (own.state !== 'held') return false;
    if (sentMs + leaseMs > own.dueMs) this.#entries.endAfter(own, leaseMs, sentMs);
    // A lock that is held for long learns at once that its entry was deleted.
    this.#watcher.watch(own.queue, own.modRevision + 1);
    return true;
  }

  async #renew(own: OwnEntry, leaseMs: number, sentMs: number): Promise<boolean> {
    const { lease } = own;
    // Undefined: a repeated request has found its entry, and the connection ended before it could move it.
    const isUsable = lease !== undefined && !lease.isAbandoned && lease.ttlMs >= leaseMs;
    if (!isUsable) return this.#entries.move(own, sentMs);
    const read = this.#requests.readKey(own.key);
    const [kv] = await Promise.all([read, lease.ensure(sentMs + leaseMs)]);
    if (kv === undefined) return false;
    return kv.lease === lease.id || this.#entries.move(own, sentMs);
  }

  /** Puts the key with a lease of its own, which this process does not renew. */
  async keep(request: LockRequest): Promise<boolean> {
    const own = this.#entries.find(request);
    if (own?.state !== 'held' && own?.state !== 'kept') return false;
    const sentMs = this.#requests.clock.monotonicMs();
    const kv = await this.#requests.readKey(own.key);
    if (kv === undefined) return false;
    const lease = await this.#requests.leases.alone(request.leaseMs);
    const reply = await this.#requests.txn(
      {
        compare: [isUnchanged(own.key, kv.modRevision)],
        success: [this.#entries.put(own, lease, own.fence)],
        failure: [],
      },
      own.lease,
    );
    if (!reply.succeeded) throw new LockChangedError();
    this.#entries.setState(own, 'kept');
    own.lease = lease;
    own.modRevision = reply.header.revision;
    own.unwatch();
    this.#entries.endAfter(own, request.leaseMs, sentMs);
    return true;
  }
}
