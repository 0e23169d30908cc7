import { partOf } from '../../resp/index.ts';
import { PIECE_BYTES, spend, spendMaking, spendReading } from '../budget.ts';
import { argumentError, libraryError } from '../error.ts';
import { allocate } from '../memory.ts';
import { toNumber, untilNul } from '../number.ts';
import { MAX_STRING } from '../operators.ts';
import type { LuaTable } from '../table.ts';
import type { LuaValue, Results } from '../value.ts';
import {
  expectNumber,
  expectString,
  makeLibrary,
  optionalInteger,
  toUnsigned,
} from './arguments.ts';

/** The `struct` table: C structures to strings and back, with the sizes of 64-bit Linux. */
export const structLibrary: LuaTable = makeLibrary({ pack, size, unpack });

/** Sizes of the options that have a fixed one. */
const SIZES: Readonly<Record<string, number>> = {
  B: 1,
  b: 1,
  H: 2,
  h: 2,
  L: 8,
  l: 8,
  T: 8,
  f: 4,
  d: 8,
  x: 1,
};

const DEFAULT_INTEGER_SIZE = 4;
const MAX_INTEGER_SIZE = 32;
const NATIVE_ALIGNMENT = 8;
const MAX_RESULTS = 7990;

/** Walks a format: its options with their sizes, byte order and alignment. */
class Format {
  private readonly text: string;
  private at = 0;
  isBig = false;
  private alignment = 1;
  option = '';
  size = 0;

  constructor(text: string) {
    spendReading(text.length);
    this.text = untilNul(text);
  }

  /** Reads the next option; false at the end. */
  next(): boolean {
    spend(1);
    const option = this.text[this.at];
    if (option === undefined) return false;
    this.at += 1;
    this.option = option;
    this.size = this.sizeOf(option);
    return true;
  }

  private sizeOf(option: string): number {
    if (option === 'c') return this.number(1);
    if (option !== 'i' && option !== 'I') return SIZES[option] ?? 0;
    const size = this.number(DEFAULT_INTEGER_SIZE);
    if (size > MAX_INTEGER_SIZE) {
      throw libraryError(`integral size ${size} is larger than limit of ${MAX_INTEGER_SIZE}`);
    }
    return size;
  }

  private number(otherwise: number): number {
    const digits = /^\d+/.exec(this.text.slice(this.at, this.at + 32))?.[0];
    if (digits === undefined) return otherwise;
    if (Number(digits) > 2147483647) throw libraryError('integral size overflow');
    this.at += digits.length;
    return Number(digits);
  }

  /** Bytes to skip before the option at `position`. */
  padding(position: number): number {
    if (this.size === 0 || this.option === 'c') return 0;
    const unit = Math.min(this.size, this.alignment);
    return (unit - (position & (unit - 1))) & (unit - 1);
  }

  /** Handles an option that is not an item: byte order, alignment or a blank. */
  control(): void {
    switch (this.option) {
      case ' ':
        return;
      case '>':
        this.isBig = true;
        return;
      case '<':
        this.isBig = false;
        return;
      case '!': {
        const alignment = this.number(NATIVE_ALIGNMENT);
        if (alignment <= 0 || (alignment & (alignment - 1)) !== 0) {
          throw libraryError(`alignment ${alignment} is not a power of 2`);
        }
        this.alignment = alignment;
        return;
      }
      default:
        throw argumentError(1, `invalid format option '${this.option}'`);
    }
  }
}

function isInteger(option: string): boolean {
  return 'bBhHlLTiI'.includes(option);
}

function pack(given: LuaValue[]): Results {
  const format = new Format(expectString(given, 0));
  // The C function pushes a nil before it reads, so a missing argument is nil.
  const args = [...given, undefined];
  let text = '';
  let argument = 1;
  while (format.next()) {
    spendMaking(4 * PIECE_BYTES);
    text += '\0'.repeat(format.padding(text.length));
    const { option, size, isBig } = format;
    if (isInteger(option)) text += packInteger(expectNumber(args, argument++), size, isBig);
    else if (option === 'x') text += '\0';
    else if (option === 'f' || option === 'd') {
      text += packFloat(expectNumber(args, argument++), size, isBig);
    } else if (option === 'c' || option === 's') {
      const value = expectString(args, argument++);
      const length = size === 0 ? value.length : size;
      if (value.length < length) throw argumentError(argument + 1, 'string too short');
      if (text.length + length > MAX_STRING) throw libraryError('string length overflow');
      spendMaking(length);
      text += value.slice(0, length) + (option === 's' ? '\0' : '');
    } else format.control();
  }
  return text;
}

