import { BLOCK_EVENTS, EventBlock } from './event-block.ts';
import { LOCK_EVENT_TYPES, type LockEvent, type LockEventType } from './lock-event.ts';
import type { Memory } from './memory.ts';
import { nameHash } from './name-hash.ts';

/**
 * The latest events of locks, as the lock script reports them. Its memory is limited: the oldest events
 * are dropped, a block at a time.
 *
 * Adding an event takes constant time, and leaves no object and no string for the garbage collector. Events whose keys
 * have the same hash form a chain, from the newest back: reading the events of one lock takes as many steps as its chain
 * has events. An event enters its chain when the first reader comes after it, since most have none.
 */
export class LockHistory {
  readonly #memory: Pick<Memory, 'lockHistory' | 'limitBytes'>;
  readonly #seed: number;
  #maxBytes = 0;
  /** The event with the id `n` is in the block with the number `n / BLOCK_EVENTS`, rounded down. */
  readonly #blocks: EventBlock[] = [];
  #firstBlock = 0;
  /** A block that was dropped, for the next. */
  #spare: EventBlock | undefined;
  #oldestId = 1;
  #nextId = 1;
  /** The newest event of each chain, by hash. An id below `#oldestId` is that of an event that was dropped. */
  #newestIds = NO_CHAINS;
  /** Events from this id on are in no chain yet. */
  #unchainedId = 1;
  /** By the number of the type. */
  readonly #counts = new Float64Array(LOCK_EVENT_TYPES.length);

  constructor(memory: Pick<Memory, 'lockHistory' | 'limitBytes'>, seed: number) {
    this.#memory = memory;
    this.#seed = seed;
  }

  get isOn(): boolean {
    return this.#maxBytes > 0;
  }

  /** The id that the next event gets. */
  get nextId(): number {
    return this.#nextId;
  }

  /** How many events of each type there were while the history was on, those that were dropped included. */
  counts(): ReadonlyMap<LockEventType, number> {
    return new Map(LOCK_EVENT_TYPES.map((type, number) => [type, this.#counts[number]!]));
  }

  /** Limits the memory. 0: no events are kept. */
  limit(maxBytes: number): void {
    this.#maxBytes = maxBytes;
    this.#dropToFit();
    if (maxBytes > 0 || this.#newestIds === NO_CHAINS) return;
    this.#spare = undefined;
    this.#newestIds = NO_CHAINS;
    this.#memory.lockHistory.grow(-CHAINS_BYTES);
  }

  add(
    database: number,
    type: LockEventType,
    key: string,
    token: string,
    fence: number,
    atMs: number,
  ): void {
    if (this.#maxBytes === 0) return;
    const id = this.#nextId++;
    const at = id % BLOCK_EVENTS;
    if (at === 0 || this.#blocks.length === 0) this.#addBlock(id);
    const block = this.#blocks[this.#blocks.length - 1];
    if (block === undefined) return;
    const number = TYPE_NUMBERS.get(type)!;
    this.#counts[number]!++;
    block.put(at, database, number, key, token, fence, atMs);
    if (block.capacity !== block.countedBytes) this.#count(block);
  }

  /** Whether there are events of a lock with this key. */
  has(database: number, key: string): boolean {
    return this.ofLock(database, key, 0, 1).length > 0;
  }

  /** Drops the newest events, from this id on: the script that has reported them is rolled back. */
  forgetFrom(id: number): void {
    while (this.#nextId > id && this.#nextId > this.#oldestId) {
      const at = --this.#nextId % BLOCK_EVENTS;
      const block = this.#blocks[this.#blocks.length - 1]!;
      this.#counts[block.typeAt(at)]!--;
      if (this.#nextId < this.#unchainedId) {
        this.#newestIds[this.#chainOf(block.keyAt(at))] = block.previousOf(at);
        this.#unchainedId = this.#nextId;
      }
      block.cut(at);
      if (at === 0 || this.#nextId === this.#oldestId) this.#removed(this.#blocks.pop()!);
    }
  }

  /** The newest events of one lock with ids above `afterId`, oldest first. */
  ofLock(database: number, key: string, afterId: number, count: number): LockEvent[] {
    this.#chainNew();
    const firstId = Math.max(afterId + 1, this.#oldestId);
    const found: LockEvent[] = [];
    let id = this.#newestIds[this.#chainOf(key)] ?? 0;
    while (id >= firstId && found.length < count) {
      const block = this.#blockOf(id);
      const at = id % BLOCK_EVENTS;
      if (block.isIn(at, database) && block.hasKey(at, key)) found.push(block.event(id));
      id = block.previousOf(at);
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
    const block = this.#blockOf(id);
    if (block.isIn(id % BLOCK_EVENTS, database)) found.push(block.event(id));
  }

  #chainNew(): void {
    for (let id = Math.max(this.#unchainedId, this.#oldestId); id < this.#nextId; id++) {
      const block = this.#blockOf(id);
      const at = id % BLOCK_EVENTS;
      const chain = this.#chainOf(block.keyAt(at));
      block.setPrevious(at, this.#newestIds[chain]!);
      this.#newestIds[chain] = id;
    }
    this.#unchainedId = this.#nextId;
  }

  #chainOf(key: string): number {
    return nameHash(key, this.#seed) & (CHAINS - 1);
  }

  #blockOf(id: number): EventBlock {
    return this.#blocks[Math.floor(id / BLOCK_EVENTS) - this.#firstBlock]!;
  }

  #addBlock(id: number): void {
    if (this.#newestIds === NO_CHAINS) {
      this.#newestIds = new Float64Array(CHAINS);
      this.#memory.lockHistory.grow(CHAINS_BYTES);
    }
    if (this.#blocks.length === 0) {
      this.#firstBlock = Math.floor(id / BLOCK_EVENTS);
      this.#oldestId = id;
    }
    const block = this.#spare ?? new EventBlock();
    this.#spare = undefined;
    this.#blocks.push(block);
    this.#count(block);
  }

  #count(block: EventBlock): void {
    this.#memory.lockHistory.grow(block.capacity - block.countedBytes);
    block.countedBytes = block.capacity;
    this.#dropToFit();
  }

  #dropToFit(): void {
    const { lockHistory, limitBytes } = this.#memory;
    const maxBytes = Math.min(this.#maxBytes, limitBytes * MAX_SHARE);
    while (lockHistory.bytes > maxBytes && this.#blocks.length > 0) {
      this.#removed(this.#blocks.shift()!);
      this.#firstBlock++;
      this.#oldestId = Math.min(this.#firstBlock * BLOCK_EVENTS, this.#nextId);
    }
  }

  #removed(block: EventBlock): void {
    this.#memory.lockHistory.grow(-block.countedBytes);
    block.countedBytes = 0;
    block.cut(0);
    this.#spare = block;
  }
}

const TYPE_NUMBERS = new Map(LOCK_EVENT_TYPES.map((type, number) => [type, number]));
/** A power of two. */
const CHAINS = 65_536;
const CHAINS_BYTES = CHAINS * 8;
const NO_CHAINS = new Float64Array(0);
/** Of the memory of the engine: the rest is for locks. */
const MAX_SHARE = 1 / 16;
