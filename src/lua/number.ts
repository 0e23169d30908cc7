import { spendReading } from './budget.ts';
import { formatGeneral } from './format-number.ts';
import type { LuaValue } from './value.ts';

/** A number as tostring, `..` and print show it: C's `%.14g`. */
export function numberToString(value: number): string {
  if (Number.isInteger(value) && value < 1e14 && value > -1e14) {
    return value === 0 && 1 / value < 0 ? '-0' : String(value);
  }
  return formatGeneral(value, 14);
}

/** The operand of an arithmetic operation: a number, or a string that is a valid number. */
export function toNumber(value: LuaValue): number | undefined {
  if (typeof value === 'number') return value;
  return typeof value === 'string' ? parseNumber(value) : undefined;
}

/** The operand of `..` and of string functions: a string, or a number's text. */
export function toText(value: LuaValue): string | undefined {
  if (typeof value === 'string') return value;
  return typeof value === 'number' ? numberToString(value) : undefined;
}

const ZERO = 48;
const NINE = 57;
/** The digits of Number.MAX_SAFE_INTEGER: a time in microseconds has so many. */
const MAX_SAFE_DIGITS = 16;

/** Parses a whole string as C's strtod does, with spaces around it. Undefined if it is not a number. */
export function parseNumber(text: string): number | undefined {
  const { length } = text;
  if (length === 0) return undefined;
  if (length <= MAX_SAFE_DIGITS) {
    let value = 0;
    let at = 0;
    for (; at < length; at++) {
      const code = text.charCodeAt(at);
      if (code < ZERO || code > NINE) break;
      value = value * 10 + (code - ZERO);
    }
    if (at === length && value <= Number.MAX_SAFE_INTEGER) return value;
  }
  return parseAnyNumber(text);
}

/** Maximum length of a number in chars. Parsing a longer one would take too long for one step. */
export const MAX_NUMBER = 1024 * 1024;

const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const HEXADECIMAL = /^([+-]?)0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?(?:[pP]([+-]?\d+))?$/;
const WORD = /^([+-]?)(inf|infinity|nan)$/i;

function parseAnyNumber(text: string): number | undefined {
  if (text.length > MAX_NUMBER) return undefined;
  if (text.length > 64) spendReading(text.length * 4);
  const trimmed = trimSpaces(untilNul(text));
  if (DECIMAL.test(trimmed)) return Number(trimmed);
  const hexadecimal = HEXADECIMAL.exec(trimmed);
  if (hexadecimal !== null) return parseHexadecimal(hexadecimal);
  const word = WORD.exec(trimmed);
  if (word === null) return undefined;
  const size = word[2]!.toLowerCase() === 'nan' ? Number.NaN : Number.POSITIVE_INFINITY;
  return word[1] === '-' ? -size : size;
}

function parseHexadecimal(match: RegExpExecArray): number | undefined {
  const [, sign, whole = '', fraction = '', exponent = '0'] = match;
  const digits = whole + fraction;
  if (digits === '') return undefined;
  const value = Number(`0x${digits}`) * 2 ** (Number(exponent) - 4 * fraction.length);
  return sign === '-' ? -value : value;
}

/** A string as C sees it: up to its first NUL. */
export function untilNul(text: string): string {
  const end = text.indexOf('\0');
  return end < 0 ? text : text.slice(0, end);
}

/** Trims the chars that C's isspace accepts, at both ends. */
export function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text.charCodeAt(start))) start += 1;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end -= 1;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}
