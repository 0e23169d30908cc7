import type { Random } from '../clock/index.ts';

/**
 * Names to values in dense arrays: the body of hashes, sets and sorted sets.
 *
 * Entries sit in slots 0..size-1 without holes; a removal moves the last entry into the hole. That
 * makes a random pick O(1), and gives SCAN its guarantee without a table of cursors: a scan walks the
 * slots *downwards*, and entries only ever move down, into a hole, from the part at the end that the
 * walk has already passed or together with it. An entry that stays is therefore always met, perhaps
 * twice; one that comes during the scan may be missed.
 *
 * Up to eight entries are found by looking at each, as Redis does with its listpacks: most hashes
 * that locks use have two or three fields, and a Map for each would cost more than they do.
 */
export class Dictionary<Value> {
  readonly #names: string[] = [];
  readonly #values: Value[] = [];
  #slots: Map<string, number> | undefined;

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

  /** Returns the value that stood there before. */
  set(name: string, value: Value): Value | undefined {
    const slot = this.#find(name);
    if (slot < 0) {
      this.#append(name, value);
      return undefined;
    }
    const previous = this.#values[slot];
    this.#values[slot] = value;
    return previous;
  }

  /** Returns the value that was removed, or undefined. */
  delete(name: string): Value | undefined {
    const slot = this.#find(name);
    if (slot < 0) return undefined;
    const removed = this.#values[slot];
    const lastName = this.#names.pop()!;
    const lastValue = this.#values.pop()!;
    this.#slots?.delete(name);
    if (slot < this.#names.length) {
      this.#names[slot] = lastName;
      this.#values[slot] = lastValue;
      this.#slots?.set(lastName, slot);
    }
    return removed;
  }

  nameAt(slot: number): string {
    return this.#names[slot]!;
  }

  valueAt(slot: number): Value {
    return this.#values[slot]!;
  }

  /** The names, live: not to be kept across a change. */
  names(): readonly string[] {
    return this.#names;
  }

  /** The values in the order of `names()`, live. */
  values(): readonly Value[] {
    return this.#values;
  }

  randomSlot(random: Random): number {
    return Math.floor(random.next() * this.#names.length);
  }

  /** A step of a scan from `cursor` (0 begins): visits up to `count` slots, returns the next cursor. */
  scan(cursor: number, count: number, visit: (slot: number) => void): number {
    return scanSlots(this.#names.length, cursor, count, visit);
  }

  #find(name: string): number {
    if (this.#slots !== undefined) return this.#slots.get(name) ?? -1;
    return this.#names.indexOf(name);
  }

  #append(name: string, value: Value): void {
    const slot = this.#names.push(name) - 1;
    this.#values.push(value);
    if (this.#slots !== undefined) this.#slots.set(name, slot);
    else if (slot >= SMALL) this.#slots = new Map(this.#names.map((each, at) => [each, at]));
  }
}

const SMALL = 8;

/** Walks slots downwards from `cursor`, where 0 means from the end; 0 is also the end of the walk. */
export function scanSlots(
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
