import { ByteReader } from './byte-reader.ts';
import { splitInlineArguments } from './inline-arguments.ts';
import { parseInteger } from './integer.ts';
import { ProtocolError } from './protocol-error.ts';
import { textOf } from './text.ts';

/** The limits of one request. The caller may change the fields at any time, for example at sign-in. */
export interface RequestLimits {
  /** Before sign-in a request has at most 10 arguments of at most 16 KiB, as in Redis. */
  signedIn: boolean;
  maxArguments: number;
  maxBulkBytes: number;
  /** The length of an inline request, and of the line that holds a count. */
  maxInlineBytes: number;
  /** The length of a whole request. Redis closes the connection without an error when it is exceeded. */
  maxQueryBytes: number;
}

/** The defaults of Redis, except for the maximum length of a JavaScript string. */
export const DEFAULT_REQUEST_LIMITS: Readonly<RequestLimits> = {
  signedIn: true,
  maxArguments: 2 ** 31 - 1,
  maxBulkBytes: 2 ** 29 - 24,
  maxInlineBytes: 64 * 1024,
  maxQueryBytes: 1024 ** 3,
};

/**
 * Decodes the bytes of a client into requests: `push` a chunk, then call `next` until it returns null. `next` may be
 * called later, so that a blocked client stops between two requests. After an invalid frame, every call of `next`
 * throws a ProtocolError.
 *
 * It accepts the same bytes as Redis 7.0, and the result does not depend on the split into chunks.
 */
export class RequestDecoder {
  readonly #limits: RequestLimits;
  readonly #reader = new ByteReader();
  #argv: string[] = [];
  #argumentsLeft = 0;
  #bulkLength = UNKNOWN;
  #cursor = 0;
  #failure: unknown = null;

  constructor(limits: RequestLimits) {
    this.#limits = limits;
  }

