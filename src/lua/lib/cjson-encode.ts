import { PIECE_BYTES, spend, spendMaking } from '../budget.ts';
import { libraryError, plainError } from '../error.ts';
import { escapeChars, escapeTable } from '../escape.ts';
import { formatGeneral } from '../format-number.ts';
import { numberToString } from '../number.ts';
import { MAX_STRING } from '../operators.ts';
import { LuaTable } from '../table.ts';
import type { LuaValue } from '../value.ts';
import { LuaUserdata, typeName } from '../value.ts';
import type { JsonSettings } from './cjson.ts';

/** What JSON's null decodes to: C's null pointer. */
export const JSON_NULL = new LuaUserdata('(nil)');

/** cjson.encode. */
export function encodeJson(value: LuaValue, settings: JsonSettings): string {
  return encodeValue(value, settings, 0);
}

function encodeValue(value: LuaValue, settings: JsonSettings, depth: number): string {
  if (typeof value === 'string') return encodeString(value);
  if (typeof value === 'number') return encodeNumber(value, settings);
  if (typeof value === 'boolean') return String(value);
  if (value === undefined || value === JSON_NULL) return 'null';
  if (value instanceof LuaTable) return encodeTable(value, settings, depth + 1);
  throw failure(value, 'type not supported');
}

function failure(value: LuaValue, reason: string) {
  return libraryError(`Cannot serialise ${typeName(value)}: ${reason}`);
}

function encodeNumber(value: number, settings: JsonSettings): string {
  if (Number.isFinite(value)) {
    return settings.precision === 14
      ? numberToString(value)
      : formatGeneral(value, settings.precision);
  }
  if (settings.encodeInvalid === 'off') throw failure(value, 'must not be NaN or Inf');
  if (settings.encodeInvalid === 'null') return 'null';
  return Number.isNaN(value) ? 'nan' : formatGeneral(value, settings.precision);
}

/** Control chars are escaped by number unless they have a letter. */
const ESCAPES = escapeTable({
  ...Object.fromEntries(
    [...Array(32).keys(), 127].map((code) => [String.fromCharCode(code), unicodeEscape(code)]),
  ),
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
});

function unicodeEscape(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`;
}

function encodeString(text: string): string {
  spendMaking(text.length + 2 * PIECE_BYTES);
  return `"${escapeChars(text, ESCAPES)}"`;
}

function encodeTable(table: LuaTable, settings: JsonSettings, depth: number): string {
  if (depth > settings.encodeDepth) {
    throw libraryError(`Cannot serialise, excessive nesting (${depth})`);
  }
  const length = arrayLength(table, settings);
  return length > 0
    ? encodeArray(table, length, settings, depth)
    : encodeObject(table, settings, depth);
}

/** The length of a table that is an array, -1 for any other. An empty one counts as an object. */
function arrayLength(table: LuaTable, settings: JsonSettings): number {
  spend(table.capacity() >>> 3);
  let largest = 0;
  let count = 0;
  for (let at = table.advance(-1); at >= 0; at = table.advance(at)) {
    const key = table.keyAt(at);
    if (typeof key !== 'number' || !Number.isInteger(key) || key < 1) return -1;
    // cjson counts in 32 bits: a larger key turns into the smallest number.
    if (key > largest) largest = key > 2147483647 ? -2147483648 : key;
    count += 1;
  }
  const { sparseRatio, sparseSafe, sparseConvert } = settings;
  const isSparse = sparseRatio > 0 && largest > count * sparseRatio && largest > sparseSafe;
  if (!isSparse) return largest;
  if (!sparseConvert) throw failure(table, 'excessively sparse array');
  return -1;
}

function encodeArray(
  table: LuaTable,
  length: number,
  settings: JsonSettings,
  depth: number,
): string {
  let text = '[';
  for (let at = 1; at <= length; at++) {
    spendMaking(4 * PIECE_BYTES);
    if (at > 1) text += ',';
    text = append(text, encodeValue(table.getNumber(at), settings, depth));
  }
  return `${text}]`;
}

function encodeObject(table: LuaTable, settings: JsonSettings, depth: number): string {
  let text = '{';
  for (let at = table.advance(-1); at >= 0; at = table.advance(at)) {
    spendMaking(6 * PIECE_BYTES);
    if (text.length > 1) text += ',';
    text = append(text, `${encodeKey(table.keyAt(at), settings)}:`);
    text = append(text, encodeValue(table.valueAt(at), settings, depth));
  }
  return `${text}}`;
}

function append(text: string, piece: string): string {
  if (text.length + piece.length > MAX_STRING) throw plainError('not enough memory');
  return text + piece;
}

function encodeKey(key: LuaValue, settings: JsonSettings): string {
  if (typeof key === 'string') return encodeString(key);
  if (typeof key === 'number') return `"${encodeNumber(key, settings)}"`;
  throw failure(key, 'table key must be a number or string');
}
