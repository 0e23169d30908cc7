import type { Disk } from './disk.ts';

/** Reads a file from front to back in large pieces. */
export class Window {
  readonly #disk: Disk;
  readonly #name: string;
  readonly size: number;
  #bytes: Buffer = Buffer.alloc(0);
  #begin = 0;

  constructor(disk: Disk, name: string) {
    this.#disk = disk;
    this.#name = name;
    this.size = disk.size(name);
  }

  /** The bytes at a position: fewer than `length` at the end of the file. Valid until the next call. */
  at(position: number, length: number): Buffer {
    const from = position - this.#begin;
    if (from < 0 || from + length > this.#bytes.length) {
      this.#bytes = this.#disk.read(this.#name, position, Math.max(length, WINDOW_BYTES));
      this.#begin = position;
      return this.#bytes.subarray(0, length);
    }
    return this.#bytes.subarray(from, from + length);
  }

  text(position: number, length: number): string {
    return this.at(position, length).latin1Slice();
  }
}

const WINDOW_BYTES = 1024 * 1024;