function packInteger(value: number, size: number, isBig: boolean): string {
  let rest = toUnsigned(value);
  const bytes: number[] = [];
  for (let at = 0; at < size; at++) {
    bytes.push(Number(rest & 0xffn));
    rest >>= 8n;
  }
  if (isBig) bytes.reverse();
  return String.fromCharCode(...bytes);
}

function packFloat(value: number, size: number, isBig: boolean): string {
  const bytes = Buffer.alloc(size);
  // NaN has the bits that x86 produces, with its sign set.
  if (Number.isNaN(value))
    bytes.set(size === 4 ? [0, 0, 0xc0, 0xff] : [0, 0, 0, 0, 0, 0, 0xf8, 0xff]);
  else if (size === 4) bytes.writeFloatLE(value);
  else bytes.writeDoubleLE(value);
  if (isBig) bytes.reverse();
  return bytes.toString('latin1');
}

function unpack(args: LuaValue[]): Results {
  const format = new Format(expectString(args, 0));
  const data = expectString(args, 1);
  const start = optionalInteger(args, 2, 1);
  if (start === 0) throw argumentError(3, 'offset must be 1 or greater');
  let position = start < 0 ? Number.POSITIVE_INFINITY : start - 1;
  const values: LuaValue[] = [];
  while (format.next()) {
    position += position === Number.POSITIVE_INFINITY ? 0 : format.padding(position);
    needBytes(data, position, format.size);
    if (values.length > MAX_RESULTS) throw libraryError('stack overflow (too many results)');
    allocate(PIECE_BYTES);
    position += unpackItem(format, data, position, values);
  }
  values.push(position + 1);
  return values;
}

function needBytes(data: string, position: number, size: number): void {
  if (!(size <= data.length && position <= data.length - size)) {
    throw argumentError(2, 'data string too short');
  }
}

/** Adds one item to the values and returns the number of bytes read. */
function unpackItem(format: Format, data: string, position: number, values: LuaValue[]): number {
  const { option, size, isBig } = format;
  if (isInteger(option)) {
    const isSigned = option >= 'a';
    values.push(unpackInteger(data.slice(position, position + size), isBig, isSigned));
  } else if (option === 'f' || option === 'd') {
    values.push(unpackFloat(data.slice(position, position + size), isBig));
  } else if (option === 'c') {
    return unpackChars(data, position, size, values);
  } else if (option === 's') {
    const end = data.indexOf('\0', position);
    spendReading((end < 0 ? data.length : end) - position);
    if (end < 0) throw libraryError('unfinished string in data');
    values.push(partOf(data, position, end));
    return end - position + 1;
  } else if (option !== 'x') format.control();
  return size;
}

/** A string of a fixed length, or of the length that the item before it gives. */
function unpackChars(data: string, position: number, size: number, values: LuaValue[]): number {
  let length = size;
  if (length === 0) {
    const previous = values.length === 0 ? undefined : toNumber(values.at(-1));
    if (previous === undefined) throw libraryError("format 'c0' needs a previous size");
    length = previous < 0 ? Number.POSITIVE_INFINITY : Math.trunc(previous);
    values.pop();
    needBytes(data, position, length);
  }
  values.push(partOf(data, position, position + length));
  return length;
}

function unpackInteger(bytes: string, isBig: boolean, isSigned: boolean): number {
  const { length } = bytes;
  let value = 0n;
  for (let at = 0; at < length; at++) {
    value = (value << 8n) | BigInt(bytes.charCodeAt(isBig ? at : length - 1 - at));
  }
  if (!isSigned) return Number(BigInt.asUintN(64, value));
  return Number(BigInt.asIntN(64, BigInt.asIntN(length <= 8 ? length * 8 : 64, value)));
}

function unpackFloat(text: string, isBig: boolean): number {
  const bytes = Buffer.from(text, 'latin1');
  if (isBig) bytes.reverse();
  return bytes.length === 4 ? bytes.readFloatLE() : bytes.readDoubleLE();
}

function size(args: LuaValue[]): Results {
  const format = new Format(expectString(args, 0));
  let position = 0;
  while (format.next()) {
    position += format.padding(position);
    if (format.option === 's') throw argumentError(1, "option 's' has no fixed size");
    if (format.option === 'c' && format.size === 0) {
      throw argumentError(1, "option 'c0' has no fixed size");
    }
    if (!/[0-9a-z]/i.test(format.option)) format.control();
    position += format.size;
  }
  return position;
}
