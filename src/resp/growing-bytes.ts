import { BULK_HEADERS } from './encoder.ts';

/** Bytes that are appended to, cut and read in place. The memory stays allocated for the next content. */
export class GrowingBytes {
  #bytes: Buffer = NO_BYTES;
  length = 0;

  /** The allocated memory. */
  get capacity(): number {
    return this.#bytes.length;
  }

  /** Appends a text, one latin1 char per byte. */
  text(text: string): void {
    const { length } = text;
    let at = this.length;
    if (at + length > this.#bytes.length) this.#grow(at + length);
    this.length = at + length;
    if (length > MAX_LOOP_BYTES) {
      this.#bytes.latin1Write(text, at);
      return;
    }
    const bytes = this.#bytes;
    for (let index = 0; index < length; index++) bytes[at++] = text.charCodeAt(index);
  }

  /** Appends a text as a bulk string of the wire. */
  bulk(text: string): void {
    this.text(BULK_HEADERS[text.length] ?? `$${text.length}\r\n`);
    this.text(text);
    this.text('\r\n');
  }

  /** Inserts a text before the byte at `position`. */
  insert(position: number, text: string): void {
    const end = this.length;
    this.text(text);
    this.#bytes.copyWithin(position + text.length, position, end);
    this.#bytes.latin1Write(text, position);
  }

  /** Drops the bytes from `length` on. */
  cut(length: number): void {
    this.length = length;
  }

  /** A part of the content as a text. */
  slice(start: number, end: number): string {
    return this.#bytes.latin1Slice(start, end);
  }

  /** The content, without a copy: valid until the next change. */
  view(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  clear(): void {
    this.length = 0;
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#bytes = NO_BYTES;
  }

  #grow(length: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(length, this.#bytes.length * 2, MIN_BYTES));
    this.#bytes.copy(larger, 0, 0, this.length);
    this.#bytes = larger;
  }
}

/** An engine without a log has an empty buffer: the lab creates engines by the thousand. */
const NO_BYTES = Buffer.alloc(0);
const MIN_BYTES = 64 * 1024;
/** A larger buffer is given back after use. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;
/** For longer texts a call into C++ is faster than a loop. */
const MAX_LOOP_BYTES = 32;
