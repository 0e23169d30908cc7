import { DeadlineHeap } from './deadline-heap.ts';
import { Footprint, stringBytes } from './footprint.ts';
import { KeyIndex, MAX_PREFETCHED } from './key-index.ts';
import type { Value } from './value.ts';

/**
 * The keys of one database in parallel arrays: slot i has a key, a value, a deadline and the time of its last use.
 * The slots have no holes, as in Dictionary. A lock takes two strings and some forty bytes, and no object.
 *
 * This is storage only. Database handles expiry, WATCH and events.
 */
export class Keyspace {
  /** The bytes of all keys and values. */
  readonly footprint = new Footprint();
  readonly keys: string[] = [];
  readonly values: Value[] = [];
  readonly deadlines = new DeadlineHeap();
  readonly #index: KeyIndex;
  #usedSeconds = new Uint32Array(16);

  constructor(seed: number) {
    this.#index = new KeyIndex(seed);
  }

  get size(): number {
    return this.keys.length;
  }

  find(key: string): number {
    // As in Redis, an empty key space needs no hash: clients often delete keys that do not exist.
    return this.keys.length === 0 ? -1 : this.#index.find(key, this.keys);
  }

  /**
   * Reads what commands on the first keys of these requests will read. Each loop reads for all requests, so that the
   * processor waits for memory once and not once for each: among 100,000 keys, a lookup alone waits for 300 to 400 ns.
   */
  prefetch(requests: readonly (readonly string[])[]): void {
    // A small key space is in the processor's cache already.
    if (this.keys.length < MIN_PREFETCHED_KEYS) return;
    const keys: string[] = [];
    const count = Math.min(requests.length, MAX_PREFETCHED);
    for (let at = 0; at < count; at++) keys.push(prefetchedKey(requests[at]!));
    this.#index.prefetch(keys, prefetchedSlots);
    let sum = 0;
    for (let at = 0; at < count; at++) sum += this.#readKey(prefetchedSlots[at]!);
    for (let at = 0; at < count; at++) sum += this.#readValue(prefetchedSlots[at]!);
    // The compiler must not remove the reads.
    prefetchedSlots[0] = sum;
  }

  #readKey(slot: number): number {
    if (slot < 0) return 0;
    return this.keys[slot]!.length + this.usedSeconds(slot) + this.deadlines.get(slot);
  }

  #readValue(slot: number): number {
    if (slot < 0) return 0;
    const value = this.values[slot]!;
    return typeof value === 'string' ? value.length : 0;
  }

  /** Adds a key, which must not exist. Returns its slot. */
  insert(key: string, value: Value, deadlineMs: number): number {
    this.footprint.grow(SLOT_BYTES + stringBytes(key));
    this.#countIn(value);
    const slot = this.keys.push(key) - 1;
    this.values.push(value);
    this.#index.insert(key, slot);
    this.deadlines.set(slot, deadlineMs);
    return slot;
  }

  remove(slot: number): void {
    this.footprint.grow(-SLOT_BYTES - stringBytes(this.keys[slot]!));
    this.#countOut(this.values[slot]!);
    this.deadlines.set(slot, Number.POSITIVE_INFINITY);
    this.#index.remove(this.keys[slot]!, slot);
    const last = this.keys.length - 1;
    if (slot !== last) this.#moveLast(last, slot);
    this.keys.pop();
    this.values.pop();
  }

  setValue(slot: number, value: Value): void {
    this.#countOut(this.values[slot]!);
    this.#countIn(value);
    this.values[slot] = value;
  }

  /** The inverse of `remove`: the key returns to its slot, and the key that had moved there to the end. */
  restore(slot: number, key: string, value: Value, deadlineMs: number): void {
    const end = this.insert(key, value, deadlineMs);
    if (slot >= end) return;
    const moved = this.keys[slot]!;
    const movedDeadlineMs = this.deadlines.get(slot);
    this.#index.move(key, end, slot);
    this.#index.move(moved, slot, end);
    this.keys[end] = moved;
    this.keys[slot] = key;
    this.values[end] = this.values[slot]!;
    this.values[slot] = value;
    this.deadlines.set(slot, deadlineMs);
    this.deadlines.set(end, movedDeadlineMs);
    this.markUsed(end, this.usedSeconds(slot));
  }

  markUsed(slot: number, seconds: number): void {
    if (slot >= this.#usedSeconds.length) {
      const larger = new Uint32Array(Math.ceil(slot * 1.5));
      larger.set(this.#usedSeconds);
      this.#usedSeconds = larger;
    }
    this.#usedSeconds[slot] = seconds;
  }

  usedSeconds(slot: number): number {
    return this.#usedSeconds[slot] ?? 0;
  }

  #countIn(value: Value): void {
    if (typeof value === 'string') this.footprint.grow(stringBytes(value));
    else value.moveInto(this.footprint);
  }

  #countOut(value: Value): void {
    if (typeof value === 'string') this.footprint.grow(-stringBytes(value));
    else value.moveInto(null);
  }

  #moveLast(last: number, hole: number): void {
    const key = this.keys[last]!;
    this.#index.move(key, last, hole);
    this.keys[hole] = key;
    this.values[hole] = this.values[last]!;
    this.deadlines.move(last, hole);
    this.markUsed(hole, this.usedSeconds(last));
  }
}

/** The memory of a key with a deadline in the arrays and the index, just after they have grown. */
export const SLOT_BYTES = 80;

const MIN_PREFETCHED_KEYS = 4096;
/** The hash of a longer key costs more than the wait. */
const MAX_PREFETCHED_LENGTH = 128;
const prefetchedSlots = new Int32Array(MAX_PREFETCHED);

function prefetchedKey(request: readonly string[]): string {
  const isScript = request[0] === 'EVALSHA' || request[0] === 'evalsha';
  const key = request[isScript ? 3 : 1] ?? '';
  return key.length > MAX_PREFETCHED_LENGTH ? '' : key;
}
