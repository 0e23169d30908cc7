import type { Random } from '../clock/index.ts';
import { Dictionary } from './dictionary.ts';
import { Footprint, stringBytes } from './footprint.ts';
import type { Journal } from './journal.ts';

/** A hash. Every change records its inverse while the journal is active. */
export class HashValue extends Footprint {
  readonly type = 'hash';
  readonly journal: Journal;
  #entries = new Dictionary<string>();
  /** Redis would have converted the listpack to a hash table. It never converts back. */
  #isTable = false;

  constructor(journal: Journal) {
    super(EMPTY_BYTES);
    this.journal = journal;
  }

  get size(): number {
    return this.#entries.size;
  }

  get encoding(): 'listpack' | 'hashtable' {
    return this.#isTable ? 'hashtable' : 'listpack';
  }

  get(field: string): string | undefined {
    return this.#entries.get(field);
  }

  has(field: string): boolean {
    return this.#entries.has(field);
  }

  /** Returns true if the field is new. */
  set(field: string, value: string): boolean {
    const previous = this.#put(field, value);
    if (this.journal.active) this.#recordSet(field, previous);
    if (this.journal.changes.isOn) this.journal.changes.add(this, 'HSET', field, value);
    if (!this.#isTable) this.#convertIfLarge(field, value);
    return previous === undefined;
  }

  /** Returns true if the field existed. */
  delete(field: string): boolean {
    const slot = this.#entries.slotOf(field);
    if (slot < 0) return false;
    const value = this.#removeAt(slot);
    if (this.journal.active) {
      this.journal.record(() => this.#restoreAt(slot, field, value), entryBytes(field, value));
    }
    if (this.journal.changes.isOn) this.journal.changes.add(this, 'HDEL', field);
    return true;
  }

  /** The fields, as a live view: do not use it after a change. */
  fields(): readonly string[] {
    return this.#entries.names();
  }

  /** The values in the order of `fields()`, as a live view. */
  values(): readonly string[] {
    return this.#entries.values();
  }

  fieldAt(slot: number): string {
    return this.#entries.nameAt(slot);
  }

  valueAt(slot: number): string {
    return this.#entries.valueAt(slot);
  }

  randomField(random: Random): string {
    return this.#entries.nameAt(this.#entries.randomSlot(random));
  }

  /** One step of HSCAN. As in Redis, a small hash is visited in one step, whatever the count. */
  scan(cursor: number, count: number, visit: (slot: number) => void): number {
    if (this.#isTable) return this.#entries.scan(cursor, count, visit);
    for (let slot = 0; slot < this.#entries.size; slot++) visit(slot);
    return 0;
  }

  copy(): HashValue {
    const copy = new HashValue(this.journal);
    copy.#entries = this.#entries.copy();
    copy.#isTable = this.#isTable;
    copy.bytes = this.bytes;
    return copy;
  }

  #put(field: string, value: string): string | undefined {
    const previous = this.#entries.set(field, value);
    if (previous === undefined) this.grow(entryBytes(field, value));
    else this.grow(stringBytes(value) - stringBytes(previous));
    return previous;
  }

  #removeAt(slot: number): string {
    const field = this.#entries.nameAt(slot);
    const value = this.#entries.removeAt(slot);
    this.grow(-entryBytes(field, value));
    return value;
  }

  #restoreAt(slot: number, field: string, value: string): void {
    this.#entries.restoreAt(slot, field, value);
    this.grow(entryBytes(field, value));
  }

  #recordSet(field: string, previous: string | undefined): void {
    this.journal.record(
      () => {
        if (previous !== undefined) this.#put(field, previous);
        else this.#removeAt(this.#entries.size - 1);
      },
      previous === undefined ? 0 : stringBytes(previous),
    );
  }

  #convertIfLarge(field: string, value: string): void {
    if (
      field.length <= LISTPACK_BYTES &&
      value.length <= LISTPACK_BYTES &&
      this.#entries.size <= LISTPACK_ENTRIES
    ) {
      return;
    }
    this.#isTable = true;
    if (this.journal.active) {
      this.journal.record(() => {
        this.#isTable = false;
      });
    }
  }
}

function entryBytes(field: string, value: string): number {
  return ENTRY_BYTES + stringBytes(field) + stringBytes(value);
}

const EMPTY_BYTES = 480;
/** A field's places in the dictionary, when that has just grown. */
const ENTRY_BYTES = 80;
/** Redis's defaults of hash-max-listpack-value and hash-max-listpack-entries. */
const LISTPACK_BYTES = 64;
const LISTPACK_ENTRIES = 512;
