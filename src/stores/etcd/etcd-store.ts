import { systemClock, systemRandom } from '../../clock/index.ts';
import {
  type AcquireResult,
  type Contention,
  type Duration,
  durationMs,
  type Inspection,
  type ListFilter,
  LockArgumentError,
  type LockListing,
  type LockRequest,
  type LockStore,
  type LockTarget,
  type Waiter,
} from '../../lock/index.ts';
import { Acquisitions } from './acquisitions.ts';
import { watchContention } from './contention-watch.ts';
import { admitted, entriesOf, isPresent } from './entry.ts';
import { EtcdClient } from './etcd-client.ts';
import { type EtcdTls, parseEndpoints } from './etcd-endpoints.ts';
import { holderOf, listLocks, shown } from './etcd-list.ts';
import type { TxnReply } from './etcd-messages.ts';
import { EtcdRequests } from './etcd-requests.ts';
import { OwnEntries } from './own-entries.ts';
import { granted } from './own-entry.ts';
import { QueueWatcher } from './queue-watcher.ts';
import { Renewals } from './renewals.ts';
import { Takeovers } from './takeovers.ts';
import { WatchStream } from './watch-stream.ts';

/**
 * Locks in etcd 3.4 or later. The store connects to one member at a time, and to the next one when that member fails.
 * Its requests are linearizable: two clients never hold a lock at the same time while no process is paused. The fence is
 * the revision of etcd at the grant.
 *
 * @throws LockArgumentError for a wrong address or option.
 * @example
 * const locks = createLocks({ store: etcdStore('etcd://a:2379,b:2379,c:2379') });
 */
export function etcdStore(
  endpoints: string | readonly string[],
  options: EtcdStoreOptions = {},
): LockStore {
  checkOptions(options);
  const { tls, prefix = 'holdfast/', requestTimeout = '5s' } = options;
  const parsed = parseEndpoints(endpoints, tls);
  const { user = parsed.user, password = parsed.password } = options;
  const requestTimeoutMs = durationMs(requestTimeout, 'requestTimeout', '', { leastMs: 1 });
  const login = { endpoints: parsed.endpoints, user, password, tls };
  const client = new EtcdClient({ clock: systemClock, requestTimeoutMs, ...login });
  const probeKey = `${prefix}mutex/`;
  return new EtcdStore(new EtcdRequests(client, systemClock, systemRandom, probeKey), prefix);
}

export interface EtcdStoreOptions {
  /** The user of etcd. Default: the one of the address, or none. */
  readonly user?: string;
  readonly password?: string;
  /** The CA, certificate and key for TLS. Default: the CAs of the system, for `etcds://` and `https://`. */
  readonly tls?: EtcdTls;
  /** Put before all keys. Default `holdfast/`. */
  readonly prefix?: string;
  /** How long one request may take, with its attempts at other members. Default 5 s. */
  readonly requestTimeout?: Duration;
}

const OPTIONS = ['user', 'password', 'tls', 'prefix', 'requestTimeout'];

function checkOptions(options: EtcdStoreOptions): void {
  for (const name in options) {
    if (OPTIONS.includes(name)) continue;
    const known = OPTIONS.join(', ');
    throw new LockArgumentError('', `etcdStore does not know '${name}'. Its options are ${known}.`);
  }
  for (const name of ['user', 'password', 'prefix'] as const) {
    const value = options[name];
    if (value === undefined || (typeof value === 'string' && value.isWellFormed())) continue;
    throw new LockArgumentError('', `${name} of etcdStore must be a string of whole characters`);
  }
}

/** Each request has one entry, a key of etcd: see Entry. The entries of one process share leases of etcd: see SharedLease. */
class EtcdStore implements LockStore {
  readonly connected: Promise<void>;
  readonly #prefix: string;
  readonly #requests: EtcdRequests;
  readonly #entries: OwnEntries;
  readonly #watches: WatchStream;
  readonly #renewals: Renewals;
  readonly #acquisitions: Acquisitions;
  readonly #takeovers: Takeovers;

  constructor(requests: EtcdRequests, prefix: string) {
    const { client, clock } = requests;
    const entries = new OwnEntries(requests, prefix);
    const watches = new WatchStream(client, clock);
    const watcher = new QueueWatcher(requests, entries, watches);
    this.connected = client.connected;
    this.#prefix = prefix;
    this.#requests = requests;
    this.#entries = entries;
    this.#watches = watches;
    this.#renewals = new Renewals(requests, entries, watcher);
    this.#acquisitions = new Acquisitions(requests, entries, watcher);
    this.#takeovers = new Takeovers(requests, entries, this.#renewals);
  }