  push(chunk: Buffer): void {
    if (this.#failure === null) this.#reader.push(chunk);
  }

  /** The next request, or null when the rest of it has not arrived. */
  next(): string[] | null {
    if (this.#failure !== null) throw this.#failure;
    try {
      return this.#read();
    } catch (failure) {
      this.#failure = failure;
      this.#argv = [];
      this.#reader.clear();
      throw failure;
    }
  }

  /** Makes the memory of unread bytes as small as they are: the caller will not call `next` for long. */
  compact(): void {
    this.#reader.compact();
  }

  /** How many bytes have arrived after the last request. */
  get unreadBytes(): number {
    return this.#reader.unreadBytes;
  }

  /** The memory of bytes that were pushed and are not part of a request that `next` has returned. */
  get bufferedBytes(): number {
    return this.#reader.takenBytes + this.#reader.unreadBytes + this.#argv.length * ARGUMENT_BYTES;
  }

  #read(): string[] | null {
    const reader = this.#reader;
    while (reader.advance()) {
      if (reader.chunk[reader.position]! <= CR && this.#skipEmptyLines()) continue;
      const argv = this.#readWhole() ?? this.#continueRequest();
      if (argv === null) continue;
      reader.dropPiece();
      if (argv.length > 0) return argv;
    }
    return null;
  }

  /** Skips empty lines between requests, as Redis does. A loop, so that a chunk of empty lines is fast. */
  #skipEmptyLines(): boolean {
    const reader = this.#reader;
    if (reader.isInsidePiece || this.#argumentsLeft > 0) return false;
    const { chunk } = reader;
    const begin = reader.position;
    let at = begin;
    while (chunk[at] === LF || (chunk[at] === CR && chunk[at + 1] === LF)) {
      at += chunk[at] === LF ? 1 : 2;
    }
    reader.position = at;
    return at > begin;
  }

  /**
   * The fast path: a request that is complete in the chunk and has the form that client libraries send. Returns null
   * for anything else and takes nothing; the slow path then reads it.
   */
  #readWhole(): string[] | null {
    const reader = this.#reader;
    const { chunk, position } = reader;
    if (chunk[position] !== ASTERISK || this.#argumentsLeft > 0 || reader.isInsidePiece)
      return null;
    const { signedIn, maxArguments, maxQueryBytes } = this.#limits;
    this.#cursor = position + 1;
    const count = this.#scanNumber(chunk);
    if (count <= 0 || count > MAX_WHOLE_ARGUMENTS || count > maxArguments || !signedIn) return null;
    const argv = this.#scanArguments(chunk, count);
    if (this.#cursor > chunk.length || this.#cursor - position > maxQueryBytes) return null;
    reader.position = this.#cursor;
    return argv;
  }

  /** Array literals: with push, three arguments take 312 bytes instead of 189. */
  #scanArguments(chunk: Buffer, count: number): string[] {
    const first = this.#scanArgument(chunk);
    if (count === 1) return [first];
    const second = this.#scanArgument(chunk);
    if (count === 2) return [first, second];
    const third = this.#scanArgument(chunk);
    if (count === 3) return [first, second, third];
    const fourth = this.#scanArgument(chunk);
    if (count === 4) return [first, second, third, fourth];
    const argv = [first, second, third, fourth, this.#scanArgument(chunk)];
    for (let left = count - argv.length; left > 0; left--) argv.push(this.#scanArgument(chunk));
    return argv;
  }

  /** Reads one argument at the cursor. If it is not whole or has another form, the cursor moves behind the chunk. */
  #scanArgument(chunk: Buffer): string {
    const isBulk = chunk[this.#cursor++] === DOLLAR;
    const length = this.#scanNumber(chunk);
    const start = this.#cursor;
    const end = start + length;
    const isWhole = length >= 0 && end + 2 <= chunk.length;
    if (!isBulk || !isWhole || length > this.#limits.maxBulkBytes) {
      this.#cursor = chunk.length + 1;
      return '';
    }
    this.#cursor = end + 2;
    return textOf(chunk, start, end);
  }

  /** Reads the digits at the cursor and moves it after CR LF. Returns UNKNOWN for any other form. */
  #scanNumber(chunk: Buffer): number {
    let at = this.#cursor;
    let value = 0;
    for (; at < chunk.length; at++) {
      const digit = chunk[at]! - ZERO;
      if (digit < 0 || digit > 9) break;
      value = value * 10 + digit;
    }
    const digits = at - this.#cursor;
    const isPlain = digits === 1 || (digits > 1 && chunk[this.#cursor] !== ZERO);
    this.#cursor = at + 2;
    return isPlain && at < chunk.length && chunk[at] === CR ? value : UNKNOWN;
  }

  /** The slow path: continues where the last chunk ended. The caller skips an empty request. */
  #continueRequest(): string[] | null {
    if (this.#argumentsLeft > 0) return this.#readArguments();
    if (this.#reader.firstByte !== ASTERISK) return this.#readInline();
    if (!this.#takeLine(CR, 'too big mbulk count string')) return null;
    this.#argumentsLeft = this.#parseCount();
    this.#argv = [];
    return this.#readArguments();
  }

  #readArguments(): string[] | null {
    const reader = this.#reader;
    while (this.#argumentsLeft > 0) {
      if (this.#bulkLength === UNKNOWN) {
        if (!this.#takeLine(CR, 'too big bulk count string')) return null;
        this.#bulkLength = this.#parseBulkLength();
      }
      // As in Redis, the two bytes after an argument are skipped without a check.
      if (!reader.takeBytes(this.#bulkLength + 2)) return null;
      this.#argv.push(textOf(reader.piece, reader.pieceStart, reader.pieceEnd - 2));
      this.#bulkLength = UNKNOWN;
      this.#argumentsLeft--;
    }
    const argv = this.#argv;
    this.#argv = [];
    return argv;
  }

  #readInline(): string[] | null {
    if (!this.#takeLine(LF, 'too big inline request')) return null;
    const { piece, pieceStart, pieceEnd } = this.#reader;
    const end = pieceEnd > pieceStart && piece[pieceEnd - 1] === CR ? pieceEnd - 1 : pieceEnd;
    const argv = splitInlineArguments(piece, pieceStart, end);
    if (argv === null) throw new ProtocolError('unbalanced quotes in request');
    return argv;
  }

  #takeLine(terminator: number, tooLong: string): boolean {
    return this.#reader.takeLine(terminator, this.#limits.maxInlineBytes, tooLong, true);
  }

  #parseCount(): number {
    const { piece, pieceStart, pieceEnd } = this.#reader;
    const { signedIn, maxArguments } = this.#limits;
    const count = parseInteger(piece, pieceStart + 1, pieceEnd);
    if (count === null || count > maxArguments) throw new ProtocolError('invalid multibulk length');
    if (count > MAX_ARGUMENTS_BEFORE_SIGN_IN && !signedIn) {
      throw new ProtocolError('unauthenticated multibulk length');
    }
    return Math.max(Number(count), 0);
  }

  #parseBulkLength(): number {
    const { piece, pieceStart, pieceEnd, takenBytes } = this.#reader;
    const { signedIn, maxBulkBytes, maxQueryBytes } = this.#limits;
    const first = piece[pieceStart]!;
    if (first !== DOLLAR) {
      throw new ProtocolError(`expected '$', got '${String.fromCharCode(first)}'`);
    }
    const length = parseInteger(piece, pieceStart + 1, pieceEnd);
    if (length === null || length < 0 || length > maxBulkBytes) {
      throw new ProtocolError('invalid bulk length');
    }
    if (length > MAX_BULK_BYTES_BEFORE_SIGN_IN && !signedIn) {
      throw new ProtocolError('unauthenticated bulk length');
    }
    if (takenBytes + Number(length) + 2 > maxQueryBytes) throw new ProtocolError('too big request');
    return Number(length);
  }
}

const UNKNOWN = -1;
const CR = 0x0d;
const LF = 0x0a;
const ASTERISK = 0x2a;
const DOLLAR = 0x24;
const ZERO = 0x30;
/** The memory of an argument beside its bytes: the header of a string, and its place in an array. */
const ARGUMENT_BYTES = 32;
/** A longer request usually spans chunks, so that the fast path would fail. The lock library sends up to 404. */
const MAX_WHOLE_ARGUMENTS = 512;
const MAX_ARGUMENTS_BEFORE_SIGN_IN = 10;
const MAX_BULK_BYTES_BEFORE_SIGN_IN = 16_384;
