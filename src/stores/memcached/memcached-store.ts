import { type Clock, type Random, systemClock, systemRandom } from '../../clock/index.ts';
import {
  type AcquireResult,
  type Contention,
  type Duration,
  durationMs,
  type Inspection,
  LockArgumentError,
  type LockRequest,
  type LockTarget,
  type UnfencedStore,
  type Waiter,
} from '../../lock/index.ts';
import {
  checkPrefix,
  expirySeconds,
  holderOf,
  isOwnedBy,
  itemKey,
  itemValue,
  type LockItem,
} from './lock-item.ts';
import { parseMemcachedAddress } from './memcached-address.ts';
import { type Answer, MetaClient } from './meta-client.ts';
import { PollQueue } from './poll-queue.ts';

export interface MemcachedStoreOptions {
  /** How long one request may take. Default 2 s. */
  readonly requestTimeout?: Duration;
  /** Prefix of every key, so that two applications can share a memcached. Default: none. */
  readonly prefix?: string;
}

/**
 * Mutexes in one memcached, version 1.6 or later. For work that may rarely run twice: memcached evicts items when its
 * memory is full (unless it runs with `-M`), forgets all locks when it restarts, and has no fences. There are no
 * semaphores and no read/write locks, waiters poll, and leases are rounded up to whole seconds. Emits a process warning
 * with the code HOLDFAST_MEMCACHED, once.
 *
 * @param address `host:port` or `memcached://host:port`. Default port 11211.
 * @throws LockArgumentError if the address or an option is wrong.
 *
 * @example
 * const locks = createLocks({ store: memcachedStore('memcached://127.0.0.1:11211') });
 * await locks.mutex('thumbnails:7').run(() => render());
 */
export function memcachedStore(
  address: string,
  options: MemcachedStoreOptions = {},
): UnfencedStore {
  const store = openMemcached(address, options);
  warnOnce();
  return store;
}

/** The same without the warning, for the command line: its help has it. */
export function openMemcached(address: string, options: MemcachedStoreOptions): UnfencedStore {
  checkKeys(options);
  const { requestTimeout = '2s', prefix = '' } = options;
  const requestTimeoutMs = durationMs(requestTimeout, 'requestTimeout', '', { leastMs: 1 });
  const client = new MetaClient({
    address: parseMemcachedAddress(address),
    clock: systemClock,
    requestTimeoutMs,
  });
  return new MemcachedStore(client, checkPrefix(prefix), systemClock, systemRandom);
}

/** How often a write is repeated whose item has changed since it was read. */
const MAX_TRIES = 5;
/** Maximum number of grants that are remembered. */
const MAX_GRANTS = 10_000;

/**
 * One item for each mutex. `add` takes it, and a read in the same write gives its owner and its cas number. A renewal
 * reads the item, compares the owner, and writes it with the cas number that was read, so that no other item is changed;
 * a release deletes it in the same way, and needs no read if the lease was not renewed and the connection is the same.
 *
 * `ms` could do it all, but deletes the item of the holder when there is no memory for the new one. `add` and `cas` fail.
 */
class MemcachedStore implements UnfencedStore {
  readonly hasFences = false;
  readonly ownsConnections = true;
  readonly connected: Promise<void>;
  #markConnected = (): void => {};
  readonly #client: MetaClient;
  readonly #prefix: string;
  readonly #clock: Clock;
  readonly #polls: PollQueue;
  /** By owner, oldest first. */
  readonly #grants = new Map<string, Grant>();

  constructor(client: MetaClient, prefix: string, clock: Clock, random: Random) {
    this.#client = client;
    this.#prefix = prefix;
    this.#clock = clock;
    this.#polls = new PollQueue(clock, random);
    this.connected = new Promise((resolve) => {
      this.#markConnected = resolve;
    });
  }

