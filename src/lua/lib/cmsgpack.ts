import { partOf } from '../../resp/index.ts';
import { PIECE_BYTES, spend, spendMaking } from '../budget.ts';
import { argumentError, libraryError, plainError } from '../error.ts';
import { allocate } from '../memory.ts';
import { MAX_STRING } from '../operators.ts';
import { LuaTable } from '../table.ts';
import type { LuaValue, Results } from '../value.ts';
import { expectInt, expectString, makeLibrary, optionalInt } from './arguments.ts';

/** The `cmsgpack` table: MessagePack, with strings as its raw type. */
export const cmsgpackLibrary: LuaTable = makeLibrary(
  {
    pack,
    unpack: (args) => unpack(expectString(args, 0), 0, 0),
    unpack_limit: (args) => {
      const limit = expectInt(args, 1);
      return unpack(expectString(args, 0), limit, optionalInt(args, 2, 0));
    },
    unpack_one: (args) => {
      const offset = optionalInt(args, 1, 0);
      return unpack(expectString(args, 0), 1, offset);
    },
  },
  {
    _NAME: 'cmsgpack',
    _VERSION: 'lua-cmsgpack 0.4.0',
    _COPYRIGHT: 'Copyright (C) 2012, Salvatore Sanfilippo',
    _DESCRIPTION: 'MessagePack C implementation for Lua',
  },
);

/** Tables nested deeper than this are packed as nil. */
const MAX_PACK_DEPTH = 16;

/** Deeper input is refused, before the JavaScript stack overflows. */
const MAX_UNPACK_DEPTH = 1000;

/** C Lua's limit on the results of one call. */
const MAX_RESULTS = 7990;

function pack(args: LuaValue[]): Results {
  if (args.length === 0) throw argumentError(0, 'MessagePack pack needs input.');
  let text = '';
  for (const value of args) text = append(text, packValue(value, 0));
  return text;
}

function append(text: string, piece: string): string {
  if (text.length + piece.length > MAX_STRING) throw plainError('not enough memory');
  return text + piece;
}

function packValue(value: LuaValue, level: number): string {
  spendMaking(3 * PIECE_BYTES);
  if (typeof value === 'string') return packString(value);
  if (typeof value === 'boolean') return value ? '\xc3' : '\xc2';
  if (typeof value === 'number') return packNumber(value);
  if (!(value instanceof LuaTable) || level === MAX_PACK_DEPTH) return '\xc0';
  return isArray(value) ? packArray(value, level) : packMap(value, level);
}

const scratch = new DataView(new ArrayBuffer(8));

/** The first bytes of the scratch view after a tag. */
function tagged(tag: number, size: number): string {
  let text = String.fromCharCode(tag);
  for (let at = 0; at < size; at++) text += String.fromCharCode(scratch.getUint8(at));
  return text;
}

function unsigned(tag: number, value: number, size: 1 | 2 | 4): string {
  if (size === 1) scratch.setUint8(0, value);
  else if (size === 2) scratch.setUint16(0, value);
  else scratch.setUint32(0, value);
  return tagged(tag, size);
}

function packString(text: string): string {
  const { length } = text;
  spendMaking(length);
  if (length < 32) return String.fromCharCode(0xa0 | length) + text;
  if (length <= 0xff) return unsigned(0xd9, length, 1) + text;
  if (length <= 0xffff) return unsigned(0xda, length, 2) + text;
  return unsigned(0xdb, length, 4) + text;
}

function packNumber(value: number): string {
  if (!Number.isInteger(value) || value < -(2 ** 63) || value >= 2 ** 63) return packDouble(value);
  if (value >= 0) {
    if (value <= 0x7f) return String.fromCharCode(value);
    if (value <= 0xff) return unsigned(0xcc, value, 1);
    if (value <= 0xffff) return unsigned(0xcd, value, 2);
    if (value <= 0xffffffff) return unsigned(0xce, value, 4);
    scratch.setBigInt64(0, BigInt(value));
    return tagged(0xcf, 8);
  }
  if (value >= -32) return String.fromCharCode(value & 0xff);
  if (value >= -128) return unsigned(0xd0, value, 1);
  if (value >= -32768) return unsigned(0xd1, value, 2);
  if (value >= -2147483648) return unsigned(0xd2, value, 4);
  scratch.setBigInt64(0, BigInt(value));
  return tagged(0xd3, 8);
}

/** A float if it holds the value exactly, else a double. NaN has the bits that x86 produces. */
function packDouble(value: number): string {
  if (Math.fround(value) === value) {
    scratch.setFloat32(0, value);
    return tagged(0xca, 4);
  }
  if (Number.isNaN(value)) scratch.setBigUint64(0, 0xfff8000000000000n);
  else scratch.setFloat64(0, value);
  return tagged(0xcb, 8);
}

/** True if the keys are exactly 1 to n. */
function isArray(table: LuaTable): boolean {
  spend(table.capacity() >>> 3);
  let largest = 0;
  let count = 0;
  for (let at = table.advance(-1); at >= 0; at = table.advance(at)) {
    const key = table.keyAt(at);
    if (typeof key !== 'number' || !Number.isInteger(key) || key <= 0) return false;
    largest = Math.max(largest, key);
    count += 1;
  }
  return largest === count;
}

