import { Batcher } from '../../client/index.ts';
import { type Clock, type Random, systemClock, systemRandom } from '../../clock/index.ts';
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
  otherSlots,
  StolenError,
  TimerQueues,
  type Waiter,
} from '../../lock/index.ts';
import {
  admitted,
  byPlace,
  type Entry,
  entryOf,
  isAbsent,
  isPresent,
  isUnchanged,
  LockKeys,
  storedValue,
} from './entry.ts';
import { EtcdClient } from './etcd-client.ts';
import { type EtcdTls, parseEndpoints } from './etcd-endpoints.ts';
import { holderOf, listLocks, shown } from './etcd-list.ts';
import {
  DELETE,
  type KeyValue,
  NO_DELETE,
  NO_PUT,
  type Operation,
  TXN,
  type TxnReply,
  type TxnRequest,
} from './etcd-messages.ts';
import { LockQueue } from './lock-queue.ts';
import { OwnEntry } from './own-entry.ts';
import { isLeaseEnded, type SharedLease, SharedLeases } from './shared-lease.ts';
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
  return new EtcdStore(client, systemClock, systemRandom, prefix);
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

/**
 * Each request has one entry, a key of etcd: see Entry. The entries of one process share leases of etcd: see
 * SharedLease. The process ends an entry whose lease is over by its own clock; when the process dies, etcd ends all its
 * entries.
 *
 * Every request can be sent again: this process knows the key of each owner, and an entry names its owner. A write to
 * an existing key compares its mod revision, so that a write that etcd executes late cannot undo a later one. After a
 * request whose outcome is unknown, the lease is abandoned, so that an entry that it creates late ends with that lease;
 * and later entries have other keys, so that a late deletion does not end one of them.
 */
class EtcdStore implements LockStore {
  readonly connected: Promise<void>;
  readonly #client: EtcdClient;
  readonly #clock: Clock;
  readonly #prefix: string;
  readonly #leases: SharedLeases;
  readonly #watches: WatchStream;
  readonly #reads: Batcher<PendingRead>;
  /** By id. */
  readonly #own = new Map<string, OwnEntry>();
  readonly #deadlines: TimerQueues<OwnEntry>;
  /** By the key of the lock. */
  readonly #queues = new Map<string, LockQueue<OwnEntry>>();
  /** Ends the watches for `lease.contended`, by the id of the entry. */
  readonly #contended = new Map<string, () => void>();
  #onLost: (reason: Error, owner?: string) => void = IGNORE;
  readonly #clientId: string;
  /** How many requests had an unknown outcome. Part of the keys of later entries. */
  #doubtCount = 0;

  constructor(client: EtcdClient, clock: Clock, random: Random, prefix: string) {
    this.connected = client.connected;
    this.#client = client;
    this.#clock = clock;
    this.#prefix = prefix;
    this.#clientId = Buffer.from(random.bytes(12)).toString('base64url');
    this.#leases = new SharedLeases(client, clock, random, `${prefix}mutex/`);
    this.#watches = new WatchStream(client, clock);
    this.#reads = new Batcher(MAX_READS, (batch) => this.#sendReads(batch));
    this.#deadlines = new TimerQueues(clock, (own) => this.#due(own));
  }

  async acquire(request: LockRequest, waiter?: Waiter): Promise<AcquireResult> {
    const sentMs = this.#clock.monotonicMs();
    const known = this.#find(request);
    await known?.confirming;
    if (known?.state === 'held' && (await this.extend(request))) return granted(known.fence);
    if (request.stealReason !== undefined) return this.#steal(request, sentMs);
    return waiter ? this.#enqueue(request, waiter, sentMs) : this.#tryOnce(request, sentMs);
  }

