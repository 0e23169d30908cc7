import { ProtocolError } from './protocol-error.ts';

/**
 * Chunks in, pieces out. A piece (a line, or a counted run of bytes) that lies in one chunk is read
 * in place; only a piece that crosses from chunk to chunk is copied, into a buffer that doubles. So
 * memory follows what arrived, never what a header claims, and n bytes cost O(n) however cut.
 *
 * A `take…` that answers false has put the rest of the chunk aside: go on after `advance()`. One
 * that answers true has set `piece`, `pieceStart` and `pieceEnd`, which hold until the next call.
 */
export class ByteReader {
  chunk: Buffer = NO_BYTES;
  position = 0;
  piece: Buffer = NO_BYTES;
  pieceStart = 0;
  pieceEnd = 0;
  /** Bytes taken since the owner last set this to zero. */
  takenBytes = 0;

  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #kept: Buffer = NO_BYTES;
  #keptLength = 0;
  #foundTerminator = false;
  #foundNul = false;

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    if (this.position < this.chunk.length) {
      this.#waiting.push(chunk);
      this.#waitingBytes += chunk.length;
      return;
    }
    this.chunk = chunk;
    this.position = 0;
  }

  /** Whether there is a byte to read; moves on to the next chunk when this one is used up. */
  advance(): boolean {
    if (this.position < this.chunk.length) return true;
    const next = this.#waiting.shift();
    // An idle connection must not hold on to its last chunk.
    this.piece = NO_BYTES;
    this.chunk = next ?? NO_BYTES;
    this.position = 0;
    this.#waitingBytes -= this.chunk.length;
    return next !== undefined;
  }

  /** Bytes that were pushed and not taken. */
  get unreadBytes(): number {
    return this.#keptLength + this.chunk.length - this.position + this.#waitingBytes;
  }

  /** Whether a piece was begun in an earlier chunk. */
  get isInsidePiece(): boolean {
    return this.#keptLength > 0;
  }

  /** The first byte of the piece to be taken next. */
  get firstByte(): number {
    return this.#keptLength > 0 ? this.#kept[0]! : this.chunk[this.position]!;
  }

  /**
   * Takes a line that ends in LF, or in CR and any one byte: like Redis, a header's LF is counted
   * but not looked at. The piece ends before the terminator. With `stopAtNul` nothing behind a NUL
   * byte is found, because Redis searches with strchr: such a line only grows until it is too long.
   */
  takeLine(terminator: number, maxBytes: number, tooLong: string, stopAtNul: boolean): boolean {
    const { chunk, position } = this;
    let end = position;
    if (!this.#foundTerminator) {
      end = this.#findTerminator(terminator, stopAtNul);
      if (this.#keptLength + end - position > maxBytes) throw new ProtocolError(tooLong);
      this.#foundTerminator = end < chunk.length;
      end++;
    }
    if (terminator === CR) end++;
    if (end > chunk.length) return this.#keepRest();
    this.#foundTerminator = false;
    this.#foundNul = false;
    this.#takeTo(end);
    this.pieceEnd -= terminator === CR ? 2 : 1;
    return true;
  }

  /** Takes exactly so many bytes. */
  takeBytes(count: number): boolean {
    const end = this.position + count - this.#keptLength;
    if (end > this.chunk.length) return this.#keepRest(count);
    this.#takeTo(end);
    return true;
  }

  /** Forgets everything that was pushed. */
  clear(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.chunk = this.piece = this.#kept = NO_BYTES;
    this.position = this.takenBytes = this.#keptLength = 0;
  }

  #findTerminator(terminator: number, stopAtNul: boolean): number {
    const { chunk } = this;
    const end = chunk.length;
    if (this.#foundNul) return end;
    for (let at = this.position; at < end; at++) {
      const byte = chunk[at];
      if (byte === terminator) return at;
      if (byte === 0 && stopAtNul) {
        this.#foundNul = true;
        return end;
      }
    }
    return end;
  }

  #takeTo(end: number): void {
    if (this.#keptLength === 0) {
      this.piece = this.chunk;
      this.pieceStart = this.position;
      this.pieceEnd = end;
    } else {
      this.#keep(end);
      this.piece = this.#kept;
      this.pieceStart = 0;
      this.pieceEnd = this.#keptLength;
      this.#keptLength = 0;
      if (this.#kept.length > MAX_IDLE_BYTES) this.#kept = NO_BYTES;
    }
    this.takenBytes += this.pieceEnd - this.pieceStart;
    this.position = end;
  }

  /** `maxBytes`: no more will ever have to be kept of this piece. */
  #keepRest(maxBytes = Number.POSITIVE_INFINITY): false {
    this.#keep(this.chunk.length, maxBytes);
    this.position = this.chunk.length;
    return false;
  }

  #keep(end: number, maxBytes = Number.POSITIVE_INFINITY): void {
    const length = this.#keptLength + end - this.position;
    if (length > this.#kept.length) this.#growTo(length, maxBytes);
    this.chunk.copy(this.#kept, this.#keptLength, this.position, end);
    this.#keptLength = length;
  }

  #growTo(length: number, maxBytes: number): void {
    const doubledBytes = Math.max(this.#kept.length * 2, MIN_KEPT_BYTES);
    const grown = Buffer.allocUnsafe(Math.max(length, Math.min(doubledBytes, maxBytes)));
    this.#kept.copy(grown, 0, 0, this.#keptLength);
    this.#kept = grown;
  }
}

const CR = 0x0d;
const NO_BYTES = Buffer.alloc(0);
const MIN_KEPT_BYTES = 64;
/** A larger buffer is given back after its piece, so that ten thousand idle connections stay small. */
const MAX_IDLE_BYTES = 1024;
