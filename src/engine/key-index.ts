import { nameHash } from './name-hash.ts';

/**
 * From a key to its slot: an open-addressing hash table of slot numbers, kept in typed arrays.
 *
 * A JavaScript Map would do the same, with three drawbacks at a million keys: it takes twice the
 * memory, it holds at most 2^24 entries, and it doubles in one step, which stalls everybody for as
 * long as it takes to move every entry. Here the table is cut into 256 segments by the top bits of
 * the hash, and each grows alone, so that the longest stall is 1/256 of that. The hash starts from a
 * random seed, so that nobody outside can choose keys that collide.
 *
 * Removal shifts the entries behind the hole back instead of leaving a tombstone: a lock server
 * deletes as often as it inserts, and tombstones would fill the table.
 */
export class KeyIndex {
  readonly #seed: number;
  readonly #segments: Segment[] = [];
  /** Commands look a key up, then insert or remove it: its hash is counted once. */
  #lastKey = '';
  #lastHash: number;

  constructor(seed: number) {
    this.#seed = seed | 0;
    this.#lastHash = nameHash('', this.#seed);
    for (let at = 0; at < SEGMENTS; at++) this.#segments.push(NO_SEGMENT);
  }

  /** The slot of `key`, or -1. `keys` is where the slots point. */
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

  /** Adds a key that is not there. */
  insert(key: string, slot: number): void {
    const hash = this.#hashOf(key);
    const at = hash >>> SEGMENT_SHIFT;
    if (this.#segments[at] === NO_SEGMENT) this.#segments[at] = new Segment();
    this.#segments[at]!.insert(hash, slot);
  }

  /** Removes a key that is there, at `slot`. */
  remove(key: string, slot: number): void {
    const hash = this.#hashOf(key);
    this.#segments[hash >>> SEGMENT_SHIFT]!.remove(hash, slot);
  }

  /** The key at `from` now lives at `to`. */
  move(key: string, from: number, to: number): void {
    const hash = nameHash(key, this.#seed);
    const segment = this.#segments[hash >>> SEGMENT_SHIFT]!;
    segment.cells[2 * segment.locate(hash, from)] = to;
  }

  #hashOf(key: string): number {
    if (key === this.#lastKey) return this.#lastHash;
    this.#lastKey = key;
    this.#lastHash = nameHash(key, this.#seed);
    return this.#lastHash;
  }
}

const SEGMENTS = 256;
const SEGMENT_SHIFT = 24;
const EMPTY = -1;
const SMALLEST = 8;

class Segment {
  /** Slot and hash in turn, so that a probe reads one line of memory. */
  cells = new Int32Array(2 * SMALLEST).fill(EMPTY);
  mask = SMALLEST - 1;
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
      // An entry may move back into the hole unless its home lies between the hole and itself.
      if (((at - home) & mask) >= ((at - hole) & mask)) {
        cells[2 * hole] = cells[2 * at]!;
        cells[2 * hole + 1] = cells[2 * at + 1]!;
        hole = at;
      }
    }
    cells[2 * hole] = EMPTY;
    this.count--;
    if (mask >= SMALLEST && this.count * 8 < mask) this.#resize((mask + 1) / 2);
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

/** Stands for every segment without entries, since an engine has many and most stay empty. */
const NO_SEGMENT = new Segment();
