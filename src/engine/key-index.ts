import { nameHash } from './name-hash.ts';

/**
 * An open-addressing hash table from keys to slot numbers, in typed arrays.
 *
 * A JavaScript Map has three drawbacks at a million keys: it takes twice the memory, it holds at most 2^24
 * entries, and it doubles in one step, which stalls all clients while every entry is moved. This table has 256
 * segments by the top bits of the hash. Each segment grows alone, so that the longest stall is 1/256 of that. The
 * hash has a random seed, so that clients cannot choose keys that collide.
 *
 * A removal shifts the following entries back instead of leaving a tombstone: a lock server deletes as often as it
 * inserts, and tombstones would fill the table.
 */
export class KeyIndex {
  readonly #seed: number;
  readonly #segments: Segment[] = [];
  /** The hash of the last key. A command that looks a key up and then inserts or removes it hashes it once. */
  #lastKey = '';
  #lastHash: number;
  /** The keys that were prefetched, in the order in which commands will use them, and their hashes. */
  #nextKeys: readonly string[] = [];
  readonly #nextHashes = new Int32Array(MAX_PREFETCHED);
  #nextAt = 0;

  constructor(seed: number) {
    this.#seed = seed | 0;
    this.#lastHash = nameHash('', this.#seed);
    for (let at = 0; at < SEGMENTS; at++) this.#segments.push(NO_SEGMENT);
  }

  /** The slot of `key`, or -1. `keys` has the key of each slot. */
  find(key: string, keys: readonly string[]): number {
    const hash = this.#hashOf(key);
    const segment = this.#segments[hash >>> SEGMENT_SHIFT]!;
    const { cells, mask } = segment;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      const slot = cells[2 * at]!;
      if (slot === EMPTY) return -1;
      if (cells[2 * at + 1] === hash && keys[slot] === key) return slot;
    }
  }

  /**
   * Reads the cells that `find` will read for these keys, and keeps their hashes for it. Writes to `slots` which slot each
   * key has, or -1; a wrong one if another key has the same hash. The first loop does not wait for the cells that it reads,
   * so that the processor loads those of many keys at the same time. There are at most MAX_PREFETCHED keys.
   */
  prefetch(keys: readonly string[], slots: Int32Array): void {
    const hashes = this.#nextHashes;
    this.#nextKeys = keys;
    this.#nextAt = 0;
    for (let at = 0; at < keys.length; at++) {
      const hash = nameHash(keys[at]!, this.#seed);
      const { cells, mask } = this.#segments[hash >>> SEGMENT_SHIFT]!;
      hashes[at] = hash;
      slots[at] = cells[2 * (hash & mask)]!;
    }
    for (let at = 0; at < keys.length; at++) slots[at] = this.#probe(hashes[at]!);
  }

  /** Adds a key. It must not exist. */
  insert(key: string, slot: number): void {
    const hash = this.#hashOf(key);
    const at = hash >>> SEGMENT_SHIFT;
    if (this.#segments[at] === NO_SEGMENT) this.#segments[at] = new Segment();
    this.#segments[at]!.insert(hash, slot);
  }

  /** Removes an existing key, which is at `slot`. */
  remove(key: string, slot: number): void {
    const hash = this.#hashOf(key);
    this.#segments[hash >>> SEGMENT_SHIFT]!.remove(hash, slot);
  }

  /** Changes the slot of a key. */
  move(key: string, from: number, to: number): void {
    const hash = nameHash(key, this.#seed);
    const segment = this.#segments[hash >>> SEGMENT_SHIFT]!;
    segment.cells[2 * segment.locate(hash, from)] = to;
  }

  /** The slot of the first key with this hash, or -1. */
  #probe(hash: number): number {
    const { cells, mask } = this.#segments[hash >>> SEGMENT_SHIFT]!;
    for (let at = hash & mask; ; at = (at + 1) & mask) {
      if (cells[2 * at] === EMPTY || cells[2 * at + 1] === hash) return cells[2 * at]!;
    }
  }

  #hashOf(key: string): number {
    if (key === this.#lastKey) return this.#lastHash;
    this.#lastKey = key;
    const isNext = key === this.#nextKeys[this.#nextAt];
    this.#lastHash = isNext ? this.#nextHashes[this.#nextAt++]! : nameHash(key, this.#seed);
    return this.#lastHash;
  }
}

/** The most keys that are prefetched together. */
export const MAX_PREFETCHED = 64;
const SEGMENTS = 256;
const SEGMENT_SHIFT = 24;
const EMPTY = -1;
const MIN_CELLS = 8;

class Segment {
  /** Pairs of slot and hash, so that a probe reads one cache line. */
  cells = new Int32Array(2 * MIN_CELLS).fill(EMPTY);
  mask = MIN_CELLS - 1;
  count = 0;

  insert(hash: number, slot: number): void {
    if ((this.count + 1) * 4 > (this.mask + 1) * 3) this.#resize((this.mask + 1) * 2);
    this.#place(hash, slot);
    this.count++;
  }

  remove(hash: number, slot: number): void {
    const { cells, mask } = this;
    let hole = this.locate(hash, slot);
    for (let at = (hole + 1) & mask; cells[2 * at] !== EMPTY; at = (at + 1) & mask) {
      const home = cells[2 * at + 1]! & mask;
      // An entry may move back into the hole unless its home cell is between the hole and itself.
      if (((at - home) & mask) >= ((at - hole) & mask)) {
        cells[2 * hole] = cells[2 * at]!;
        cells[2 * hole + 1] = cells[2 * at + 1]!;
        hole = at;
      }
    }
    cells[2 * hole] = EMPTY;
    this.count--;
    if (mask >= MIN_CELLS && this.count * 8 < mask) this.#resize((mask + 1) / 2);
  }

  locate(hash: number, slot: number): number {
    let at = hash & this.mask;
    while (this.cells[2 * at] !== slot) at = (at + 1) & this.mask;
    return at;
  }

  #place(hash: number, slot: number): void {
    let at = hash & this.mask;
    while (this.cells[2 * at] !== EMPTY) at = (at + 1) & this.mask;
    this.cells[2 * at] = slot;
    this.cells[2 * at + 1] = hash;
  }

  #resize(capacity: number): void {
    const { cells } = this;
    this.cells = new Int32Array(2 * capacity).fill(EMPTY);
    this.mask = capacity - 1;
    for (let at = 0; at < cells.length; at += 2) {
      if (cells[at] !== EMPTY) this.#place(cells[at + 1]!, cells[at]!);
    }
  }
}

/** Shared by all segments without entries, because most segments of an engine stay empty. */
const NO_SEGMENT = new Segment();
