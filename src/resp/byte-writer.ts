/**
 * Bytes in the making, in chunks: texts are written into a buffer that is used again and again, and what
 * does not fit there is set aside in chunks of its own. A large text is copied once.
 *
 * Replies were once joined as strings and written with `'latin1'`. At 64 replies a chunk the joining
 * cost more than everything else together (600 ns a reply): V8 builds a tree of parts, and flattens it
 * when it is written. A loop over the chars of a short text costs some ten nanoseconds.
 */
export class ByteWriter {
  readonly #buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  #bufferedBytes = 0;
  #chunks: Buffer[] = [];
  #chunkedBytes = 0;
  /** A text that would make the content longer throws WriteLimitError. Asked once a chunk. */
  limitBytes: () => number = NO_LIMIT;

  get length(): number {
    return this.#chunkedBytes + this.#bufferedBytes;
  }

  /** One latin1 char a byte. */
  text(text: string): void {
    const { length } = text;
    if (this.#bufferedBytes + length > CHUNK_BYTES) {
      this.#setAside(length);
      if (length >= LARGE_BYTES) {
        this.#push(Buffer.from(text, 'latin1'));
        return;
      }
    }
    const buffer = this.#buffer;
    let at = this.#bufferedBytes;
    if (length > MAX_LOOP_BYTES) {
      buffer.latin1Write(text, at);
      this.#bufferedBytes = at + length;
      return;
    }
    for (let index = 0; index < length; index++) buffer[at++] = text.charCodeAt(index);
    this.#bufferedBytes = at;
  }

  /** The content as buffers that belong to the caller; the writer starts anew. */
  take(): Buffer[] {
    if (this.#bufferedBytes > 0) this.#push(this.#copy());
    const chunks = this.#chunks;
    this.clear();
    return chunks;
  }

  /** The content as a string. Throws if it is longer than a string can be, and starts anew all the same. */
  takeText(): string {
    if (this.#chunks.length > 0) return Buffer.concat(this.take()).latin1Slice();
    const text = this.#buffer.latin1Slice(0, this.#bufferedBytes);
    this.clear();
    return text;
  }

  /** Drops the content. */
  clear(): void {
    this.#bufferedBytes = 0;
    this.#chunkedBytes = 0;
    if (this.#chunks.length > 0) this.#chunks = [];
  }

  #setAside(nextBytes: number): void {
    const limitBytes = this.limitBytes();
    if (this.length + nextBytes > limitBytes) throw new WriteLimitError(limitBytes);
    if (this.#bufferedBytes > 0) this.#push(this.#copy());
    this.#bufferedBytes = 0;
  }

  #push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#chunkedBytes += chunk.length;
  }

  #copy(): Buffer {
    const copy = Buffer.allocUnsafe(this.#bufferedBytes);
    this.#buffer.copy(copy, 0, 0, this.#bufferedBytes);
    return copy;
  }
}

/** The content would have become longer than its reader may be sent. */
export class WriteLimitError extends Error {
  override readonly name = 'WriteLimitError';

  constructor(limitBytes: number) {
    super(`more than ${limitBytes} bytes`);
  }
}

declare global {
  interface Buffer {
    /** What write(text, offset, 'latin1') calls in the end; Node has it, its types do not tell. */
    latin1Write(text: string, offset: number): number;
  }
}

const NO_LIMIT = (): number => Number.POSITIVE_INFINITY;
const CHUNK_BYTES = 64 * 1024;
/** A text of this length gets a chunk of its own, instead of being copied through the buffer. */
const LARGE_BYTES = 16 * 1024;
/** From here on the call into C++ pays. */
const MAX_LOOP_BYTES = 48;
