/**
 * A four-ary heap of slot numbers, ordered by deadline. An index of every slot's position in the heap makes
 * setting, moving and removing any deadline O(log n). It takes two integers per key with a deadline, in typed
 * arrays that the garbage collector does not traverse.
 *
 * Slots with equal deadlines are ordered by slot number, so that a rollback restores the order exactly.
 */
export class DeadlineHeap {
  /** By slot: its deadline on the monotonic clock, or NEVER. */
  deadlines = new Float64Array(INITIAL).fill(NEVER);
  #places = new Int32Array(INITIAL).fill(NOWHERE);
  #heap = new Int32Array(INITIAL);
  #size = 0;

  /** The number of slots with a deadline. */
  get size(): number {
    return this.#size;
  }

  /** The slot with the earliest deadline, or -1. */
  first(): number {
    return this.#size === 0 ? -1 : this.#heap[0]!;
  }

  get(slot: number): number {
    return slot < this.deadlines.length ? this.deadlines[slot]! : NEVER;
  }

  set(slot: number, deadlineMs: number): void {
    if (slot >= this.deadlines.length) {
      if (deadlineMs === NEVER) return;
      this.#grow(slot);
    }
    const place = this.#places[slot]!;
    if (deadlineMs === NEVER) {
      if (place !== NOWHERE) this.#drop(slot, place);
      return;
    }
    this.deadlines[slot] = deadlineMs;
    if (place === NOWHERE) this.#append(slot);
    else this.#settle(slot, place);
  }

  /** Moves the deadline of slot `from` to slot `to`, which must have none. */
  move(from: number, to: number): void {
    if (from >= this.deadlines.length) return;
    const place = this.#places[from]!;
    if (place === NOWHERE) return;
    this.deadlines[to] = this.deadlines[from]!;
    this.#put(to, place);
    this.#places[from] = NOWHERE;
    this.deadlines[from] = NEVER;
    this.#settle(to, place);
  }

  #append(slot: number): void {
    if (this.#size === this.#heap.length) this.#heap = resized(this.#heap, this.#size * 2);
    this.#put(slot, this.#size++);
    this.#rise(slot, this.#size - 1);
  }

  #drop(slot: number, place: number): void {
    this.#places[slot] = NOWHERE;
    this.deadlines[slot] = NEVER;
    const last = this.#heap[--this.#size]!;
    if (last === slot) return;
    this.#put(last, place);
    this.#settle(last, place);
  }

  #settle(slot: number, place: number): void {
    if (!this.#rise(slot, place)) this.#sink(slot, place);
  }

  #rise(slot: number, start: number): boolean {
    let place = start;
    while (place > 0) {
      const parentPlace = (place - 1) >> 2;
      const parent = this.#heap[parentPlace]!;
      if (this.#isBefore(parent, slot)) break;
      this.#put(parent, place);
      place = parentPlace;
    }
    if (place === start) return false;
    this.#put(slot, place);
    return true;
  }

  #sink(slot: number, start: number): void {
    let place = start;
    for (;;) {
      const childPlace = this.#earliestChild(place);
      if (childPlace < 0 || this.#isBefore(slot, this.#heap[childPlace]!)) break;
      this.#put(this.#heap[childPlace]!, place);
      place = childPlace;
    }
    this.#put(slot, place);
  }

  #earliestChild(place: number): number {
    const begin = place * 4 + 1;
    const end = Math.min(begin + 4, this.#size);
    if (begin >= end) return -1;
    let best = begin;
    for (let at = begin + 1; at < end; at++) {
      if (this.#isBefore(this.#heap[at]!, this.#heap[best]!)) best = at;
    }
    return best;
  }

  #isBefore(slot: number, other: number): boolean {
    const deadlineMs = this.deadlines[slot]!;
    const otherMs = this.deadlines[other]!;
    return deadlineMs < otherMs || (deadlineMs === otherMs && slot < other);
  }

  #put(slot: number, place: number): void {
    this.#heap[place] = slot;
    this.#places[slot] = place;
  }

  #grow(slot: number): void {
    const capacity = Math.max(slot + 1, Math.ceil(this.deadlines.length * 1.5));
    const deadlines = new Float64Array(capacity).fill(NEVER, this.deadlines.length);
    deadlines.set(this.deadlines);
    const places = new Int32Array(capacity).fill(NOWHERE, this.#places.length);
    places.set(this.#places);
    this.deadlines = deadlines;
    this.#places = places;
  }
}

/** The deadline of a key that has none. */
export const NEVER = Number.POSITIVE_INFINITY;

const INITIAL = 16;
const NOWHERE = -1;

function resized(array: Int32Array<ArrayBuffer>, capacity: number): Int32Array<ArrayBuffer> {
  const larger = new Int32Array(capacity);
  larger.set(array);
  return larger;
}
