import { types } from 'node:util';
import type { Encoded } from './store.ts';

/** Converts values to text or bytes, and back. */
export interface Serializer {
  encode(value: unknown): Encoded;
  decode(data: Encoded): unknown;
}

/** Begins a text that is more than plain JSON, and in it each string that stands for another value. */
const MARK = '~';

/**
 * JSON that also keeps Date, Map, Set, bigint, NaN and Infinity. `undefined` is an empty text. A class instance
 * is encoded by its `toJSON` or its fields and decoded as that. A value without any of these is plain JSON, and
 * is decoded at the speed of `JSON.parse`.
 */
export const jsonSerializer: Serializer = {
  encode(value) {
    if (value === undefined) return '';
    const text = stringify(value);
    if (text !== undefined) return text;
    throw new TypeError(`a ${typeof value} cannot be kept as JSON. Choose another serializer.`);
  },
  decode(data) {
    if (data.length === 0) return undefined;
    return parse(typeof data === 'string' ? data : new TextDecoder().decode(data));
  },
};

/** Keeps bytes as they are: a Buffer or any Uint8Array is encoded, a Buffer is decoded. */
export const bytesSerializer: Serializer = {
  encode(value) {
    // A copy: the caller may reuse the memory.
    if (value instanceof Uint8Array) return Uint8Array.from(value);
    throw new TypeError(`bytesSerializer keeps Uint8Array; got ${typeof value}`);
  },
  decode(data) {
    return typeof data === 'string' ? Buffer.from(data) : Buffer.from(data);
  },
};

/** @throws TypeError if the result is neither a string nor bytes. */
export function encodeWith(serializer: Serializer, value: unknown): Encoded {
  const data: unknown = serializer.encode(value);
  if (typeof data === 'string' || data instanceof Uint8Array) return data;
  throw new TypeError(`a serializer encodes to a string or a Uint8Array; got ${typeof data}`);
}

function stringify(value: unknown): string | undefined {
  let isPlain = true;
  const text = JSON.stringify(value, function (this: Record<string, unknown>, name, converted) {
    // Not `converted`: JSON has called toJSON of a Date by now.
    const marked = markedText(this[name]);
    if (marked === undefined) return converted;
    isPlain = false;
    return `${MARK}${marked}`;
  }) as string | undefined;
  return isPlain || text === undefined ? text : `${MARK}${text}`;
}

/** A letter of DECODERS and the text of the value. Undefined: JSON keeps the value as it is. */
function markedText(value: unknown): string | undefined {
  if (typeof value === 'string') return value.startsWith(MARK) ? `s${value}` : undefined;
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : `n${value}`;
  if (typeof value === 'bigint') return `i${value}`;
  if (types.isDate(value)) return `d${value.getTime()}`;
  if (types.isMap(value)) return `m${stringify([...value])}`;
  if (types.isSet(value)) return `e${stringify([...value])}`;
  return undefined;
}

const DECODERS: Readonly<Record<string, (text: string) => unknown>> = {
  s: (text) => text,
  n: Number,
  i: BigInt,
  d: (text) => new Date(Number(text)),
  m: (text) => new Map(parse(text) as [unknown, unknown][]),
  e: (text) => new Set(parse(text) as unknown[]),
};

function parse(text: string): unknown {
  if (!text.startsWith(MARK)) return JSON.parse(text);
  return JSON.parse(text.slice(MARK.length), (_, value: unknown) => {
    const isMarked = typeof value === 'string' && value.startsWith(MARK);
    return isMarked ? unmarked(value) : value;
  });
}

function unmarked(text: string): unknown {
  const decode = DECODERS[text[MARK.length] ?? ''];
  if (decode !== undefined) return decode(text.slice(MARK.length + 1));
  throw new SyntaxError(`'${text}' was encoded by another version of jsonSerializer`);
}
