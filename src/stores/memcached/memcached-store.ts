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
  itemKey,
  itemValue,
  type LockItem,
  ownerOfValue,
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
  checkKeys(options);
  const { requestTimeout = '2s', prefix = '' } = options;
  const requestTimeoutMs = durationMs(requestTimeout, 'requestTimeout', '', { leastMs: 1 });
  const client = new MetaClient({
    address: parseMemcachedAddress(address),
    clock: systemClock,
    requestTimeoutMs,
  });
  const store = new MemcachedStore(client, checkPrefix(prefix), systemClock, systemRandom);
  warnOnce();
  return store;
}

/** How often a write is repeated whose item has changed since it was read. */
const MAX_TRIES = 5;
/** Maximum number of grants whose cas numbers are remembered. */
const MAX_GRANTS = 10_000;

/**
 * One item for each mutex. `ms … ME` adds it; a renewal or a release reads it, compares the owner, and writes or deletes
 * it with the cas number that was read, so that no other item is changed. A release of a lease that was granted or
 * renewed on the same connection needs no read, since its cas number is known.
 */
class MemcachedStore implements UnfencedStore {
  readonly hasFences = false;
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
    // A repeated request of a holder does not wait for others, nor does a thief.
    const waits = request.stealReason === undefined && !this.#grants.has(owner);
    if (waits && waiter !== undefined) this.#polls.enter(key, owner, waiter);
    if (waits && !this.#polls.isFirst(key, owner)) return this.#busy(waiter);
    try {
      if (!(await this.#take(key, request, seconds))) {
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
    const owners = [from.owner, request.owner];
    const isAdopted = await this.#rewrite(this.#keyOf(request), request, {
      accepts: (item) => owners.includes(item.owner ?? ''),
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
    const steals = request.stealReason !== undefined;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const value = itemValue(request, this.#clock.wallMs());
      const added = await this.#send(setCommand(key, value, `ME T${seconds}`));
      if (this.#remember(request.owner, added)) return true;
      const isTaken = await this.#rewrite(key, request, {
        accepts: ({ owner }) => steals || owner === request.owner,
        secondsOf: ({ leftSeconds }) => Math.max(seconds, leftSeconds),
      });
      // The item of the former holder may have ended in between.
      if (isTaken || !steals) return isTaken;
    }
    throw new Error(CHANGING);
  }

  async #renew(request: LockRequest, secondsOf: (item: LockItem) => number): Promise<boolean> {
    const isHeld = await this.#rewrite(this.#keyOf(request), request, {
      accepts: ({ owner }) => owner === request.owner,
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
    { accepts, secondsOf }: Rewrite,
  ): Promise<boolean> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const item = await this.#read(key);
      if (item === undefined || !accepts(item)) return false;
      const isOwn = item.owner === request.owner;
      const value = isOwn ? item.value : itemValue(request, this.#clock.wallMs());
      const command = setCommand(key, value, `C${item.cas} T${secondsOf(item)}`);
      const answer = await this.#send(command, item.connectionId);
      if (this.#remember(request.owner, answer)) return true;
    }
    throw new Error(CHANGING);
  }

  /** Deletes the item of this owner. If an earlier delete of it has no reply, an item that is gone was deleted by that. */
  async #delete(key: string, owner: string): Promise<boolean> {
    const grant = this.#grants.get(owner);
    const wasSent = grant?.isReleased ?? false;
    if (grant !== undefined && grant.connectionId === this.#client.connectionId) {
      grant.isReleased = true;
      const { reply } = await this.#send(deleteCommand(key, grant.cas), grant.connectionId);
      if (reply.code !== 'EX') return reply.code === 'HD' || wasSent;
    }
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const item = await this.#read(key);
      if (item === undefined) return wasSent;
      if (item.owner !== owner) return false;
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
      owner: ownerOfValue(value),
      value,
      cas: flags.get('c')!,
      leftSeconds: Number(flags.get('t')),
      connectionId,
    };
  }

  /** Remembers the cas number of an item that was written. False: it was not. */
  #remember(owner: string, { reply, connectionId }: Answer): boolean {
    if (reply.code !== 'HD') return false;
    this.#grants.delete(owner);
    this.#grants.set(owner, { cas: reply.flags.get('c')!, connectionId, isReleased: false });
    if (this.#grants.size > MAX_GRANTS) this.#grants.delete(this.#grants.keys().next().value!);
    return true;
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

/** The last write of an item of ours. */
interface Grant {
  readonly cas: string;
  readonly connectionId: number;
  /** A command that deletes it was sent. */
  isReleased: boolean;
}

interface Rewrite {
  accepts(item: LockItem): boolean;
  secondsOf(item: LockItem): number;
}

const GRANTED: AcquireResult = { type: 'granted', fence: 0 };
const CHANGING = `the item of the lock changed ${MAX_TRIES} times between a read and a write`;
const NOT_STORED = { semaphore: 'a semaphore', rw: 'a read/write lock' } as const;

/** The reply to `c` is the new cas number. */
function setCommand(key: string, value: Buffer, flags: string): string {
  return `ms ${key} ${value.length} ${flags} c\r\n${value}\r\n`;
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