function header(small: number, medium: number, count: number): string {
  if (count <= 15) return String.fromCharCode(small | count);
  return count <= 0xffff ? unsigned(medium, count, 2) : unsigned(medium + 1, count, 4);
}

function packArray(table: LuaTable, level: number): string {
  const length = table.length();
  let text = header(0x90, 0xdc, length);
  for (let at = 1; at <= length; at++)
    text = append(text, packValue(table.getNumber(at), level + 1));
  return text;
}

function packMap(table: LuaTable, level: number): string {
  let body = '';
  let count = 0;
  for (let at = table.advance(-1); at >= 0; at = table.advance(at)) {
    body = append(body, packValue(table.keyAt(at), level + 1));
    body = append(body, packValue(table.valueAt(at), level + 1));
    count += 1;
  }
  return header(0x80, 0xde, count) + body;
}

/** Unpacks a stream. With a limit the first result is the next offset, -1 at the end. */
function unpack(text: string, limit: number, offset: number): Results {
  if (offset < 0 || limit < 0) {
    throw libraryError(
      `Invalid request to unpack with offset of ${offset} and limit of ${text.length}.`,
    );
  }
  if (offset > text.length) {
    throw libraryError(`Start offset ${offset} greater than input length ${text.length}.`);
  }
  const takesAll = limit === 0 && offset === 0;
  const most = takesAll ? Number.POSITIVE_INFINITY : limit;
  const reader = new Reader(text, offset);
  const values: LuaValue[] = [];
  while (!reader.isAtEnd && values.length < most) {
    if (values.length >= MAX_RESULTS) throw tooManyValues();
    values.push(reader.value(0));
  }
  return takesAll ? values : [reader.isAtEnd ? -1 : reader.at, ...values];
}

function tooManyValues() {
  return libraryError(
    'stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)',
  );
}

class Reader {
  at: number;
  private readonly text: string;

  constructor(text: string, at: number) {
    this.text = text;
    this.at = at;
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  /** Consumes this many bytes and returns the place where they start. */
  private take(size: number): number {
    const start = this.at;
    if (this.text.length - start < size) throw libraryError('Missing bytes in input.');
    this.at = start + size;
    return start;
  }

  /** Copies the next bytes into the scratch view, which reads them as a number. */
  private number(size: 1 | 2 | 4 | 8): DataView {
    const start = this.take(size);
    for (let at = 0; at < size; at++) scratch.setUint8(at, this.text.charCodeAt(start + at));
    return scratch;
  }

  value(depth: number): LuaValue {
    spend(1);
    if (depth > MAX_UNPACK_DEPTH) throw tooManyValues();
    const tag = this.text.charCodeAt(this.take(1));
    if (tag < 0x80) return tag;
    if (tag < 0x90) return this.map(tag & 0xf, depth);
    if (tag < 0xa0) return this.array(tag & 0xf, depth);
    if (tag < 0xc0) return this.string(tag & 0x1f);
    if (tag >= 0xe0) return tag - 0x100;
    return this.tagged(tag, depth);
  }

  private tagged(tag: number, depth: number): LuaValue {
    switch (tag) {
      case 0xc0:
        return undefined;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xca:
        return this.number(4).getFloat32(0);
      case 0xcb:
        return this.number(8).getFloat64(0);
      case 0xcc:
        return this.number(1).getUint8(0);
      case 0xcd:
        return this.number(2).getUint16(0);
      case 0xce:
        return this.number(4).getUint32(0);
      case 0xcf:
        // Lua 5.1 has no unsigned integers: the upper half comes out negative.
        return Number(this.number(8).getBigInt64(0));
      case 0xd0:
        return this.number(1).getInt8(0);
      case 0xd1:
        return this.number(2).getInt16(0);
      case 0xd2:
        return this.number(4).getInt32(0);
      case 0xd3:
        return Number(this.number(8).getBigInt64(0));
      case 0xd9:
        return this.string(this.number(1).getUint8(0));
      case 0xda:
        return this.string(this.number(2).getUint16(0));
      case 0xdb:
        return this.string(this.number(4).getUint32(0));
      case 0xdc:
        return this.array(this.number(2).getUint16(0), depth);
      case 0xdd:
        return this.array(this.number(4).getUint32(0), depth);
      case 0xde:
        return this.map(this.number(2).getUint16(0), depth);
      case 0xdf:
        return this.map(this.number(4).getUint32(0), depth);
      default:
        throw libraryError('Bad data format in input.');
    }
  }

  private string(length: number): string {
    const start = this.take(length);
    allocate(PIECE_BYTES + length);
    return partOf(this.text, start, start + length);
  }

  private array(length: number, depth: number): LuaTable {
    const table = new LuaTable();
    for (let at = 1; at <= length; at++) table.setNumber(at, this.value(depth + 1));
    return table;
  }

  private map(count: number, depth: number): LuaTable {
    const table = new LuaTable();
    for (let at = 0; at < count; at++) {
      const key = this.value(depth + 1);
      const value = this.value(depth + 1);
      if (key === undefined) throw libraryError('table index is nil');
      if (typeof key === 'number' && Number.isNaN(key)) throw libraryError('table index is NaN');
      table.set(key, value);
    }
    return table;
  }
}
