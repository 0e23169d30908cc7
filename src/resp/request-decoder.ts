import { ByteReader } from './byte-reader.ts';
import { splitInlineArguments } from './inline-arguments.ts';
import { parseInteger } from './integer.ts';
import { ProtocolError } from './protocol-error.ts';
import { textOf } from './text.ts';

/** What one request may claim. The owner may change the fields at any time, as at sign-in. */
export interface RequestLimits {
  /** Before sign-in a request has at most 10 arguments of at most 16 KiB, as in Redis. */
  signedIn: boolean;
  maxArguments: number;
  maxBulkBytes: number;
  /** The length of an inline request, and of the line that holds a count. */
  maxInlineBytes: number;
  /** The length of a whole request. Redis closes the connection without a word at this one. */
  maxQueryBytes: number;
}

/** As Redis is configured by default, but for what a JavaScript string can hold. */
export const DEFAULT_REQUEST_LIMITS: Readonly<RequestLimits> = {
  signedIn: true,
  maxArguments: 2 ** 31 - 1,
  maxBulkBytes: 2 ** 29 - 24,
  maxInlineBytes: 64 * 1024,
  maxQueryBytes: 1024 ** 3,
};

/**
 * The bytes of a client's connection, read as requests: `push` a chunk, then call `next` until it
 * answers null. It may be called later as well, so that a blocked client stops between requests.
 * A frame that cannot be read makes `next` throw a ProtocolError, then and ever after.
 *
 * It reads what Redis 7.0 reads, and the result does not depend on where the chunks are cut.
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

  /** What is kept of bytes that were pushed and are not yet part of a request that was handed out. */
  get bufferedBytes(): number {
    return this.#reader.takenBytes + this.#reader.unreadBytes + this.#argv.length * ARGUMENT_BYTES;
  }

  #read(): string[] | null {
    const reader = this.#reader;
    while (reader.advance()) {
      if (reader.chunk[reader.position]! <= CR && this.#skipEmptyLines()) continue;
      const argv = this.#readWhole() ?? this.#readOn();
      if (argv === null) continue;
      reader.takenBytes = 0;
      if (argv.length > 0) return argv;
    }
    return null;
  }

  /** Skips empty lines between requests, as Redis does; a client that sends nothing else must not be slow. */
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
   * The fast path: a request that lies in the chunk from end to end, in the form that every client
   * library sends. Anything else answers null with nothing taken, for the careful path to judge.
   */
  #readWhole(): string[] | null {
    const reader = this.#reader;
    const { chunk, position } = reader;
    if (chunk[position] !== ASTERISK || this.#argumentsLeft > 0 || reader.isInsidePiece)
      return null;
    const { signedIn, maxArguments, maxBulkBytes, maxQueryBytes } = this.#limits;
    this.#cursor = position + 1;
    const count = this.#scanNumber(chunk);
    if (count <= 0 || count > MAX_WHOLE_ARGUMENTS || count > maxArguments || !signedIn) return null;
    const argv: string[] = [];
    for (let index = 0; index < count; index++) {
      if (chunk[this.#cursor++] !== DOLLAR) return null;
      const length = this.#scanNumber(chunk);
      const start = this.#cursor;
      const end = start + length;
      if (length < 0 || length > maxBulkBytes || end + 2 > chunk.length) return null;
      argv.push(textOf(chunk, start, end));
      this.#cursor = end + 2;
    }
    if (this.#cursor - position > maxQueryBytes) return null;
    reader.position = this.#cursor;
    return argv;
  }

  /** The digits at the cursor, which moves behind their CR and LF; UNKNOWN if they are not plain. */
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

  /** The careful path: goes on wherever the last chunk ended. An empty request is to be skipped. */
  #readOn(): string[] | null {
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
      // The two bytes behind an argument are counted but, as in Redis, not looked at.
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
/** What an argument takes beside its bytes: a string's header and a place in an array that grows. */
const ARGUMENT_BYTES = 32;
/** A longer request spans chunks as a rule, and would be begun in vain. */
const MAX_WHOLE_ARGUMENTS = 128;
const MAX_ARGUMENTS_BEFORE_SIGN_IN = 10;
const MAX_BULK_BYTES_BEFORE_SIGN_IN = 16_384;
