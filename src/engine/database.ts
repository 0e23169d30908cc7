import { NEVER } from './deadline-heap.ts';
import type { Engine } from './engine.ts';
import { WRONG_TYPE } from './errors.ts';
import type { HashValue } from './hash-value.ts';
import { Keyspace } from './keyspace.ts';
import type { ListValue } from './list-value.ts';
import { EVENT_BITS, type EventClass } from './notifications.ts';
import type { Session } from './session.ts';
import type { SetValue } from './set-value.ts';
import type { SortedSetValue } from './sorted-set-value.ts';
import { type Collection, type Value, valueBytes } from './value.ts';

/** The part of a string that a command has replaced. */
interface StringPart {
  readonly offset: number;
  readonly text: string;
}

/**
 * The keys of one database. All access to keys goes through this class. Every lookup expires a key whose deadline
 * has passed. Every change invalidates WATCH, wakes blocked clients and records its inverse in the journal.
 *
 * A command that changes a collection in place must call `changed`.
 */
export class Database {
  readonly number: number;
  readonly #engine: Engine;
  readonly #watchers = new Map<string, Set<Session>>();
  #keyspace: Keyspace;

  constructor(engine: Engine, number: number) {
    this.#engine = engine;
    this.number = number;
    this.#keyspace = new Keyspace(engine.hashSeed);
    this.#keyspace.footprint.moveInto(engine.memory.data);
  }

  get size(): number {
    return this.#keyspace.size;
  }

  /** The number of keys with a deadline. */
  get volatileSize(): number {
    return this.#keyspace.deadlines.size;
  }

  /** Loads the keys of requests that will run next into the processor's cache. Their second words are the keys. */
  prefetch(requests: readonly (readonly string[])[]): void {
    this.#keyspace.prefetch(requests);
  }