  async #enqueue(request: LockRequest, waiter: Waiter, sentMs: number): Promise<AcquireResult> {
    const known = this.#find(request);
    const own = known ?? this.#newEntry(request);
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
      this.#tidy(queue);
    }
  }

  /** Puts the entry and reads the queue, in one transaction; in two, if other entries of this process share the read. */
  async #enter(own: OwnEntry, isPartial: boolean, sentMs: number): Promise<AcquireResult> {
    const { queue } = own;
    const { keys } = queue;
    const { reply, lease } = await this.#write(own.request, sentMs, (lease) => {
      const put = this.#put(own, lease);
      const success = isPartial ? [put] : [put, ...keys.read()];
      const enter = { compare: [isAbsent(own.key)], success, failure: keys.read() };
      if (isPartial) return enter;
      // A lock without entries is not read.
      return { compare: [keys.unchangedSince(0)], success: [put], failure: [{ txn: enter }] };
    });
    const { revision } = reply.header;
    own.lease = lease;
    own.modRevision = revision;
    this.#checkState(own);
    if (!isPartial && reply.succeeded) return this.#hold(own, revision, sentMs);
    const { succeeded, responses } = reply.responses[0]?.txn ?? reply;
    const entries = entriesOf(responses);
    const mine = entries.find(({ key }) => key === own.key);
    const isFull = !isPartial || !succeeded;
    if (!succeeded) own.modRevision = mine?.modRevision ?? 0;
    if (mine !== undefined && mine.owner !== own.request.owner) throw this.#occupied(own);
    if (isFull) queue.merge(entries, revision);
    else await this.#readNew(queue, revision);
    this.#checkState(own);
    this.#checkSlots(own, isFull ? entries : queue.admitted());
    if (queue.isLong) this.#watchQueue(queue);
    // The fence is larger than all before only if the transaction that put the entry saw all entries.
    const isGranted = succeeded && isFull && isAdmitted(entries, own.key);
    if (isGranted) return this.#hold(own, revision, sentMs);
    this.#wait(own);
    // Deleted before this process could know it.
    if (!queue.has(own.key)) this.#entryGone(own);
    else if (mine !== undefined && mine.lease !== lease.id) await this.#move(own, sentMs);
    return isAdmitted(queue.admitted(), own.key) ? this.#confirm(own) : QUEUED;
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
    const reply = await this.#txn({ compare: [], success, failure: [] });
    queue.merge(entriesOf(reply.responses), reply.header.revision, from);
  }

  /** Puts the entry only if it is admitted at once. Otherwise it reads the queue, and sees whether another attempt is. */
  async #tryOnce(request: LockRequest, sentMs: number): Promise<AcquireResult> {
    const known = this.#find(request);
    if (known?.state === 'waiting') return QUEUED;
    const own = known ?? this.#newEntry(request);
    const { keys } = own.queue;
    let revision = 0;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { reply, lease } = await this.#write(request, sentMs, (lease) => ({
        compare: [keys.unchangedSince(revision)],
        success: [this.#put(own, lease)],
        failure: request.slots === 1 ? keys.readFirst(1) : keys.read(),
      }));
      own.lease = lease;
      revision = reply.header.revision;
      if (reply.succeeded) own.modRevision = revision;
      this.#checkState(own);
      if (reply.succeeded) return this.#hold(own, revision, sentMs);
      const entries = entriesOf(reply.responses);
      this.#checkSlots(own, entries);
      const mine = entries.find(({ owner }) => owner === request.owner);
      if (mine !== undefined && mine.key === own.key) {
        // An earlier attempt was executed, and its reply was lost.
        const isConfirmed = await this.#confirmAt(own, mine.modRevision, revision, sentMs);
        if (isConfirmed) return granted(own.fence);
      } else if (!fits(request, entries)) {
        this.#forget(own);
        return { type: 'busy', retryInMs: shortestMs(entries) };
      }
    }
    this.#forget(own);
    return { type: 'busy', retryInMs: 0 };
  }

  async acquireAll(
    requests: readonly LockRequest[],
    minFence: number,
  ): Promise<AcquireResult | undefined> {
    if (requests.length > MAX_GROUP) return undefined;
    const sentMs = this.#clock.monotonicMs();
    const keys = requests.map((request) => this.#keysOf(request));
    const readHeads = keys.flatMap((each) => each.readFirst(1));
    const headsOf = (reply: TxnReply): (Entry | undefined)[] =>
      keys.map((_, index) => entriesOf(reply.responses.slice(2 * index, 2 * index + 2))[0]);
    let revision = 0;
    let heads: readonly (Entry | undefined)[] = keys.map(() => undefined);
    if (minFence > 0) {
      const reply = await this.#txn({ compare: [], success: readHeads, failure: [] });
      revision = reply.header.revision;
      heads = headsOf(reply);
    }
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const isBusy = heads.some((head, index) => head && head.owner !== requests[index]!.owner);
      if (isBusy) break;
      const fence = raisedFence(heads, minFence, revision);
      const owns = requests.map((request, index) => this.#entryAt(request, heads[index]));
      const { reply, lease } = await this.#write(requests[0]!, sentMs, (lease) => ({
        compare: keys.map((each, index) => {
          const head = heads[index];
          return head === undefined
            ? each.unchangedSince(revision)
            : isUnchanged(head.key, head.modRevision);
        }),
        success: owns.map((own) => this.#put(own, lease, fence)),
        failure: readHeads,
      }));
      revision = reply.header.revision;
      if (reply.succeeded) {
        for (const own of owns) {
          own.lease = lease;
          this.#hold(own, revision, sentMs, fence);
        }
        return granted(fence ?? revision);
      }
      for (const own of owns) if (own.state === 'requested') this.#forget(own);
      heads = headsOf(reply);
    }
    return { type: 'busy', retryInMs: 0 };
  }

  /** Replaces the entry of the giver by one with the same place, so that the waiters stay behind it. */
  async adopt(request: LockRequest, from: LockRequest): Promise<AcquireResult> {
    const sentMs = this.#clock.monotonicMs();
    const keys = this.#keysOf(request);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { entries, revision } = await this.#read(keys);
      const held = admitted(entries);
      const mine = held.find(({ owner }) => owner === request.owner);
      if (mine !== undefined) return this.#adopted(request, mine, sentMs);
      const giver = held.find(({ owner }) => owner === from.owner);
      if (giver === undefined) break;
      const own = this.#newEntry({ ...request, permits: giver.permits }, giver.place);
      const { reply, lease } = await this.#write(request, sentMs, (lease) => ({
        compare: [isUnchanged(giver.key, giver.modRevision), keys.frontUnchangedSince(revision)],
        success: [{ delete: { key: giver.key } }, this.#put(own, lease)],
        failure: [],
      }));
      if (reply.succeeded) {
        own.lease = lease;
        this.#dropOwn(giver, keys);
        return this.#hold(own, reply.header.revision, sentMs);
      }
      this.#forget(own);
    }
    return { type: 'busy', retryInMs: 0 };
  }

  /** The request is repeated: its entry has taken the place of another already. */
  async #adopted(request: LockRequest, mine: Entry, sentMs: number): Promise<AcquireResult> {
    const own = this.#entryAt(request, mine);
    const isHeld = own.state === 'held';
    if (!isHeld) this.#hold(own, mine.modRevision, sentMs, mine.fence);
    const isThere = await (isHeld ? this.extend(request) : this.#move(own, sentMs));
    return isThere ? granted(own.fence) : { type: 'busy', retryInMs: 0 };
  }

  /** Deletes the admitted entries and takes the place of the first one. */
  async #steal(request: LockRequest, sentMs: number): Promise<AcquireResult> {
    const keys = this.#keysOf(request);
    const reason = new StolenError(request.info, request.stealReason!);
    const markLease = await this.#leases.of(MARK_MS);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const { entries, revision } = await this.#read(keys);
      const held = admitted(entries);
      const mine = held.find(({ owner }) => owner === request.owner);
      if (mine !== undefined) return this.#adopted(request, mine, sentMs);
      const [waiter] = entries.slice(held.length);
      if (waiter !== undefined && waiter.slots !== request.slots) {
        throw otherSlots(request.name, waiter.slots, request.slots);
      }
      if (held.length > MAX_DELETES) {
        await this.#deleteEntries(held.slice(0, MAX_DELETES), keys);
        continue;
      }
      const own = this.#newEntry(request, held[0]?.place ?? revision);
      const { reply, lease } = await this.#write(request, sentMs, (lease) => ({
        // Not only those entries: another one that was admitted and confirmed since must not be passed over.
        compare: [keys.unchangedSince(revision)],
        success: [
          ...held.map(({ key }) => ({ delete: { key } })),
          this.#put(own, lease),
          { put: { key: keys.forced, value: '', lease: markLease.id } },
        ],
        failure: [],
      }));
      if (reply.succeeded) {
        own.lease = lease;
        for (const entry of held) this.#dropOwn(entry, keys, reason);
        return this.#hold(own, reply.header.revision, sentMs);
      }
      this.#forget(own);
    }
    throw new Error(CHANGED);
  }

  async extend(request: LockRequest): Promise<boolean> {
    const own = this.#find(request);
    if (own?.state !== 'held') return false;
    const sentMs = this.#clock.monotonicMs();
    const { lease } = own;
    if (request.leaseMs > own.request.leaseMs) own.request = request;
    try {
      if (!(await this.#renew(own, request.leaseMs, sentMs))) {
        if (own.state === 'held') this.#forget(own);
        return false;
      }
    } catch (error) {
      if (!isLeaseEnded(error)) throw error;
      this.#leaseEnded(lease!);
      return false;
    }
    if (own.state !== 'held') return false;
    const { leaseMs } = request;
    if (sentMs + leaseMs > own.dueMs) this.#deadlines.add(own, leaseMs, sentMs);
    // A lock that is held for long learns at once that its entry was deleted.
    this.#watchQueue(own.queue, own.modRevision + 1);
    return true;
  }

  /** False: the key does not exist any more. */
  async #renew(own: OwnEntry, leaseMs: number, sentMs: number): Promise<boolean> {
    const lease = own.lease!;
    if (lease.isAbandoned || lease.ttlMs < leaseMs) return this.#move(own, sentMs);
    const [kv] = await Promise.all([this.#readKey(own.key), lease.ensure(sentMs + leaseMs)]);
    if (kv === undefined) return false;
    return kv.lease === lease.id || this.#move(own, sentMs);
  }

  /** Puts the key with another lease. The value keeps the fence. */
  async #move(own: OwnEntry, sentMs: number): Promise<boolean> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const kv = await this.#readKey(own.key);
      if (kv === undefined) return false;
      const { reply, lease } = await this.#write(own.request, sentMs, (lease) => ({
        compare: [isUnchanged(own.key, kv.modRevision)],
        success: [this.#put(own, lease, own.fence || undefined)],
        failure: [],
      }));
      if (!reply.succeeded) continue;
      own.lease = lease;
      own.modRevision = reply.header.revision;
      if (own.state !== 'released') return true;
      // Its lease ended, or it was released, before this reply: that deletion may have compared the revision before.
      this.#remove(own);
      return false;
    }
    throw new Error(CHANGED);
  }

  /** Puts the key with a lease of its own, which this process does not renew. */
  async keep(request: LockRequest): Promise<boolean> {
    const own = this.#find(request);
    if (own?.state !== 'held' && own?.state !== 'kept') return false;
    const sentMs = this.#clock.monotonicMs();
    const kv = await this.#readKey(own.key);
    if (kv === undefined) return false;
    const lease = await this.#leases.alone(request.leaseMs);
    const reply = await this.#txn(
      {
        compare: [isUnchanged(own.key, kv.modRevision)],
        success: [this.#put(own, lease, own.fence)],
        failure: [],
      },
      own.lease,
    );
    if (!reply.succeeded) throw new Error(CHANGED);
    own.state = 'kept';
    own.lease = lease;
    own.modRevision = reply.header.revision;
    this.#deadlines.add(own, request.leaseMs, sentMs);
    return true;
  }

  async release(request: LockRequest, fence?: number): Promise<boolean> {
    const own = this.#find(request);
    const keys = this.#keysOf(request);
    // Without an entry in this process there is none in etcd, or one that ends with its lease: only read the lock.
    const key = own?.key ?? keys.none;
    if (own !== undefined) this.#leave(own);
    const reply = await this.#txn(
      {
        compare: [isPresent(key)],
        success: [{ delete: { key } }],
        failure: [...keys.readFirst(1), { range: { key: keys.forced } }],
      },
      own?.lease,
    );
    if (own !== undefined) this.#deleted(own, reply.header.revision);
    if (reply.succeeded) return own !== undefined && own.fence > 0;
    return fence !== undefined && !wasGrantedSince(reply, fence);
  }

  async forceRelease(target: LockTarget): Promise<number> {
    const keys = this.#keysOf(target);
    const { id: lease } = await this.#leases.of(MARK_MS);
    const mark = { put: { key: keys.forced, value: '', lease } };
    let count = 0;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const held = admitted((await this.#read(keys)).entries);
      const deleted = await this.#deleteEntries(held.slice(0, MAX_DELETES), keys, mark);
      if (deleted) count += Math.min(held.length, MAX_DELETES);
      if (deleted && held.length <= MAX_DELETES) return count;
    }
    throw new Error(CHANGED);
  }

  /** Ends leases, unless one of the entries has changed. */
  async #deleteEntries(
    entries: readonly Entry[],
    keys: LockKeys,
    ...others: readonly Operation[]
  ): Promise<boolean> {
    if (entries.length === 0) return true;
    const { succeeded } = await this.#txn({
      compare: entries.map(({ key, modRevision }) => isUnchanged(key, modRevision)),
      success: [...entries.map(({ key }) => ({ delete: { key } })), ...others],
      failure: [],
    });
    if (succeeded) for (const entry of entries) this.#dropOwn(entry, keys, new Error(FORCED));
    return succeeded;
  }

  async inspect(target: LockTarget): Promise<Inspection> {
    const { entries } = await this.#read(this.#keysOf(target));
    return shown(this.#client, this.#clock, entries);
  }

  list(filter: ListFilter): Promise<LockListing> {
    return listLocks(this.#client, this.#clock, this.#prefix, filter);
  }

  /** The place is that in the queue as this process knows it. */
  async contention(request: LockRequest): Promise<Contention> {
    const own = this.#find(request);
    const keys = this.#keysOf(request);
    const reply = await this.#txn({ compare: [], success: keys.readFirst(MAX_SHOWN), failure: [] });
    const holders = admitted(entriesOf(reply.responses)).slice(0, MAX_SHOWN);
    return {
      holders: holders.map((entry) => holderOf(entry, entry.leaseMs, this.#clock.wallMs())),
      place: own?.state === 'waiting' ? own.queue.placeOf(own.key) : undefined,
    };
  }

  onLost(listener: (reason: Error, owner?: string) => void): void {
    this.#onLost = listener;
  }

  watch(request: LockRequest, onContended: () => void): void {
    const own = this.#find(request);
    if (own?.state !== 'held') return;
    let stop = IGNORE;
    this.#contended.set(own.id, () => {
      this.#contended.delete(own.id);
      stop();
    });
    const isOver = (): boolean => own.state !== 'held' || !this.#contended.has(own.id);
    const check = async (): Promise<void> => {
      const { entries, revision } = await this.#read(own.queue.keys);
      if (isOver()) return;
      if (entries.length > admitted(entries).length) {
        this.#contended.get(own.id)?.();
        onContended();
        return;
      }
      const { first: key, end: rangeEnd } = own.queue.keys;
      const range = { key, rangeEnd, startRevision: revision + 1, filter: NO_DELETE };
      const again = (): void => {
        stop();
        retry();
      };
      stop = this.#watches.watch(range, { changed: again, gap: again });
    };
    const retry = (): void => {
      check().catch(() => {
        if (!isOver() && !this.#client.isClosed) this.#clock.setTimer(RETRY_MS, retry);
      });
    };
    retry();
  }

  unwatch(request: LockRequest): void {
    this.#contended.get(this.#keysOf(request).idOf(request.owner))?.();
  }

  /** The locks that are still held end with their leases. */
  async close(): Promise<void> {
    if (this.#client.isClosed) return;
    this.#watches.close();
    this.#leases.close();
    this.#deadlines.close();
    this.#client.close();
  }

  #keysOf(target: LockTarget): LockKeys {
    return new LockKeys(this.#prefix, target);
  }

  #find(request: LockRequest): OwnEntry | undefined {
    return this.#own.get(this.#keysOf(request).idOf(request.owner));
  }

  #newEntry(request: LockRequest, place?: number): OwnEntry {
    const queue = this.#queueOf(request);
    const slot = queue.takeSlot(`${this.#clientId}.${this.#doubtCount.toString(36)}.`);
    const key = place === undefined ? queue.keys.inQueue(slot) : queue.keys.inFront(slot);
    return this.#register(new OwnEntry(request, queue, key, place));
  }

  /** The own entry of a key that is in etcd already. Undefined: a new one. */
  #entryAt(request: LockRequest, entry: Entry | undefined): OwnEntry {
    const known = this.#find(request);
    if (entry === undefined) return known ?? this.#newEntry(request);
    if (known?.key === entry.key) return known;
    if (known !== undefined) this.#forget(known);
    const place = entry.place === entry.createRevision ? undefined : entry.place;
    return this.#register(new OwnEntry(request, this.#queueOf(request), entry.key, place));
  }

  #queueOf(request: LockRequest): LockQueue<OwnEntry> {
    const keys = this.#keysOf(request);
    const known = this.#queues.get(keys.lock);
    if (known !== undefined) return known;
    const queue = new LockQueue<OwnEntry>(keys);
    this.#queues.set(keys.lock, queue);
    return queue;
  }

  #register(own: OwnEntry): OwnEntry {
    this.#own.set(own.id, own);
    own.queue.own.set(own.key, own);
    this.#deadlines.add(own, FORGET_MS, this.#clock.monotonicMs());
    return own;
  }

  #put(own: OwnEntry, lease: SharedLease, fence?: number): Operation {
    const { key, request, place } = own;
    const value = storedValue(request, { at: this.#clock.wallMs(), place, fence });
    return { put: { key, value, lease: lease.id } };
  }

  /** Sends a transaction, and renews the lease at the same time if necessary. On a lease that has ended, sends it again. */
  async #write(
    { leaseMs }: LockRequest,
    sentMs: number,
    build: (lease: SharedLease) => TxnRequest,
  ): Promise<{ readonly reply: TxnReply; readonly lease: SharedLease }> {
    for (let attempt = 0; ; attempt++) {
      const lease = await this.#leases.of(leaseMs);
      try {
        const [reply] = await Promise.all([
          this.#client.call(TXN, build(lease), () => this.#doubt(lease)),
          lease.ensure(sentMs + leaseMs),
        ]);
        return { reply, lease };
      } catch (error) {
        const isEnded = isLeaseEnded(error);
        if (isEnded) this.#leaseEnded(lease);
        else this.#doubt(lease);
        if (!isEnded || attempt > 0) throw error;
      }
    }
  }

  /** Sends a transaction about a key with this lease. If it fails, the key ends with the lease. */
  async #txn(request: TxnRequest, lease?: SharedLease): Promise<TxnReply> {
    try {
      return await this.#client.call(TXN, request, () => lease && this.#doubt(lease));
    } catch (error) {
      if (lease !== undefined) this.#doubt(lease);
      throw error;
    }
  }

  /** The outcome of a request about a key with this lease is not known: etcd may still execute it. */
  #doubt(lease: SharedLease | undefined): void {
    this.#doubtCount++;
    lease?.abandon();
  }

  async #read(keys: LockKeys): Promise<{ readonly entries: Entry[]; readonly revision: number }> {
    const reply = await this.#txn({ compare: [], success: keys.read(), failure: [] });
    return { entries: entriesOf(reply.responses), revision: reply.header.revision };
  }

  /** Keys that are read in one turn, such as for renewals, are read in one request. */
  #readKey(key: string): Promise<KeyValue | undefined> {
    return new Promise((resolve, reject) => this.#reads.add(0, [{ key, resolve, reject }]));
  }

  #sendReads(batch: readonly PendingRead[]): void {
    const success = batch.map(({ key }) => ({ range: { key } }));
    this.#txn({ compare: [], success, failure: [] }).then(
      ({ responses }) => {
        for (const [index, { resolve }] of batch.entries()) {
          resolve(responses[index]?.range?.kvs[0]);
        }
      },
      (error: unknown) => {
        for (const { reject } of batch) reject(error);
      },
    );
  }

  /** The key belongs to an earlier entry, which ends with its lease: use another key. */
  #occupied(own: OwnEntry): Error {
    this.#doubt(own.lease);
    this.#forget(own);
    return new Error(CHANGED);
  }

  /** The request was released, or its entry deleted, while a request that may have put the entry was under way. */
  #checkState(own: OwnEntry): void {
    if (own.state !== 'released') return;
    this.#doubt(own.lease);
    this.#remove(own);
    throw new Error(CHANGED);
  }

  /**
   * Deletes the entry in the background. If that fails, the entry ends with its lease. Compares the revision: the entry
   * may be deleted already, and a later request may use its key.
   */
  #remove(own: OwnEntry): void {
    const { key, lease, modRevision } = own;
    const compare = [isUnchanged(key, modRevision)];
    this.#txn({ compare, success: [{ delete: { key } }], failure: [] }, lease).then(
      ({ succeeded, header }) => {
        if (succeeded) this.#deleted(own, header.revision);
        else this.#forget(own);
      },
      () => this.#forget(own),
    );
  }

  /** The first entry decides how many slots the lock has. An entry with another number is removed. */
  #checkSlots(own: OwnEntry, entries: readonly Entry[]): void {
    const first = entries.find(({ key }) => key !== own.key);
    const { name, slots } = own.request;
    const isBehind = first !== undefined && entries[0] === first;
    if (!isBehind || first.slots === slots) return;
    this.#leave(own);
    this.#remove(own);
    throw otherSlots(name, first.slots, slots);
  }

  #hold(own: OwnEntry, revision: number, sentMs: number, fence = revision): AcquireResult {
    own.state = 'held';
    own.fence = fence;
    own.modRevision = revision;
    own.queue.waiting.delete(own.key);
    this.#deadlines.add(own, own.request.leaseMs, sentMs);
    return granted(fence);
  }

  #wait(own: OwnEntry): void {
    const { queue, lease } = own;
    own.state = 'waiting';
    own.unschedule();
    queue.waiting.set(own.key, own);
    this.#watchQueue(queue);
    this.#keepAlive(lease!);
  }

  /** A lease with waiting entries is renewed by this store. Held entries are renewed by extend(). */
  #keepAlive(lease: SharedLease): void {
    const waiting = (): OwnEntry[] =>
      [...this.#own.values()].filter((own) => own.lease === lease && own.state === 'waiting');
    const isNeeded = (): boolean => {
      if (lease.isAbandoned) for (const own of waiting()) this.#moveWaiting(own);
      return !lease.isAbandoned && waiting().length > 0;
    };
    this.#leases.keepAlive(lease, isNeeded, () => this.#leaseEnded(lease));
  }

  #moveWaiting(own: OwnEntry): void {
    this.#move(own, this.#clock.monotonicMs()).then(
      (isThere) => {
        if (!isThere) this.#entryGone(own);
        else if (own.state === 'waiting') this.#keepAlive(own.lease!);
      },
      () => this.#retry(own),
    );
  }

  /** Makes the waiter send its request again. */
  #retry(own: OwnEntry): void {
    if (!this.#client.isClosed) own.waiter?.notify({ type: 'retry' });
  }

  /** Confirms the waiting entries of this process that are admitted. */
  #serve(queue: LockQueue<OwnEntry>): void {
    if (queue.waiting.size === 0) return;
    for (const { key } of queue.admitted()) {
      const own = queue.waiting.get(key);
      if (own === undefined || own.confirming !== undefined) continue;
      this.#confirm(own).catch(() => this.#retry(own));
    }
  }

  /** Grants the lock to a waiting entry that is admitted. The fence is the revision of this transaction. */
  #confirm(own: OwnEntry): Promise<AcquireResult> {
    own.confirming ??= this.#sendConfirm(own).finally(() => {
      own.confirming = undefined;
      own.queue.requestEnded();
      this.#tidy(own.queue);
    });
    return own.confirming;
  }

  async #sendConfirm(own: OwnEntry): Promise<AcquireResult> {
    own.queue.pendingCount++;
    const sentMs = this.#clock.monotonicMs();
    const { modRevision, queue, waiter, request } = own;
    if (!(await this.#confirmAt(own, modRevision, queue.syncedRevision, sentMs))) {
      // The queue was read again. Another turn: this confirmation is over by then.
      this.#clock.defer(() => this.#serve(queue));
      return QUEUED;
    }
    const nowMs = this.#clock.monotonicMs();
    // The lease was last renewed some time ago: the holder counts from then, and renews it at once.
    const startMs = Math.min(sentMs, own.lease!.aliveUntilMs - request.leaseMs);
    const sentWallMs = this.#clock.wallMs() - (nowMs - startMs);
    const isReserved = startMs < sentMs;
    waiter?.notify({ type: 'granted', fence: own.fence, sentMs: startMs, sentWallMs, isReserved });
    return granted(own.fence);
  }

  /** False: the entry or the front has changed after these revisions. */
  async #confirmAt(
    own: OwnEntry,
    modRevision: number,
    revision: number,
    sentMs: number,
  ): Promise<boolean> {
    const { queue, request } = own;
    const { leaseMs } = request;
    const isUsable = own.lease !== undefined && !own.lease.isAbandoned;
    const lease = isUsable ? own.lease! : await this.#leases.of(leaseMs);
    const reply = await this.#txn(
      {
        compare: [isUnchanged(own.key, modRevision), queue.keys.frontUnchangedSince(revision)],
        success: [this.#put(own, lease)],
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
    if (lease.aliveUntilMs < this.#clock.monotonicMs() + leaseMs / 2) {
      await lease.ensure(sentMs + leaseMs);
      this.#checkState(own);
    }
    this.#hold(own, reply.header.revision, sentMs);
    return true;
  }

  #changed(own: OwnEntry, reply: TxnReply): void {
    const entries = entriesOf(reply.responses);
    const mine = entries.find(({ key }) => key === own.key);
    own.queue.merge(entries, reply.header.revision);
    // An earlier confirmation may have been executed, and its reply lost: confirm again.
    if (mine !== undefined) own.modRevision = mine.modRevision;
    else this.#entryGone(own);
  }

  #watchQueue(queue: LockQueue<OwnEntry>, fromRevision?: number): void {
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
    if (own !== undefined && own.modRevision < revision) this.#entryGone(own);
  }

  /** Events were lost: reads the whole queue and watches it from there. */
  #resync(queue: LockQueue<OwnEntry>): void {
    // When an earlier read has failed, a request may have begun another watch since.
    queue.unwatch?.();
    queue.unwatch = undefined;
    if (this.#client.isClosed) return;
    if (queue.own.size === 0) {
      this.#tidy(queue);
      return;
    }
    queue.pendingCount++;
    this.#read(queue.keys)
      .then(
        ({ entries, revision }) => {
          queue.merge(entries, revision);
          this.#watchQueue(queue);
          const found = new Set(entries.map(({ key }) => key));
          for (const own of [...queue.own.values()]) {
            const isOlder = own.modRevision <= revision;
            if (isOlder && !found.has(own.key)) this.#entryGone(own);
          }
          this.#serve(queue);
        },
        () => void this.#clock.setTimer(RETRY_MS, () => this.#resync(queue)),
      )
      .finally(() => {
        queue.requestEnded();
        this.#tidy(queue);
      });
  }

  /** The entry was deleted, and not by its owner. */
  #entryGone(own: OwnEntry): void {
    if (own.state === 'waiting') {
      this.#forget(own);
      this.#retry(own);
    } else if (own.state === 'held') {
      this.#forget(own);
      this.#reportLoss(own);
    }
  }

  /** Finds out whether the lock was stolen. */
  #reportLoss({ request, queue }: OwnEntry): void {
    const report = (reason: Error): void => this.#onLost(reason, request.owner);
    this.#read(queue.keys).then(
      ({ entries }) => {
        const thief = entries.find(({ stealReason }) => stealReason !== undefined);
        report(thief ? new StolenError(thief.info, thief.stealReason!) : new Error(GONE));
      },
      () => report(new Error(GONE)),
    );
  }

  /** This process has deleted the entry of an owner, which may be its own. */
  #dropOwn({ owner }: Entry, keys: LockKeys, reason?: Error): void {
    const own = this.#own.get(keys.idOf(owner));
    if (own === undefined) return;
    const { state } = own;
    this.#forget(own);
    if (state === 'waiting') this.#retry(own);
    // Later: the caller receives its lease first.
    if (state === 'held' && reason) this.#clock.defer(() => this.#onLost(reason, owner));
  }

  /** etcd has ended the lease, and deleted its keys. */
  #leaseEnded(lease: SharedLease): void {
    lease.markDead();
    for (const own of [...this.#own.values()]) if (own.lease === lease) this.#entryGone(own);
  }

  /** The lease of a held entry is over, or etcd has ended an entry that this process does not use any more. */
  #due(own: OwnEntry): void {
    if (own.state !== 'held' && own.state !== 'kept') {
      this.#forget(own);
      return;
    }
    this.#leave(own);
    this.#own.delete(own.id);
    this.#remove(own);
  }

  /** The caller does not use the entry any more. It is forgotten when etcd has deleted it, or has ended its lease. */
  #leave(own: OwnEntry): void {
    if (own.state === 'requested') this.#doubt(own.lease);
    own.state = 'released';
    own.waiter = undefined;
    own.queue.waiting.delete(own.key);
    this.#contended.get(own.id)?.();
    this.#deadlines.add(own, FORGET_MS, this.#clock.monotonicMs());
  }

  #deleted(own: OwnEntry, revision: number): void {
    const isKnown = own.queue.own.get(own.key) === own;
    this.#forget(own);
    if (isKnown && own.modRevision > 0)
      own.queue.returnSlot(own.key.slice(own.key.lastIndexOf('/') + 1));
    own.queue.delete(own.key, revision);
    this.#serve(own.queue);
  }

  #forget(own: OwnEntry): void {
    const { queue, id, key } = own;
    own.unschedule();
    own.state = 'released';
    if (queue.own.get(key) !== own) return;
    queue.waiting.delete(key);
    queue.own.delete(key);
    this.#contended.get(id)?.();
    if (this.#own.get(id) === own) this.#own.delete(id);
    this.#tidy(queue);
  }

  /** Removes a queue without entries of this process, some time later if it is watched: it may be used again. */
  #tidy(queue: LockQueue<OwnEntry>): void {
    if (queue.own.size > 0 || queue.pendingCount > 0) return;
    const { lock } = queue.keys;
    if (queue.unwatch === undefined) {
      // Another queue of this lock may have replaced it since.
      if (this.#queues.get(lock) === queue) this.#queues.delete(lock);
    } else if (!queue.isLingering) {
      queue.isLingering = true;
      this.#clock.setTimer(LINGER_MS, () => {
        queue.isLingering = false;
        if (queue.own.size > 0) return;
        queue.unwatch?.();
        queue.unwatch = undefined;
        this.#tidy(queue);
      });
    }
  }
}

