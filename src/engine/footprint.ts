/**
 * Counts the bytes of a value, a key space or a whole engine. A footprint may be part of another one, which counts
 * its bytes too: value → key space → engine. So the total is always known, and every change costs a few additions.
 *
 * The bytes estimate the allocations of V8, measured at the worst fill of each structure and rounded up: the sum
 * must never be less than the heap holds.
 */
export class Footprint {
  bytes: number;
  #outer: Footprint | null = null;

  constructor(bytes = 0) {
    this.bytes = bytes;
  }

  /** Whether it is part of another footprint: a value is part of one if it is stored at a key. */
  get isPart(): boolean {
    return this.#outer !== null;
  }

  /** Adds bytes; a negative number removes them. */
  grow(bytes: number): void {
    this.bytes += bytes;
    this.#outer?.grow(bytes);
  }

  /** Makes this footprint, with all its bytes, part of another one; null: of none. */
  moveInto(outer: Footprint | null): void {
    this.#outer?.grow(-this.bytes);
    this.#outer = outer;
    outer?.grow(this.bytes);
  }
}

/** The bytes of a string: V8's header, and the chars rounded up to 8 bytes. */
export function stringBytes(text: string): number {
  return 16 + ((text.length + 7) & ~7);
}

/** The bytes of a command's arguments as strings in an array. */
export function argumentBytes(argv: readonly string[]): number {
  let bytes = 0;
  for (const argument of argv) bytes += 16 + stringBytes(argument);
  return bytes;
}