  async acquire(request: LockRequest, waiter?: Waiter): Promise<AcquireResult> {
    const key = this.#keyOf(request);
    const { owner } = request;
    const seconds = expirySeconds(request);
    // Neither a repeated request of a holder nor a request that steals waits for others.
    const waits = request.stealReason === undefined && !this.#grants.has(owner);
    if (waits && waiter !== undefined) this.#polls.enter(key, owner, waiter);
    if (waits && !this.#polls.isFirst(key, owner)) return this.#busy(waiter);
    try {
      if (!(await this.#take(key, request, seconds))) {
        // A holder that has lost the lock waits now.
        if (waiter !== undefined) this.#polls.enter(key, owner, waiter);
        this.#grants.delete(owner);
        this.#polls.busy(key);
        return this.#busy(waiter);
      }
      this.#polls.leave(key, owner);
      return GRANTED;
    } catch (error) {
      this.#polls.failed(key, owner, error);
      throw error;
    }
  }

  /** Only one at a time: memcached changes several items by several commands, so the library takes them in order. */
  async acquireAll(requests: readonly LockRequest[]): Promise<AcquireResult | undefined> {
    return requests.length === 1 ? this.acquire(requests[0]!) : undefined;
  }

  async adopt(request: LockRequest, from: LockRequest): Promise<AcquireResult> {
    const isAdopted = await this.#rewrite(this.#keyOf(request), request, {
      accepts: (item) => isOwnedBy(item, from.owner) || isOwnedBy(item, request.owner),
      secondsOf: () => expirySeconds(request),
    });
    return isAdopted ? GRANTED : this.#busy(undefined);
  }

  extend(request: LockRequest): Promise<boolean> {
    return this.#renew(request, ({ leftSeconds }) => Math.max(expirySeconds(request), leftSeconds));
  }

  keep(request: LockRequest): Promise<boolean> {
    return this.#renew(request, () => expirySeconds(request));
  }

  async release(request: LockRequest): Promise<boolean> {
    if (request.kind !== 'mutex') return false;
    const key = this.#keyOf(request);
    if (this.#polls.leave(key, request.owner)) return false;
    const wasHeld = await this.#delete(key, request.owner);
    this.#grants.delete(request.owner);
    if (wasHeld) this.#polls.released(key);
    return wasHeld;
  }

  async forceRelease(target: LockTarget): Promise<number> {
    const key = this.#keyOf(target);
    const { reply } = await this.#send(`md ${key}\r\n`);
    this.#polls.released(key);
    return reply.code === 'HD' ? 1 : 0;
  }

  async inspect(target: LockTarget): Promise<Inspection> {
    const item = await this.#read(this.#keyOf(target));
    return { holders: item ? [holderOf(item, this.#clock.wallMs())] : [], waiters: [] };
  }

  async contention(request: LockRequest): Promise<Contention> {
    const { holders } = await this.inspect(request);
    return { holders, place: undefined };
  }

  async close(): Promise<void> {
    this.#markConnected();
    this.#polls.close();
    this.#client.close();
  }

  #busy(waiter: Waiter | undefined): AcquireResult {
    // A waiter is notified when it has to poll.
    return { type: 'busy', retryInMs: waiter ? Number.POSITIVE_INFINITY : this.#polls.pollMs() };
  }

  /** Adds the item. If there is one, it may be of an earlier request of this owner whose reply was lost. */
  async #take(key: string, request: LockRequest, seconds: number): Promise<boolean> {
    const { owner, stealReason } = request;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const value = itemValue(request, this.#clock.wallMs());
      const [added, item] = await Promise.all([
        this.#send(addCommand(key, value, seconds)).catch((error: Error) => error),
        this.#read(key),
      ]);
      const isStored = !(added instanceof Error) && added.reply.code === 'STORED';
      if (isStored && item !== undefined && isOwnedBy(item, owner)) {
        this.#remember(owner, item);
        return true;
      }
      if (item === undefined && added instanceof Error) throw added;
      const isTaken = await this.#rewrite(key, request, {
        accepts: (found) => stealReason !== undefined || isOwnedBy(found, owner),
        secondsOf: ({ leftSeconds }) => Math.max(seconds, leftSeconds),
        found: item,
      });
      // The item of the former holder may have ended in between.
      if (isTaken || stealReason === undefined) return isTaken;
    }
    throw new Error(CHANGING);
  }

  async #renew(request: LockRequest, secondsOf: (item: LockItem) => number): Promise<boolean> {
    const isHeld = await this.#rewrite(this.#keyOf(request), request, {
      accepts: (item) => isOwnedBy(item, request.owner),
      secondsOf,
    });
    if (!isHeld) this.#grants.delete(request.owner);
    return isHeld;
  }

  /**
   * Writes an item of this request over one that is accepted. False: there is none. If the item changes in between, such
   * as by another renewal of the same lease, it is read again.
   */
  async #rewrite(
    key: string,
    request: LockRequest,
    { accepts, secondsOf, found }: Rewrite,
  ): Promise<boolean> {
    let item = found ?? (await this.#read(key));
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (item === undefined || !accepts(item)) return false;
      const isOwn = isOwnedBy(item, request.owner);
      const value = isOwn ? item.value : itemValue(request, this.#clock.wallMs());
      const command = casCommand(key, value, secondsOf(item), item.cas);
      const { reply } = await this.#send(command, item.connectionId);
      if (reply.code === 'STORED') {
        // The new cas number is not known: a release reads it.
        this.#remember(request.owner, undefined);
        return true;
      }
      item = await this.#read(key);
    }
    throw new Error(CHANGING);
  }

  /** Deletes the item of this owner. If an earlier delete of it has no reply, an item that is gone was deleted by that. */
  async #delete(key: string, owner: string): Promise<boolean> {
    const grant = this.#grants.get(owner);
    const wasSent = grant?.isReleased ?? false;
    if (grant?.item !== undefined && grant.item.connectionId === this.#client.connectionId) {
      const { cas, connectionId } = grant.item;
      grant.isReleased = true;
      const { reply } = await this.#send(deleteCommand(key, cas), connectionId);
      if (reply.code !== 'EX') return reply.code === 'HD' || wasSent;
    }
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const item = await this.#read(key);
      if (item === undefined) return wasSent;
      if (!isOwnedBy(item, owner)) return false;
      if (grant !== undefined) grant.isReleased = true;
      const { reply } = await this.#send(deleteCommand(key, item.cas), item.connectionId);
      if (reply.code === 'HD') return true;
    }
    throw new Error(CHANGING);
  }

  async #read(key: string): Promise<LockItem | undefined> {
    const { reply, connectionId } = await this.#send(`mg ${key} v c t\r\n`);
    if (reply.code !== 'VA') return undefined;
    const { flags, value } = reply;
    return {
      value,
      cas: flags.get('c')!,
      leftSeconds: Number(flags.get('t')),
      connectionId,
    };
  }

  #remember(owner: string, item: LockItem | undefined): void {
    this.#grants.delete(owner);
    this.#grants.set(owner, { item, isReleased: false });
    if (this.#grants.size > MAX_GRANTS) this.#grants.delete(this.#grants.keys().next().value!);
  }

  #send(command: string, connectionId?: number): Promise<Answer> {
    return this.#client.request(command, connectionId).finally(this.#markConnected);
  }

  /** @throws LockArgumentError for a lock that memcached cannot store. */
  #keyOf(target: LockTarget): string {
    if (target.kind === 'mutex') return itemKey(this.#prefix, target);
    throw new LockArgumentError(
      target.name,
      `memcached stores mutexes only: ${NOT_STORED[target.kind]} would need a change of several holders at once. Use ` +
        'mutex(), or a store in Redis.',
    );
  }
}

