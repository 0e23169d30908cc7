import { ByteReader } from './byte-reader.ts';
import { parseInteger } from './integer.ts';
import { ProtocolError } from './protocol-error.ts';
import {
  BigNumberReply,
  DoubleReply,
  ErrorReply,
  MapReply,
  NULL_ARRAY,
  PushReply,
  type Reply,
  SetReply,
  SimpleReply,
  VerbatimReply,
} from './reply.ts';
import { textOf } from './text.ts';

/**
 * Decodes the bytes of a server into replies: `push` a chunk, then call `next` until it returns undefined. Supports
 * RESP2 and RESP3; attributes are dropped. After an invalid frame, every call of `next` throws a ProtocolError.
 */
export class ReplyDecoder {
  readonly #reader = new ByteReader();
  /** The incomplete aggregates, outermost first. There is no recursion, so that nesting uses no stack. */
  readonly #open: OpenAggregate[] = [];
  #bulk: { readonly sigil: string; readonly length: number } | null = null;
  #failure: unknown = null;

  push(chunk: Buffer): void {
    if (this.#failure === null) this.#reader.push(chunk);
  }

  next(): Reply | undefined {
    if (this.#failure !== null) throw this.#failure;
    try {
      return this.#read();
    } catch (failure) {
      this.#failure = failure;
      this.#open.length = 0;
      this.#reader.clear();
      throw failure;
    }
  }

  #read(): Reply | undefined {
    while (this.#reader.advance()) {
      const value = this.#bulk === null ? this.#readLine() : this.#readBulk();
      const reply = value === undefined ? undefined : this.#close(value);
      if (reply !== undefined) return reply;
    }
    return undefined;
  }

  /** A value that is complete after one line; undefined if it is longer or has not arrived. */
  #readLine(): Reply | undefined {
    const reader = this.#reader;
    if (!reader.takeLine(CR, MAX_LINE_BYTES, 'too long line', false)) return undefined;
    const { piece, pieceStart, pieceEnd } = reader;
    const sigil = String.fromCharCode(piece[pieceStart]!);
    const readScalar = SCALARS[sigil];
    if (readScalar !== undefined) return readScalar(textOf(piece, pieceStart + 1, pieceEnd));
    if (sigil === ':') return parseInteger(piece, pieceStart + 1, pieceEnd) ?? fail('bad integer');
    if (!(sigil in BULKS || sigil in AGGREGATES)) return fail(`unknown type '${sigil}'`);
    const size = parseInteger(piece, pieceStart + 1, pieceEnd);
    if (typeof size !== 'number' || size > MAX_LENGTH) return fail('bad length');
    return this.#begin(sigil, size);
  }

  /** Begins a value with a length. With a length of -1 or 0 it may be complete. */
  #begin(sigil: string, size: number): Reply | undefined {
    if (size < 0) return readAbsent(sigil, size);
    const aggregate = AGGREGATES[sigil];
    if (aggregate === undefined) {
      this.#bulk = { sigil, length: size };
      return undefined;
    }
    if (this.#open.length === MAX_DEPTH) return fail('too deep');
    this.#open.push({ ...aggregate, items: [], left: size * aggregate.itemsPerEntry });
    return this.#closeFull();
  }

  #readBulk(): Reply | undefined {
    const { sigil, length } = this.#bulk!;
    const reader = this.#reader;
    if (!reader.takeBytes(length + 2)) return undefined;
    this.#bulk = null;
    return BULKS[sigil]!(textOf(reader.piece, reader.pieceStart, reader.pieceEnd - 2));
  }

  /** Adds a complete value to the innermost aggregate. Returns the outermost one if that is complete. */
  #close(value: Reply): Reply | undefined {
    const parent = this.#open.at(-1);
    if (parent === undefined) return value;
    parent.items.push(value);
    parent.left--;
    const full = this.#closeFull();
    return full === undefined ? undefined : this.#close(full);
  }

  /** Removes and returns the innermost aggregate if it is complete. An attribute has no value. */
  #closeFull(): Reply | undefined {
    const innermost = this.#open.at(-1)!;
    if (innermost.left > 0) return undefined;
    this.#open.pop();
    return innermost.build?.(innermost.items);
  }
}

interface Aggregate {
  readonly itemsPerEntry: 1 | 2;
  /** Undefined for an attribute, which is dropped. */
  readonly build?: (items: Reply[]) => Reply;
}

interface OpenAggregate extends Aggregate {
  readonly items: Reply[];
  left: number;
}

const AGGREGATES: Readonly<Record<string, Aggregate>> = {
  '*': { itemsPerEntry: 1, build: (items) => items },
  '~': { itemsPerEntry: 1, build: (items) => new SetReply(items) },
  '>': { itemsPerEntry: 1, build: (items) => new PushReply(items) },
  '%': { itemsPerEntry: 2, build: (items) => new MapReply(pairs(items)) },
  '|': { itemsPerEntry: 2 },
};

const BULKS: Readonly<Record<string, (text: string) => Reply>> = {
  $: (text) => text,
  '!': (text) => new ErrorReply(text),
  '=': (text) => new VerbatimReply(text.slice(0, 3), text.slice(4)),
};

const SCALARS: Readonly<Record<string, (text: string) => Reply>> = {
  '+': (text) => new SimpleReply(text),
  '-': (text) => new ErrorReply(text),
  '(': (text) => new BigNumberReply(text),
  ',': (text) => new DoubleReply(parseDouble(text), text),
  '#': (text) => (text === 't' ? true : text === 'f' ? false : fail('bad boolean')),
  _: (text) => (text === '' ? null : fail('bad null')),
};

function readAbsent(sigil: string, size: number): Reply {
  if (size === -1 && sigil === '$') return null;
  return size === -1 && sigil === '*' ? NULL_ARRAY : fail('bad length');
}

function pairs(items: readonly Reply[]): [Reply, Reply][] {
  return Array.from({ length: items.length / 2 }, (_, index) => [
    items[index * 2]!,
    items[index * 2 + 1]!,
  ]);
}

function parseDouble(text: string): number {
  const special = SPECIAL_DOUBLES.get(text);
  if (special !== undefined) return special;
  return DOUBLE.test(text) ? Number(text) : fail('bad double');
}

function fail(reason: string): never {
  throw new ProtocolError(reason);
}

const CR = 0x0d;
const MAX_LINE_BYTES = 64 * 1024;
const MAX_DEPTH = 1024;
/** The maximum length of a JavaScript string. */
const MAX_LENGTH = 2 ** 29 - 24;
const DOUBLE = /^[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?$/;
const SPECIAL_DOUBLES: ReadonlyMap<string, number> = new Map([
  ['inf', Number.POSITIVE_INFINITY],
  ['-inf', Number.NEGATIVE_INFINITY],
  ['nan', Number.NaN],
  ['-nan', Number.NaN],
]);
