import { ProtocolError } from './protocol-error.ts';

/**
 * Splits chunks into pieces. A piece is a line, or a counted run of bytes. A piece inside of one chunk is read in
 * place. Only a piece that spans chunks is copied, into a buffer that doubles. So the memory depends on the bytes that
 * arrived, never on a length in a header, and n bytes cost O(n) however they are split.
 *
 * If a `take…` method returns false, the rest of the chunk is kept: call it again after `advance()`. If it returns
 * true, `piece`, `pieceStart` and `pieceEnd` are set, and valid until the next call.
 */
export class ByteReader {
  chunk: Buffer = NO_BYTES;
  position = 0;
  piece: Buffer = NO_BYTES;
  pieceStart = 0;
  pieceEnd = 0;
  /** Bytes taken since the last `dropPiece`. */
  takenBytes = 0;

  /** The chunks after this one: first those of `#nextChunks`, from its end, then those of `#laterChunks`. */
  #nextChunks: Buffer[] = [];
  #laterChunks: Buffer[] = [];
  #queuedBytes = 0;
  #kept: Buffer = NO_BYTES;
  #keptLength = 0;
  #foundTerminator = false;
  #foundNul = false;

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    // The current chunk may be used up while later ones wait for `advance`.
    if (this.position < this.chunk.length || this.#queuedBytes > 0) {
      this.#enqueue(chunk);
      return;
    }
    this.chunk = chunk;
    this.position = 0;
  }

  /** Whether there is a byte to read. Moves to the next chunk when this one is used up. */
  advance(): boolean {
    if (this.position < this.chunk.length) return true;
    if (this.#nextChunks.length === 0) {
      this.#nextChunks = this.#laterChunks.reverse();
      this.#laterChunks = [];
    }
    const next = this.#nextChunks.pop();
    // An idle connection must not keep its last chunk alive.
    this.piece = NO_BYTES;
    this.chunk = next ?? NO_BYTES;
    this.position = 0;
    this.#queuedBytes -= this.chunk.length;
    return next !== undefined;
  }

  /** Bytes that were pushed and not taken. */
  get unreadBytes(): number {
    return this.#keptLength + this.chunk.length - this.position + this.#queuedBytes;
  }

  /** Whether the current piece began in an earlier chunk. */
  get isInsidePiece(): boolean {
    return this.#keptLength > 0;
  }

  /** The first byte of the next piece. */
  get firstByte(): number {
    return this.#keptLength > 0 ? this.#kept[0]! : this.chunk[this.position]!;
  }

  /**
   * Takes a line that ends in LF, or in CR and any one byte: as in Redis, the byte after CR is not checked. The piece
   * ends before the terminator. With `stopAtNul` no terminator is found after a NUL byte, because Redis searches with
   * strchr: such a line grows until it is too long.
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

  /** Takes exactly `count` bytes. */
  takeBytes(count: number): boolean {
    const end = this.position + count - this.#keptLength;
    if (end > this.chunk.length) return this.#keepRest(count);
    this.#takeTo(end);
    return true;
  }

  /** Frees the piece: the caller may not read again for long, such as while a command is blocked. */
  dropPiece(): void {
    this.takenBytes = 0;
    this.piece = NO_BYTES;
  }

  /** Frees the memory of a chunk that is mostly read: the caller may not read again for long. */
  compact(): void {
    const rest = this.chunk.subarray(this.position);
    if (2 * rest.length > this.chunk.buffer.byteLength) return;
    this.chunk = rest.length === 0 ? NO_BYTES : unpooled([rest]);
    this.position = 0;
  }

  /** Drops all bytes. */
  clear(): void {
    this.#nextChunks = [];
    this.#laterChunks = [];
    this.#queuedBytes = 0;
    this.chunk = this.piece = this.#kept = NO_BYTES;
    this.position = this.takenBytes = this.#keptLength = 0;
  }

  /** Merges small chunks: the object of a chunk takes more than 100 bytes, which `unreadBytes` does not count. */
  #enqueue(chunk: Buffer): void {
    const chunks = this.#laterChunks;
    const last = chunks.at(-1);
    this.#queuedBytes += chunk.length;
    if (last === undefined || last.length + chunk.length > MAX_MERGED_BYTES) {
      chunks.push(isPooled(chunk) ? unpooled([chunk]) : chunk);
    } else chunks[chunks.length - 1] = unpooled([last, chunk]);
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
      this.#kept = NO_BYTES;
    }
    this.takenBytes += this.pieceEnd - this.pieceStart;
    this.position = end;
  }

  /** `maxBytes`: the total length of this piece. */
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
    const grown = Buffer.allocUnsafeSlow(Math.max(length, Math.min(doubledBytes, maxBytes)));
    this.#kept.copy(grown, 0, 0, this.#keptLength);
    this.#kept = grown;
  }
}

/** Whether a buffer is a part of the pool in which Node makes small buffers: a few bytes would keep all of it alive. */
function isPooled(chunk: Buffer): boolean {
  return chunk.length < chunk.buffer.byteLength;
}

/** Joins buffers in memory of their own. */
function unpooled(parts: readonly Buffer[]): Buffer {
  const bytes = parts.reduce((total, part) => total + part.length, 0);
  const joined = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  for (const part of parts) at += part.copy(joined, at);
  return joined;
}

const CR = 0x0d;
const NO_BYTES = Buffer.alloc(0);
const MIN_KEPT_BYTES = 64;
/** Larger than the buffers that Node allocates from a shared pool: a part of it would keep the pool alive. */
const MAX_MERGED_BYTES = 8192;