  /** The value of a key; undefined if there is none or if it has expired. Counts as a hit or a miss. */
  get(key: string): Value | undefined {
    const slot = this.#find(key);
    if (this.#engine.countsReads) this.#countRead(key, slot >= 0);
    return slot < 0 ? undefined : this.#keyspace.values[slot]!;
  }

  /** Like `get`, but counts neither as a hit nor as a miss. */
  peek(key: string): Value | undefined {
    const slot = this.#find(key);
    return slot < 0 ? undefined : this.#keyspace.values[slot]!;
  }

  has(key: string): boolean {
    return this.#find(key) >= 0;
  }

  string(key: string): string | undefined {
    const value = this.get(key);
    if (typeof value === 'object') throw WRONG_TYPE;
    return value;
  }

  hash(key: string): HashValue | undefined {
    return this.#typed<HashValue>(key, 'hash');
  }

  list(key: string): ListValue | undefined {
    return this.#typed<ListValue>(key, 'list');
  }

  setOf(key: string): SetValue | undefined {
    return this.#typed<SetValue>(key, 'set');
  }

  sortedSet(key: string): SortedSetValue | undefined {
    return this.#typed<SortedSetValue>(key, 'zset');
  }

  /** Sets the value and the deadline of a key. */
  set(key: string, value: Value, deadlineMs: number = NEVER, part?: StringPart): void {
    const keyspace = this.#keyspace;
    const slot = this.#find(key);
    if (this.#engine.journal.active) this.#recordSlot(key, slot);
    if (slot < 0) {
      keyspace.markUsed(keyspace.insert(key, value, deadlineMs), this.#engine.nowMs / 1000);
      this.notify('new', 'new', key);
      // As in Redis, creating a key serves blocked clients; overwriting one does not.
      if (canBlockClients(value)) this.#engine.blocking.signal(this, key);
    } else {
      keyspace.setValue(slot, value);
      keyspace.deadlines.set(slot, deadlineMs);
    }
    if (deadlineMs !== NEVER) this.#engine.expireAt(deadlineMs);
    const { changes } = this.#engine;
    if (changes.isOn) {
      if (part === undefined) changes.set(this.number, key, value, deadlineMs, slot >= 0);
      else changes.setPart(this.number, key, part.offset, part.text);
    }
    this.changed(key);
  }

  /** Sets the value of a key and keeps its deadline. The log gets only `part` of a string, if given. */
  replace(key: string, value: Value, part?: StringPart): void {
    this.set(key, value, this.deadline(key), part);
  }

  /** Returns `existing`, or stores the result of `create` at the key. */
  open<Kind extends Collection>(existing: Kind | undefined, key: string, create: () => Kind): Kind {
    if (existing !== undefined) return existing;
    const created = create();
    this.set(key, created);
    return created;
  }

  delete(key: string): boolean {
    const slot = this.#find(key);
    if (slot < 0) return false;
    if (this.#engine.journal.active) this.#recordSlot(key, slot);
    this.#keyspace.remove(slot);
    if (this.#engine.changes.isOn) this.#engine.changes.deleted(this.number, key);
    this.changed(key);
    return true;
  }

  /** Deletes a collection that a command has emptied, as Redis does. */
  deleteIfEmpty(key: string, value: Collection): void {
    if (value.size === 0 && this.delete(key)) this.notify('generic', 'del', key);
  }

  /** The deadline of a key on the monotonic clock; NEVER if there is no deadline or no key. */
  deadline(key: string): number {
    const slot = this.#find(key);
    return slot < 0 ? NEVER : this.#keyspace.deadlines.get(slot);
  }

  /** Sets the deadline of an existing key; NEVER removes it. */
  setDeadline(key: string, deadlineMs: number): void {
    const slot = this.#find(key);
    if (slot < 0) return;
    if (this.#engine.journal.active) this.#recordSlot(key, slot, false);
    this.#keyspace.deadlines.set(slot, deadlineMs);
    if (deadlineMs !== NEVER) this.#engine.expireAt(deadlineMs);
    if (this.#engine.changes.isOn) this.#engine.changes.deadline(this.number, key, deadlineMs);
    this.changed(key);
  }

  /** Must be called after a key's value or deadline has changed: records it for the log, and invalidates WATCH. */
  changed(key: string): void {
    this.#engine.stats.changes++;
    if (this.#engine.changes.hasPending) this.#recordCollection(key);
    if (this.#watchers.size > 0) this.#touchWatchers(key);
  }

  notify(kind: EventClass, event: string, key: string): void {
    if ((this.#engine.eventBits & EVENT_BITS[kind]) !== 0) {
      this.#engine.publishEvent(this.number, event, key);
    }
  }

  /** Seconds since the last use of the key, without counting as one; undefined if there is no key. */
  idleSeconds(key: string): number | undefined {
    const slot = this.#keyspace.find(key);
    if (slot < 0) return undefined;
    return Math.max(0, Math.floor(this.#engine.nowMs / 1000) - this.#keyspace.usedSeconds(slot));
  }

  /** Every key that has not expired. */
  keys(): string[] {
    const { keys, deadlines } = this.#keyspace;
    const { nowMs } = this.#engine;
    return keys.filter((_, slot) => deadlines.get(slot) > nowMs);
  }

  /**
   * A step of SCAN; see Dictionary for the order and its guarantee. Keys that have expired by `nowMs` and are not
   * deleted yet are skipped.
   */
  scan(
    cursor: number,
    count: number,
    visit: (key: string, value: Value, deadlineMs: number) => void,
    nowMs = this.#engine.nowMs,
  ): number {
    const { keys, values, deadlines } = this.#keyspace;
    const begin = cursor === 0 ? keys.length : Math.min(cursor, keys.length);
    const end = Math.max(begin - count, 0);
    for (let slot = begin - 1; slot >= end; slot--) {
      const deadlineMs = deadlines.get(slot);
      if (deadlineMs > nowMs) visit(keys[slot]!, values[slot]!, deadlineMs);
    }
    return end;
  }

  randomKey(): string | undefined {
    const keyspace = this.#keyspace;
    while (keyspace.size > 0) {
      const slot = Math.floor(this.#engine.random.next() * keyspace.size);
      if (keyspace.deadlines.get(slot) > this.#engine.nowMs) return keyspace.keys[slot]!;
      this.#expire(slot);
    }
    return undefined;
  }

  /** Removes every key. Returns how many. */
  flush(): number {
    const emptied = this.#keyspace;
    for (const key of this.#watchers.keys()) {
      if (emptied.find(key) >= 0) this.#touchWatchers(key);
    }
    const created = new Keyspace(this.#engine.hashSeed);
    this.#swapKeyspace(created);
    this.#countInstead(created, emptied);
    if (this.#engine.journal.active) {
      const undo = (): void => this.#countInstead(emptied, created);
      this.#engine.journal.record(undo, emptied.footprint.bytes);
    }
    this.#engine.stats.changes += emptied.size;
    if (this.#engine.changes.isOn) this.#engine.changes.flushed(this.number);
    return emptied.size;
  }

  /** Exchanges the keys of two databases. Watchers and blocked clients stay where they are. */
  swap(other: Database): void {
    const mine = this.#keyspace;
    const theirs = other.#keyspace;
    this.#swapKeyspace(theirs);
    other.#swapKeyspace(mine);
    if (this.#engine.changes.isOn) this.#engine.changes.swapped(this.number, other.number);
    for (const database of [this, other]) {
      for (const key of database.#watchers.keys()) {
        if (mine.find(key) >= 0 || theirs.find(key) >= 0) database.#touchWatchers(key);
      }
      this.#engine.blocking.signalAll(database);
      this.#engine.expireAt(database.firstDeadline());
    }
  }

  watch(key: string, session: Session): void {
    const watchers = this.#watchers.get(key);
    if (watchers) watchers.add(session);
    else this.#watchers.set(key, new Set([session]));
  }

  unwatch(key: string, session: Session): void {
    const watchers = this.#watchers.get(key);
    if (watchers?.delete(session) && watchers.size === 0) this.#watchers.delete(key);
  }

  firstDeadline(): number {
    const slot = this.#keyspace.deadlines.first();
    return slot < 0 ? NEVER : this.#keyspace.deadlines.get(slot);
  }

  /** The latest deadline of all keys; 0 if no key has one. */
  lastDeadline(): number {
    const { keys, deadlines } = this.#keyspace;
    let lastMs = 0;
    for (let slot = 0; slot < keys.length; slot++) {
      const deadlineMs = deadlines.get(slot);
      if (deadlineMs !== NEVER && deadlineMs > lastMs) lastMs = deadlineMs;
    }
    return lastMs;
  }

  /** Expires the key with the earliest deadline. Returns false if no deadline has passed. */
  expireFirst(): boolean {
    const slot = this.#keyspace.deadlines.first();
    if (slot < 0 || this.#keyspace.deadlines.get(slot) > this.#engine.nowMs) return false;
    this.#expire(slot);
    return true;
  }

  #find(key: string): number {
    const slot = this.#keyspace.find(key);
    if (slot < 0) return slot;
    const { nowMs } = this.#engine;
    if (this.#keyspace.deadlines.get(slot) <= nowMs) {
      this.#expire(slot);
      return -1;
    }
    if (this.#engine.marksUse) this.#keyspace.markUsed(slot, nowMs / 1000);
    return slot;
  }

  #countRead(key: string, found: boolean): void {
    if (found) this.#engine.stats.keyspaceHits++;
    else {
      this.#engine.stats.keyspaceMisses++;
      this.notify('miss', 'keymiss', key);
    }
  }

  #typed<Kind extends Collection>(key: string, type: Kind['type']): Kind | undefined {
    const value = this.get(key);
    if (value === undefined) return undefined;
    if (typeof value === 'string' || value.type !== type) throw WRONG_TYPE;
    return value as Kind;
  }

  #expire(slot: number): void {
    const key = this.#keyspace.keys[slot]!;
    if (this.#engine.lockHistory.isOn) this.#recordExpiry(key, this.#keyspace.values[slot]);
    // An expiry inside of a script is rolled back too, so that every slot is restored. The key then expires again.
    if (this.#engine.journal.active) this.#recordSlot(key, slot);
    this.#keyspace.remove(slot);
    this.#engine.stats.expiredKeys++;
    if (this.#engine.changes.isOn) this.#engine.changes.deleted(this.number, key);
    this.changed(key);
    this.notify('expired', 'expired', key);
  }

  /** The lease of a mutex is the TTL of its key. Other locks report the end of a lease by their script. */
  #recordExpiry(key: string, value: Value | undefined): void {
    const { lockHistory, nowMs } = this.#engine;
    if (typeof value !== 'string' || !lockHistory.has(this.number, key)) return;
    lockHistory.add(this.number, 'expired', key, value, 0, nowMs);
  }

  #recordCollection(key: string): void {
    const slot = this.#keyspace.find(key);
    if (slot < 0) return;
    const { values, deadlines } = this.#keyspace;
    const deadlineMs = deadlines.get(slot);
    this.#engine.changes.collectionChanged(this.number, key, values[slot], deadlineMs);
  }

  #touchWatchers(key: string): void {
    const watchers = this.#watchers.get(key);
    if (watchers === undefined) return;
    for (const session of watchers) if (!session.watchBroken) this.#breakWatch(session);
  }

  #breakWatch(session: Session): void {
    session.watchBroken = true;
    if (!this.#engine.journal.active) return;
    this.#engine.journal.record(() => {
      session.watchBroken = false;
    });
  }

  #swapKeyspace(keyspace: Keyspace): void {
    const previous = this.#keyspace;
    if (this.#engine.journal.active) {
      this.#engine.journal.record(() => {
        this.#keyspace = previous;
      });
    }
    this.#keyspace = keyspace;
  }

  #countInstead(counted: Keyspace, uncounted: Keyspace): void {
    uncounted.footprint.moveInto(null);
    counted.footprint.moveInto(this.#engine.memory.data);
  }

  /** `drops`: only the journal keeps the old value alive from now on. */
  #recordSlot(key: string, slot: number, drops = true): void {
    const keyspace = this.#keyspace;
    if (slot < 0) {
      this.#engine.journal.record(() => {
        const inserted = keyspace.find(key);
        if (inserted >= 0) keyspace.remove(inserted);
      });
      return;
    }
    const value = keyspace.values[slot]!;
    const deadlineMs = keyspace.deadlines.get(slot);
    this.#engine.journal.record(
      () => {
        if (keyspace.keys[slot] !== key) return keyspace.restore(slot, key, value, deadlineMs);
        keyspace.setValue(slot, value);
        keyspace.deadlines.set(slot, deadlineMs);
      },
      drops ? valueBytes(value) : 0,
    );
  }
}

/** Whether a command can block on a key of this type. */
function canBlockClients(value: Value): boolean {
  return typeof value === 'object' && (value.type === 'list' || value.type === 'zset');
}
