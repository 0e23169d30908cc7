import { admitted, byPlace, type Entry, type LockKeys } from './entry.ts';

/**
 * What this process knows of the queue of one lock: all entries that were created up to `syncedRevision`, without those
 * that it knows to be deleted. While it is watched, the events of the watch delete entries, and replies add those that
 * were created since. It may still have entries that etcd has deleted, but lacks none that counts: an entry that is
 * admitted here is admitted in etcd, unless the front has changed after `syncedRevision`.
 */
export class LockQueue<Own> {
  readonly keys: LockKeys;
  /** Entries of this process that wait, by key. */
  readonly waiting = new Map<string, Own>();
  /** Entries that this process has, or may have, by key. */
  readonly own = new Map<string, Own>();
  /** Requests under way whose replies will be merged. */
  pendingCount = 0;
  /** Ends the watch of deletions. Undefined: it is not watched. */
  unwatch: (() => void) | undefined;
  /** A read of what is new is under way. */
  reading: Promise<void> | undefined;
  /** No entry of this process is left, and the watch will end soon. */
  isLingering = false;
  /** Requests under way that read the whole queue. */
  #fullCount = 0;
  /** The slots that entries of this process can use again, and how many there are. */
  #freeSlots: string[] = [];
  #slotCount = 0;
  #slotPrefix = '';
  #wakeAll: (() => void)[] = [];
  #entries = new Map<string, Entry>();
  #syncedRevision = 0;
  #isSorted = true;
  #lastPlace = 0;
  /** Deletions of unknown entries, while replies from before the deletion may still arrive, with their revisions. */
  readonly #deleted = new Map<string, number>();

  constructor(keys: LockKeys) {
    this.keys = keys;
  }

  get syncedRevision(): number {
    return this.#syncedRevision;
  }

  /**
   * Adds the entries of a reply of this revision, which has those that were created from `fromRevision` on. False: the
   * entries before are not known any more, and the reply was ignored.
   */
  merge(entries: readonly Entry[], revision: number, fromRevision = 0): boolean {
    if (this.unwatch === undefined && revision > this.#syncedRevision) this.clear();
    if (fromRevision > this.#syncedRevision + 1) return false;
    for (const entry of entries) {
      const isUnknown = entry.createRevision > this.#syncedRevision;
      const isDeleted = (this.#deleted.get(entry.key) ?? 0) > entry.createRevision;
      if (isUnknown && !isDeleted) this.#add(entry);
    }
    this.#syncedRevision = Math.max(this.#syncedRevision, revision);
    return true;
  }

  /** Forgets all entries: the next reply must have all. Without a watch, what is known goes out of date. */
  clear(): void {
    this.#entries.clear();
    this.#syncedRevision = 0;
  }

  /** The key was deleted at this revision. An entry that was created later under the same key stays. */
  delete(key: string, revision: number): void {
    const entry = this.#entries.get(key);
    if (entry === undefined && this.pendingCount > 0) this.#deleted.set(key, revision);
    if (entry !== undefined && entry.createRevision < revision) this.#entries.delete(key);
  }

  requestEnded(): void {
    this.pendingCount--;
    if (this.pendingCount === 0) this.#deleted.clear();
  }

  /** A slot that no entry of this process uses. Those with another prefix are not used any more. */
  takeSlot(prefix: string): string {
    if (prefix !== this.#slotPrefix) {
      this.#slotPrefix = prefix;
      this.#freeSlots = [];
      this.#slotCount = 0;
    }
    return this.#freeSlots.pop() ?? `${prefix}${(this.#slotCount++).toString(36)}`;
  }

  /** etcd has deleted the key of this slot, and no request about it is under way. */
  returnSlot(slot: string): void {
    if (slot.startsWith(this.#slotPrefix)) this.#freeSlots.push(slot);
  }

  /** Whether the queue is long, so that it should be watched, and read only in part. */
  get isLong(): boolean {
    return this.#entries.size > MAX_SHORT;
  }

  /**
   * Whether a request needs to read only what is new. That is so if the queue is watched and long, or entries of this
   * process wait: otherwise a request reads all, so that it can be granted the lock at once.
   */
  get #isPartial(): boolean {
    const isKnown = this.unwatch !== undefined && this.#syncedRevision > 0;
    return isKnown && (this.waiting.size > 0 || this.isLong);
  }

  /**
   * Starts a request that adds an entry. True: it needs to read only what is new. A few requests at a time read all: the
   * others wait for their replies.
   */
  async startReading(): Promise<boolean> {
    while (!this.#isPartial && this.#fullCount >= MAX_FULL) {
      await new Promise<void>((resolve) => this.#wakeAll.push(resolve));
    }
    const isPartial = this.#isPartial;
    if (!isPartial) this.#fullCount++;
    return isPartial;
  }

  /** Ends a request for which `startReading` returned this. */
  endReading(isPartial: boolean): void {
    if (isPartial) return;
    this.#fullCount--;
    for (const wake of this.#wakeAll.splice(0)) wake();
  }

  has(key: string): boolean {
    return this.#entries.has(key);
  }

  /** From 1 on, without the admitted entries. Undefined: the entry is not in the queue, or admitted. */
  placeOf(key: string): number | undefined {
    let place = 1 - this.admitted().length;
    for (const each of this.#sorted().keys()) {
      if (each === key) return place > 0 ? place : undefined;
      place++;
    }
    return undefined;
  }

  admitted(): Entry[] {
    return admitted(this.#sorted().values());
  }

  #add(entry: Entry): void {
    const isLast = this.#isSorted && entry.place > this.#lastPlace;
    this.#isSorted &&= isLast || this.#entries.size === 0;
    this.#lastPlace = entry.place;
    // Another client uses its keys again: a Map would keep the place of the entry that had this key before.
    this.#entries.delete(entry.key);
    this.#entries.set(entry.key, entry);
  }

  #sorted(): ReadonlyMap<string, Entry> {
    if (!this.#isSorted) {
      const entries = [...this.#entries.values()].sort(byPlace);
      this.#entries = new Map(entries.map((entry) => [entry.key, entry]));
      this.#lastPlace = entries.at(-1)?.place ?? 0;
      this.#isSorted = true;
    }
    return this.#entries;
  }
}

/** Requests of one process that read the whole queue of a lock at the same time. */
const MAX_FULL = 8;
/** A queue with more entries is long. */
const MAX_SHORT = 32;
