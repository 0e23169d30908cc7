import { stringBytes } from './footprint.ts';
import type { Memory } from './memory.ts';

/** What happened to a request for a lock, or to a lease. */
export type LockEventType =
  /** Enters the queue, and leaves it without the lock. */
  | 'waiting'
  | 'left'
  /** Becomes the holder of a free lock, by its place in the queue, by stealing it, or by adopting a lease. */
  | 'granted'
  | 'handed-over'
  | 'stole'
  | 'adopted'
  /** Is the holder no longer. */
  | 'released'
  | 'expired'
  | 'stolen'
  | 'forced'
  | 'transferred'
  | 'session-ended';

export interface LockEvent {
  /** Rises by one with each event. */
  readonly id: number;
  /** The time of the engine. */
  readonly atMs: number;
  readonly type: LockEventType;
  /** The key of the lock. */
  readonly key: string;
  readonly token: string;
  /** The fence of a grant; else 0. */
  readonly fence: number;
}

interface StoredEvent extends Omit<LockEvent, 'key'> {
  readonly lock: LockEvents;
  /** The event of the same lock before this one; 0: none. */
  readonly previousId: number;
}

/** The events of one lock form a chain, from the newest back. */
interface LockEvents {
  readonly key: string;
  readonly database: number;
  newestId: number;
  count: number;
}

/**
 * The latest events of locks, as the lock script reports them. Its memory is limited: the oldest events
 * are dropped.
 * Adding an event takes constant time; reading the events of one lock takes as many steps as it returns.
 */
export class LockHistory {
  readonly #memory: Pick<Memory, 'lockHistory' | 'limitBytes'>;
  #maxBytes = 0;
  /** A ring: the event with the id `n` is at `n % length`. */
  #ring: (StoredEvent | undefined)[] = [];
  #oldestId = 1;
  #nextId = 1;
  /** For each database, by the key of the lock. */
  readonly #locks: Map<string, LockEvents>[] = [];

  constructor(memory: Pick<Memory, 'lockHistory' | 'limitBytes'>) {
    this.#memory = memory;
  }

  get isOn(): boolean {
    return this.#maxBytes > 0;
  }

  /** The id that the next event gets. */
  get nextId(): number {
    return this.#nextId;
  }

  /** Limits the memory. 0: no events are kept. */
  limit(maxBytes: number): void {
    this.#maxBytes = maxBytes;
    this.#dropOldest();
  }

  add(
    database: number,
    type: LockEventType,
    key: string,
    token: string,
    fence: number,
    atMs: number,
  ): void {
    const lock = this.#lockOf(database, key);
    const id = this.#nextId++;
    this.#put({ id, atMs, type, lock, token, fence, previousId: lock.newestId });
    lock.newestId = id;
    lock.count++;
    this.#memory.lockHistory.grow(EVENT_BYTES + stringBytes(token));
    this.#dropOldest();
  }

  /** Whether there are events of a lock with this key. */
  has(database: number, key: string): boolean {
    return this.#locks[database]?.has(key) === true;
  }

  /** Drops the newest events, from this id on: the script that has reported them is rolled back. */
  forgetFrom(id: number): void {
    while (this.#nextId > id && this.#nextId > this.#oldestId) {
      const event = this.#at(--this.#nextId);
      event.lock.newestId = event.previousId;
      this.#remove(event);
    }
  }

  /** The newest events of one lock with ids above `afterId`, oldest first. */
  ofLock(database: number, key: string, afterId: number, count: number): LockEvent[] {
    const lock = this.#locks[database]?.get(key);
    const found: LockEvent[] = [];
    let id = lock?.newestId ?? 0;
    while (id >= this.#oldestId && id > afterId && found.length < count) {
      const event = this.#at(id);
      found.push(asEvent(event));
      id = event.previousId;
    }
    return found.reverse();
  }

  /** The first events of all locks of a database with ids above `afterId`; without it the newest. Oldest first. */
  ofAll(database: number, afterId: number | undefined, count: number): LockEvent[] {
    const found: LockEvent[] = [];
    if (afterId === undefined) {
      for (let id = this.#nextId - 1; id >= this.#oldestId && found.length < count; id--) {
        this.#collect(id, database, found);
      }
      return found.reverse();
    }
    const firstId = Math.max(afterId + 1, this.#oldestId);
    for (let id = firstId; id < this.#nextId && found.length < count; id++) {
      this.#collect(id, database, found);
    }
    return found;
  }

  #collect(id: number, database: number, found: LockEvent[]): void {
    const event = this.#at(id);
    if (event.lock.database === database) found.push(asEvent(event));
  }

  #lockOf(database: number, key: string): LockEvents {
    this.#locks[database] ??= new Map();
    const locks = this.#locks[database];
    const known = locks.get(key);
    if (known !== undefined) return known;
    const lock = { key, database, newestId: 0, count: 0 };
    locks.set(key, lock);
    this.#memory.lockHistory.grow(LOCK_BYTES + stringBytes(key));
    return lock;
  }

  #at(id: number): StoredEvent {
    return this.#ring[id % this.#ring.length]!;
  }

  #put(event: StoredEvent): void {
    if (event.id - this.#oldestId >= this.#ring.length) this.#enlarge();
    this.#ring[event.id % this.#ring.length] = event;
  }

  #enlarge(): void {
    const ring = new Array<StoredEvent | undefined>(Math.max(this.#ring.length * 2, MIN_EVENTS));
    for (let id = this.#oldestId; id < this.#nextId - 1; id++)
      ring[id % ring.length] = this.#at(id);
    this.#ring = ring;
  }

  #dropOldest(): void {
    const { lockHistory, limitBytes } = this.#memory;
    const maxBytes = Math.min(this.#maxBytes, limitBytes * MAX_SHARE);
    while (lockHistory.bytes > maxBytes && this.#oldestId < this.#nextId) {
      this.#remove(this.#at(this.#oldestId++));
    }
  }

  #remove(event: StoredEvent): void {
    const { lock, id, token } = event;
    this.#ring[id % this.#ring.length] = undefined;
    this.#memory.lockHistory.grow(-EVENT_BYTES - stringBytes(token));
    if (--lock.count > 0) return;
    this.#locks[lock.database]!.delete(lock.key);
    this.#memory.lockHistory.grow(-LOCK_BYTES - stringBytes(lock.key));
  }
}

function asEvent({ lock, id, atMs, type, token, fence }: StoredEvent): LockEvent {
  return { id, atMs, type, key: lock.key, token, fence };
}

/** The memory of an event beside its token, with its place in a ring that is half full; and of a lock beside its key. */
const EVENT_BYTES = 112 + 16;
const LOCK_BYTES = 150;
const MIN_EVENTS = 1024;
/** Of the memory of the engine: the rest is for locks. */
const MAX_SHARE = 1 / 16;