interface PendingRead {
  readonly key: string;
  readonly resolve: (kv: KeyValue | undefined) => void;
  readonly reject: (error: unknown) => void;
}

const QUEUED: AcquireResult = { type: 'busy', retryInMs: Number.POSITIVE_INFINITY };
const CHANGED = 'the lock has changed meanwhile';
const GONE = 'its key in etcd was deleted, or its lease there has ended';
const FORCED = 'the lock was released by force';
const IGNORE = (): void => {};
/** etcd executes at most 128 operations in a transaction. */
const MAX_READS = 100;
const MAX_DELETES = 100;
/** Each lock takes two ranges of a transaction. */
const MAX_GROUP = 60;
/** Maximum number of holders that a LockTimeoutError names. */
const MAX_SHOWN = 10;
/** How often a transaction is sent again because the queue has changed. */
const MAX_ATTEMPTS = 10;
/** How long the mark of a forced release stays: longer than holders repeat a release whose reply was lost. */
const MARK_MS = 60_000;
/** How long an entry is remembered whose release has failed. */
const FORGET_MS = 60_000;
const LINGER_MS = 1000;
const RETRY_MS = 500;

function granted(fence: number): AcquireResult {
  return { type: 'granted', fence };
}

/** The entries in replies to operations, in the order of their places. */
function entriesOf(replies: TxnReply['responses']): Entry[] {
  return replies
    .flatMap(({ range }) => range?.kvs ?? [])
    .map(entryOf)
    .sort(byPlace);
}

function isAdmitted(entries: Iterable<Entry>, key: string): boolean {
  return admitted(entries).some((entry) => entry.key === key);
}

function fits({ permits, slots }: LockRequest, entries: readonly Entry[]): boolean {
  return entries.reduce((sum, entry) => sum + entry.permits, permits) <= slots;
}

/** The end of the first lease, if none of them was renewed. */
function shortestMs(entries: readonly Entry[]): number {
  const shortest = (least: number, { leaseMs }: Entry): number => Math.min(least, leaseMs);
  return Math.max(1, entries.reduce(shortest, Number.MAX_SAFE_INTEGER));
}

/** Whether a holder has a larger fence, or a forced release came later. */
function wasGrantedSince(reply: TxnReply, fence: number): boolean {
  const [head] = entriesOf(reply.responses.slice(0, 2));
  const mark = reply.responses[2]?.range?.kvs[0];
  return (head?.fence ?? 0) > fence || (mark?.modRevision ?? 0) > fence;
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
