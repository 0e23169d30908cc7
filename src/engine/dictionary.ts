import type { Random } from '../clock/index.ts';
import { NameMap } from './name-map.ts';

/**
 * A map from names to values in dense arrays: the storage of hashes, sets and sorted sets.
 *
 * Entries are in slots 0..size-1 without holes. A removal moves the last entry into the hole; in a small
 * dictionary it moves every later entry down by one. So a random pick is O(1), and SCAN needs no table of
 * cursors: a scan visits the slots *downwards*, and entries only move down, from slots that the scan has
 * already visited. A scan returns every entry that stays, perhaps twice. It may miss an entry that is added
 * during the scan.
 *
 * Up to eight entries are found by a linear search, as in Redis's listpacks: most hashes of locks have two or
 * three fields, and a Map for each would take more memory than the fields.
 */
export class Dictionary<Value> {
  readonly #names: string[] = [];
  readonly #values: Value[] = [];
  #slots: NameMap<number> | undefined;

  get size(): number {
    return this.#names.length;
  }

  has(name: string): boolean {
    return this.#find(name) >= 0;
  }

  get(name: string): Value | undefined {
    const slot = this.#find(name);
    return slot < 0 ? undefined : this.#values[slot];
  }

  /** Returns the previous value, or undefined. */
  set(name: string, value: Value): Value | undefined {
    const slot = this.#find(name);
    if (slot < 0) {
      this.append(name, value);
      return undefined;
    }
    const previous = this.#values[slot];
    this.#values[slot] = value;
    return previous;
  }

  /** Adds a name. It must not exist. */
  append(name: string, value: Value): void {
    const slot = this.#names.push(name) - 1;
    this.#values.push(value);
    if (this.#slots !== undefined) this.#slots.set(name, slot);
    else if (slot >= SMALL) this.#index();
  }

  /** Returns the value that was removed, or undefined. */
  delete(name: string): Value | undefined {
    const slot = this.#find(name);
    return slot < 0 ? undefined : this.removeAt(slot);
  }

  /** The slot of the name, or -1. */
  slotOf(name: string): number {
    return this.#find(name);
  }

  setAt(slot: number, value: Value): void {
    this.#values[slot] = value;
  }

  /** Removes the entry of a slot that is in use. */
  removeAt(slot: number): Value {
    const removed = this.#values[slot]!;
    this.#slots?.delete(this.#names[slot]!);
    if (this.#names.length <= SMALL) this.#closeGap(slot);
    else this.#fillFromEnd(slot);
    return removed;
  }

  /** The exact inverse of `removeAt`: restores the slot of every entry. */
  restoreAt(slot: number, name: string, value: Value): void {
    if (slot === this.#names.length) {
      this.append(name, value);
    } else if (this.#names.length < SMALL) {
      this.#names.splice(slot, 0, name);
      this.#values.splice(slot, 0, value);
      this.#numberFrom(slot);
    } else {
      this.append(this.#names[slot]!, this.#values[slot]!);
      this.#names[slot] = name;
      this.#values[slot] = value;
      this.#slots?.set(name, slot);
    }
  }

  copy(): Dictionary<Value> {
    const copy = new Dictionary<Value>();
    for (let slot = 0; slot < this.#names.length; slot++) {
      copy.append(this.#names[slot]!, this.#values[slot]!);
    }
    return copy;
  }

  nameAt(slot: number): string {
    return this.#names[slot]!;
  }

  valueAt(slot: number): Value {
    return this.#values[slot]!;
  }

  /** The names, as a live view: do not use it after a change. */
  names(): readonly string[] {
    return this.#names;
  }

  /** The values in the order of `names()`, as a live view. */
  values(): readonly Value[] {
    return this.#values;
  }

  randomSlot(random: Random): number {
    return Math.floor(random.next() * this.#names.length);
  }

  /** One step of a scan from `cursor` (0 to begin): visits up to `count` slots, returns the next cursor. */
  scan(cursor: number, count: number, visit: (slot: number) => void): number {
    return scanSlots(this.#names.length, cursor, count, visit);
  }

  #index(): void {
    this.#slots = new NameMap();
    this.#numberFrom(0);
  }

  #find(name: string): number {
    if (this.#slots !== undefined) return this.#slots.get(name) ?? -1;
    return this.#names.indexOf(name);
  }

  /** A small dictionary keeps its order, like a listpack: clients see it in HGETALL. */
  #closeGap(slot: number): void {
    this.#names.splice(slot, 1);
    this.#values.splice(slot, 1);
    this.#numberFrom(slot);
  }

  #fillFromEnd(slot: number): void {
    const lastName = this.#names.pop()!;
    const lastValue = this.#values.pop()!;
    if (slot === this.#names.length) return;
    this.#names[slot] = lastName;
    this.#values[slot] = lastValue;
    this.#slots?.set(lastName, slot);
  }

  #numberFrom(begin: number): void {
    if (this.#slots === undefined) return;
    for (let slot = begin; slot < this.#names.length; slot++) {
      this.#slots.set(this.#names[slot]!, slot);
    }
  }
}

const SMALL = 8;

/** Visits slots downwards from `cursor`; 0 means from the last one. Returns 0 at the end of the scan. */
function scanSlots(
  size: number,
  cursor: number,
  count: number,
  visit: (slot: number) => void,
): number {
  const begin = cursor === 0 ? size : Math.min(cursor, size);
  const end = Math.max(begin - count, 0);
  for (let slot = begin - 1; slot >= end; slot--) visit(slot);
  return end;
}
