import {
  INT64_MAX,
  INT64_MIN,
  NOT_A_FLOAT,
  NOT_AN_INT32,
  NOT_AN_INTEGER,
  OVERFLOW,
} from './errors.ts';

/**
 * Parses a 64-bit integer in the form that Redis accepts: no plus sign, spaces, leading zeros or `-0`. Returns a
 * bigint only where a double would lose digits.
 */
export function parseInteger(text: string): number | bigint | undefined {
  const length = text.length;
  const negative = text.charCodeAt(0) === 0x2d;
  const begin = negative ? 1 : 0;
  if (length === begin || length - begin > 19) return undefined;
  if (text.charCodeAt(begin) === 0x30) return length === 1 ? 0 : undefined;
  let value = 0;
  for (let at = begin; at < length; at++) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
  }
  if (value <= Number.MAX_SAFE_INTEGER) return negative ? -value : value;
  const exact = BigInt(text);
  return exact < INT64_MIN || exact > INT64_MAX ? undefined : exact;
}

/** Adds with doubles while they are exact, else with bigints. Throws ErrorReply beyond 64 bits. */
export function addIntegers(a: number | bigint, b: number | bigint): number | bigint {
  if (typeof a === 'number' && typeof b === 'number' && Number.isSafeInteger(a + b)) return a + b;
  const sum = BigInt(a) + BigInt(b);
  if (sum > INT64_MAX || sum < INT64_MIN) throw OVERFLOW;
  const narrow = Number(sum);
  return Number.isSafeInteger(narrow) ? narrow : sum;
}

/** Parses an integer argument as a double: exact up to 2^53, precise enough above it for counts and ranges. */
export function integerArgument(text: string, error = NOT_AN_INTEGER): number {
  const value = parseInteger(text);
  if (value === undefined) throw error;
  return Number(value);
}

/** Parses a 32-bit integer argument, such as the number of a database. */
export function int32Argument(text: string): number {
  const value = integerArgument(text);
  if (value < -(2 ** 31) || value >= 2 ** 31) throw NOT_AN_INT32;
  return value;
}

/** Longer numbers are rejected. */
const MAX_NUMBER_BYTES = 5 * 1024;
const DECIMAL = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const HEXADECIMAL = /^([+-]?)0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?(?:[pP]([+-]?\d+))?$/;
const INFINITE = /^([+-]?)inf(?:inity)?$/i;
/** A number with a digit other than zero before the exponent. */
const NOT_ZERO = /^[+-]?(?:0[xX][0.]*[1-9a-fA-F]|[0.]*[1-9])/;

/**
 * Parses a double in any form that C's strtod accepts. Returns undefined for anything else, for NaN, and for numbers
 * that a double cannot represent: Redis rejects 1e400 and 1e-400.
 */
export function parseFloat64(text: string): number | undefined {
  const integer = parseInteger(text);
  if (typeof integer === 'number') return integer;
  const infinite = text.length <= MAX_NUMBER_BYTES && INFINITE.exec(text);
  if (infinite) return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const value = strtod(text);
  if (value === undefined || !Number.isFinite(value)) return undefined;
  return value === 0 && NOT_ZERO.test(text) ? undefined : value;
}

/** The text after the spaces that C's strtod skips. */
export function withoutLeadingSpaces(text: string): string {
  let begin = 0;
  while (begin < text.length && isSpace(text.charCodeAt(begin))) begin++;
  return text.slice(begin);
}

/** C's isspace. */
function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d);
}

/** Parses a number like C's strtod: a number out of range becomes infinity or zero. */
export function strtod(text: string): number | undefined {
  if (text.length > MAX_NUMBER_BYTES) return undefined;
  if (DECIMAL.test(text)) return Number(text);
  const hexadecimal = HEXADECIMAL.exec(text);
  return hexadecimal ? hexadecimalValue(hexadecimal) : undefined;
}

export function floatArgument(text: string, error = NOT_A_FLOAT): number {
  const value = parseFloat64(text);
  if (value === undefined) throw error;
  return value;
}

/** Prints a double as Redis 7 does in replies: C's `%.17g`. */
export function formatFloat64(value: number): string {
  if (Number.isSafeInteger(value)) return Object.is(value, -0) ? '-0' : String(value);
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : value < 0 ? '-inf' : 'nan';
  const [digits, power] = seventeenDigits(Math.abs(value)).split('e') as [string, string];
  const exponent = Number(power);
  const sign = value < 0 ? '-' : '';
  if (exponent >= -4 && exponent < 17) return sign + fixed(digits.replace('.', ''), exponent);
  const mantissa = digits.replace(TRAILING_ZEROS, '');
  return `${sign}${mantissa}e${power[0]}${power.slice(1).padStart(2, '0')}`;
}

const TRAILING_ZEROS = /\.?0+$/;

/** Places the decimal point in seventeen digits. */
function fixed(digits: string, exponent: number): string {
  if (exponent < 0) return `0.${'0'.repeat(-exponent - 1)}${digits.replace(TRAILING_ZEROS, '')}`;
  if (exponent === 16) return digits;
  const point = exponent + 1;
  return `${digits.slice(0, point)}.${digits.slice(point)}`.replace(TRAILING_ZEROS, '');
}

/**
 * JavaScript rounds a number exactly between two decimals up, C to the even digit. Such a number has eighteen
 * digits, the last a five. Eighteen digits of n / 2^k need 5^k below 10^18, so that k is at most 25: the cheap test
 * below leaves few candidates, and 45 digits print each of them exactly.
 */
function seventeenDigits(value: number): string {
  const rounded = value.toExponential(16);
  const isOdd = rounded.charCodeAt(LAST_DIGIT) % 2 === 1;
  if (!isOdd || !Number.isInteger(value * 2 ** 25)) return rounded;
  const exact = value.toExponential(44);
  return TIE.test(exact)
    ? exact.slice(0, LAST_DIGIT + 1) + exact.slice(exact.indexOf('e'))
    : rounded;
}

/** The index of the seventeenth digit in `1.2345678901234567e+5`. */
const LAST_DIGIT = 17;
const TIE = /^\d\.\d{16}50+e/;

function hexadecimalValue([, sign, whole = '', fraction = '', power]: RegExpExecArray):
  | number
  | undefined {
  const digits = whole + fraction;
  if (digits === '') return undefined;
  const scale = Number(power ?? 0) - 4 * fraction.length;
  const value = Number(BigInt(`0x${digits}`)) * 2 ** scale;
  return sign === '-' ? -value : value;
}
