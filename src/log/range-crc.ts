import { crc32 } from './crc32.ts';
import type { Disk } from './disk.ts';

/**
 * The CRCs of parts of a file. One pass over the file is enough for all of them, so that many parts which overlap take
 * no longer than their number.
 */
export class RangeCrc {
  readonly #disk: Disk;
  readonly #name: string;
  readonly #begin: number;
  /** The CRCs of the bytes from the begin up to each block. */
  readonly #blocks: number[] = [];

  constructor(disk: Disk, name: string, begin: number) {
    this.#disk = disk;
    this.#name = name;
    this.#begin = begin;
    let crc = 0;
    for (let at = begin, size = disk.size(name); at < size; at += PIECE_BYTES) {
      const piece = disk.read(name, at, PIECE_BYTES);
      for (let block = 0; block < piece.length; block += BLOCK_BYTES) {
        this.#blocks.push(crc);
        crc = crc32(piece.subarray(block, block + BLOCK_BYTES), crc);
      }
    }
    this.#blocks.push(crc);
  }

  /** The CRC of the bytes from `from` up to `to`, continued from that of earlier bytes. */
  of(from: number, to: number, earlier: number): number {
    // CRCs are linear: two that begin differently differ, after the same bytes, by their first difference times x^(8 n).
    const difference = product(power(to - from), (earlier ^ this.#upTo(from)) >>> 0);
    return (this.#upTo(to) ^ difference) >>> 0;
  }

  /** The CRC of the bytes before a position. */
  #upTo(position: number): number {
    const rest = (position - this.#begin) % BLOCK_BYTES;
    const crc = this.#blocks[(position - this.#begin - rest) / BLOCK_BYTES]!;
    if (rest === 0) return crc;
    return crc32(this.#disk.read(this.#name, position - rest, rest), crc);
  }
}

const BLOCK_BYTES = 4096;
const PIECE_BYTES = 256 * BLOCK_BYTES;
const POLYNOMIAL = 0xed_b8_83_20;
/** In CRC-32 the highest bit is the lowest power. */
const ONE = 0x80_00_00_00;
const X_TO_8 = ONE >>> 8;

/** x^(8 n), modulo the polynomial. */
function power(bytes: number): number {
  let result = ONE;
  let square = X_TO_8;
  for (let left = bytes; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = product(square, result);
    square = product(square, square);
  }
  return result;
}

/** Multiplies modulo the polynomial. */
function product(one: number, other: number): number {
  let sum = 0;
  let shifted = other;
  for (let bit = 31; bit >= 0; bit--) {
    if ((one >>> bit) & 1) sum ^= shifted;
    shifted = shifted & 1 ? (shifted >>> 1) ^ POLYNOMIAL : shifted >>> 1;
  }
  return sum >>> 0;
}
