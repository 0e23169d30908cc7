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
 * The bytes of a server, read as replies: `push` a chunk, then call `next` until it answers
 * undefined. Speaks RESP2 and RESP3; attributes are read and dropped. A frame that cannot be read
 * makes `next` throw a ProtocolError, then and ever after.
 */
export class ReplyDecoder {
  readonly #reader = new ByteReader();
  /** The aggregates that are open, outermost first: no recursion, so that depth costs no stack. */
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

  /** A value that is whole after one line; undefined when it goes on or has not arrived. */
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

  /** Opens what a length announces; a length of -1 or 0 may be the whole of it. */
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

  /** Puts a whole value into the innermost open aggregate, and answers the outermost if it is full. */
  #close(value: Reply): Reply | undefined {
    const parent = this.#open.at(-1);
    if (parent === undefined) return value;
    parent.items.push(value);
    parent.left--;
    const full = this.#closeFull();
    return full === undefined ? undefined : this.#close(full);
  }

  /** The innermost aggregate, if it is full. An attribute is full without being a value. */
  #closeFull(): Reply | undefined {
    const innermost = this.#open.at(-1)!;
    if (innermost.left > 0) return undefined;
    this.#open.pop();
    return innermost.build?.(innermost.items);
  }
}

interface Aggregate {
  readonly itemsPerEntry: 1 | 2;
  /** None for an attribute, which is dropped. */
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
/** As long as a JavaScript string can be. */
const MAX_LENGTH = 2 ** 29 - 24;
const DOUBLE = /^[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?$/;
const SPECIAL_DOUBLES: ReadonlyMap<string, number> = new Map([
  ['inf', Number.POSITIVE_INFINITY],
  ['-inf', Number.NEGATIVE_INFINITY],
  ['nan', Number.NaN],
  ['-nan', Number.NaN],
]);
