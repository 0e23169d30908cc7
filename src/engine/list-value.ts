import { Footprint, stringBytes } from './footprint.ts';
import type { Journal } from './journal.ts';

export type End = 'left' | 'right';

/**
 * A list in a ring buffer: push and pop at both ends and access by index are O(1). The buffer doubles when it is
 * full and halves when three quarters are empty. Every change records its inverse while the journal is active.
 */
export class ListValue extends Footprint {
  readonly type = 'list';
  readonly encoding = 'quicklist';
  readonly journal: Journal;
  /** Its length is a power of two. Unused places hold an empty string. */
  #ring: string[] = emptyRing(MIN_CAPACITY);
  #first = 0;
  #size = 0;

  constructor(journal: Journal) {
    super(EMPTY_BYTES);
    this.journal = journal;
  }

  get size(): number {
    return this.#size;
  }

  /** The element at an index from 0 to size - 1. */
  at(index: number): string {
    return this.#ring[this.#place(index)]!;
  }

  push(end: End, element: string): void {
    this.#pushRaw(end, element);
    if (this.journal.active) this.journal.record(() => this.#popRaw(end));
    if (this.journal.changes.isOn) {
      this.journal.changes.add(this, end === 'left' ? 'LPUSH' : 'RPUSH', element);
    }
  }

  /** Removes and returns the element at an end. The list must not be empty. */
  pop(end: End): string {
    const element = this.#popRaw(end);
    if (this.journal.active) {
      this.journal.record(() => this.#pushRaw(end, element), stringBytes(element));
    }
    if (this.journal.changes.isOn) {
      this.journal.changes.add(this, end === 'left' ? 'LPOP' : 'RPOP', '1');
    }
    return element;
  }

  set(index: number, element: string): void {
    const place = this.#place(index);
    if (this.journal.active) {
      const previous = this.#ring[place]!;
      this.journal.record(() => this.#put(this.#place(index), previous), stringBytes(previous));
    }
    this.#put(place, element);
    if (this.journal.changes.isOn) this.journal.changes.add(this, 'LSET', String(index), element);
  }

  /** Inserts an element before the one at `index`. */
  insert(index: number, element: string): void {
    this.#splice(index, 0, element);
    if (this.journal.active) this.journal.record(() => this.#splice(index, 1));
    if (this.journal.changes.isOn) this.journal.changes.add(this, 'IMAGE');
  }

  /** Removes the elements that equal `element`, at most `limit` from the given end; returns how many. */
  remove(element: string, limit: number, from: End): number {
    const kept: string[] = [];
    const removedAt: number[] = [];
    for (let step = 0; step < this.#size; step++) {
      const index = from === 'left' ? step : this.#size - 1 - step;
      const each = this.at(index);
      if (each === element && removedAt.length < limit) removedAt.push(index);
      else kept.push(each);
    }
    if (removedAt.length === 0) return 0;
    if (from === 'right') {
      kept.reverse();
      removedAt.reverse();
    }
    this.#fill(kept);
    if (this.journal.active)
      this.journal.record(
        () => this.#putBack(element, removedAt),
        removedAt.length * elementBytes(element),
      );
    if (this.journal.changes.isOn) {
      const count = from === 'left' ? removedAt.length : -removedAt.length;
      this.journal.changes.add(this, 'LREM', String(count), element);
    }
    return removedAt.length;
  }

  /** The elements from `begin` to `end`, without `end`. Both must be within the list. */
  slice(begin: number, end: number): string[] {
    const firstPlace = this.#place(begin);
    const length = Math.max(0, end - begin);
    const untilWrap = Math.min(length, this.#ring.length - firstPlace);
    const head = this.#ring.slice(firstPlace, firstPlace + untilWrap);
    return untilWrap === length ? head : head.concat(this.#ring.slice(0, length - untilWrap));
  }

  copy(): ListValue {
    const copy = new ListValue(this.journal);
    copy.#fill(this.slice(0, this.#size));
    return copy;
  }

  #put(place: number, element: string): void {
    this.grow(stringBytes(element) - stringBytes(this.#ring[place]!));
    this.#ring[place] = element;
  }

  #place(index: number): number {
    return (this.#first + index) & (this.#ring.length - 1);
  }

  #pushRaw(end: End, element: string): void {
    if (this.#size === this.#ring.length) this.#resize(this.#size * 2);
    if (end === 'right') {
      this.#ring[this.#place(this.#size)] = element;
    } else {
      this.#first = this.#place(-1);
      this.#ring[this.#first] = element;
    }
    this.#size++;
    this.grow(elementBytes(element));
  }

  #popRaw(end: End): string {
    const place = end === 'left' ? this.#first : this.#place(this.#size - 1);
    const element = this.#ring[place]!;
    this.#ring[place] = '';
    if (end === 'left') this.#first = this.#place(1);
    this.#size--;
    this.grow(-elementBytes(element));
    const capacity = this.#ring.length;
    if (capacity > MIN_CAPACITY && this.#size * 4 <= capacity) this.#resize(capacity / 2);
    return element;
  }

  #resize(capacity: number): void {
    const elements = this.slice(0, this.#size);
    const ring = emptyRing(capacity);
    for (let at = 0; at < elements.length; at++) ring[at] = elements[at]!;
    this.#ring = ring;
    this.#first = 0;
  }

  #splice(index: number, removed: number, ...added: readonly string[]): void {
    const elements = this.slice(0, this.#size);
    elements.splice(index, removed, ...added);
    this.#fill(elements);
  }

  /** The inverse of `remove`: inserts the element at each of the indexes, which ascend. */
  #putBack(element: string, indexes: readonly number[]): void {
    const kept = this.slice(0, this.#size);
    const elements: string[] = [];
    let next = 0;
    for (const each of kept) {
      for (; indexes[next] === elements.length; next++) elements.push(element);
      elements.push(each);
    }
    for (; next < indexes.length; next++) elements.push(element);
    this.#fill(elements);
  }

  #fill(elements: readonly string[]): void {
    let capacity = MIN_CAPACITY;
    while (capacity < elements.length) capacity *= 2;
    const ring = emptyRing(capacity);
    for (let at = 0; at < elements.length; at++) ring[at] = elements[at]!;
    this.#ring = ring;
    this.#first = 0;
    this.#size = elements.length;
    let bytes = EMPTY_BYTES;
    for (const element of elements) bytes += elementBytes(element);
    this.grow(bytes - this.bytes);
  }
}

function elementBytes(element: string): number {
  return ELEMENT_BYTES + stringBytes(element);
}

const EMPTY_BYTES = 184;
/** The memory of an element in the ring, just after it has grown. */
const ELEMENT_BYTES = 16;

function emptyRing(capacity: number): string[] {
  return new Array<string>(capacity).fill('');
}

const MIN_CAPACITY = 4;