  async acquire(request: LockRequest, waiter?: Waiter): Promise<AcquireResult> {
    const sentMs = this.#requests.clock.monotonicMs();
    const known = this.#entries.find(request);
    await known?.confirming;
    if (known?.state === 'held' && (await this.extend(request))) return granted(known.fence);
    if (request.stealReason !== undefined) return this.#takeovers.steal(request, sentMs);
    if (waiter === undefined) return this.#acquisitions.tryOnce(request, sentMs);
    return this.#acquisitions.enqueue(request, waiter, sentMs);
  }

  acquireAll(
    requests: readonly LockRequest[],
    minFence: number,
  ): Promise<AcquireResult | undefined> {
    return this.#acquisitions.acquireAll(requests, minFence);
  }

  adopt(request: LockRequest, from: LockRequest): Promise<AcquireResult> {
    return this.#takeovers.adopt(request, from);
  }

  extend(request: LockRequest): Promise<boolean> {
    return this.#renewals.extend(request);
  }

  keep(request: LockRequest): Promise<boolean> {
    return this.#renewals.keep(request);
  }

  async release(request: LockRequest, fence?: number): Promise<boolean> {
    const own = this.#entries.find(request);
    const keys = this.#entries.keysOf(request);
    // Without an entry in this process there is none in etcd, or one that ends with its lease: only read the lock.
    const key = own?.key ?? keys.none;
    if (own !== undefined) this.#entries.leave(own);
    const reply = await this.#requests.txn(
      {
        compare: [isPresent(key)],
        success: [{ delete: { key } }],
        failure: [...keys.readFirst(1), { range: { key: keys.forced } }],
      },
      own?.lease,
    );
    if (own !== undefined) this.#entries.deleted(own, reply.header.revision);
    if (reply.succeeded) return own !== undefined && own.fence > 0;
    return fence !== undefined && !wasGrantedSince(reply, fence);
  }

  forceRelease(target: LockTarget): Promise<number> {
    return this.#takeovers.forceRelease(target);
  }

  async inspect(target: LockTarget): Promise<Inspection> {
    const { entries } = await this.#requests.read(this.#entries.keysOf(target));
    return shown(this.#requests.client, this.#requests.clock, entries);
  }

  list(filter: ListFilter): Promise<LockListing> {
    return listLocks(this.#requests.client, this.#requests.clock, this.#prefix, filter);
  }

  /** The place is that in the queue as this process knows it. */
  async contention(request: LockRequest): Promise<Contention> {
    const own = this.#entries.find(request);
    const success = this.#entries.keysOf(request).readFirst(MAX_SHOWN);
    const reply = await this.#requests.txn({ compare: [], success, failure: [] });
    const holders = admitted(entriesOf(reply.responses)).slice(0, MAX_SHOWN);
    const wallMs = this.#requests.clock.wallMs();
    return {
      holders: holders.map((entry) => holderOf(entry, entry.leaseMs, wallMs)),
      place: own?.state === 'waiting' ? own.queue.placeOf(own.key) : undefined,
    };
  }

  onLost(listener: (reason: Error, owner?: string) => void): void {
    this.#entries.onLost = listener;
  }

  watch(request: LockRequest, onContended: () => void): void {
    const own = this.#entries.find(request);
    if (own?.state !== 'held') return;
    own.unwatch();
    own.unwatch = watchContention(own.queue.keys, this.#requests, this.#watches, onContended);
  }

  unwatch(request: LockRequest): void {
    this.#entries.find(request)?.unwatch();
  }

  /** The locks that are still held end with their leases. */
  async close(): Promise<void> {
    if (this.#requests.client.isClosed) return;
    this.#watches.close();
    this.#entries.close();
    this.#requests.close();
  }
}

/** Maximum number of holders that a LockTimeoutError names. */
const MAX_SHOWN = 10;

/** Whether a holder has a larger fence, or a forced release came later. */
function wasGrantedSince(reply: TxnReply, fence: number): boolean {
  const [head] = entriesOf(reply.responses.slice(0, 2));
  const mark = reply.responses[2]?.range?.kvs[0];
  return (head?.fence ?? 0) > fence || (mark?.modRevision ?? 0) > fence;
}