/** A lease that was granted or renewed. */
interface Grant {
  /** The item as it is in memcached, as far as this process knows. Undefined: it must be read. */
  readonly item: LockItem | undefined;
  /** A command that deletes it was sent. */
  isReleased: boolean;
}

interface Rewrite {
  accepts(item: LockItem): boolean;
  secondsOf(item: LockItem): number;
  /** The item, if it was read already. */
  readonly found?: LockItem | undefined;
}

const GRANTED: AcquireResult = { type: 'granted', fence: 0 };
const CHANGING = `the item of the lock changed ${MAX_TRIES} times between a read and a write`;
const NOT_STORED = { semaphore: 'a semaphore', rw: 'a read/write lock' } as const;

function addCommand(key: string, value: Buffer, seconds: number): string {
  return `add ${key} 0 ${seconds} ${value.length}\r\n${value}\r\n`;
}

function casCommand(key: string, value: Buffer, seconds: number, cas: string): string {
  return `cas ${key} 0 ${seconds} ${value.length} ${cas}\r\n${value}\r\n`;
}

function deleteCommand(key: string, cas: string): string {
  return `md ${key} C${cas}\r\n`;
}

function checkKeys(options: object): void {
  for (const name in options) {
    if (OPTIONS.includes(name)) continue;
    throw new LockArgumentError(
      '',
      `memcachedStore does not know '${name}'. Its options are ${OPTIONS.join(', ')}.`,
    );
  }
}

const OPTIONS = ['requestTimeout', 'prefix'];

let isWarned = false;

function warnOnce(): void {
  if (isWarned) return;
  isWarned = true;
  process.emitWarning(
    'memcached may lose a lock that is held: by eviction, by a restart, or after a pause of the server. There are no ' +
      'fences. Use it only for work that may rarely run twice.',
    { type: 'HoldfastWarning', code: 'HOLDFAST_MEMCACHED' },
  );
}
