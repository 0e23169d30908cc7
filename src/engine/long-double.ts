import { NOT_A_FLOAT, NOT_FINITE } from './errors.ts';
import { parseInteger } from './number.ts';

/**
 * The sum of two numbers as INCRBYFLOAT and HINCRBYFLOAT compute and print it.
 *
 * Redis computes with the 80-bit long double of x86 and prints with `%.17Lf`. A double differs in the last digits
 * (with long doubles 0.1 + 0.2 prints as 0.3). So the arithmetic with 64 significant bits is done with bigints: each
 * step computes the exact value and rounds once, half to even, like the hardware.
 */
export function addLongDoubles(a: string, b: string): string {
  const whole = addWhole(a, b);
  if (whole !== undefined) return whole;
  const first = parseLongDouble(a);
  const second = parseLongDouble(b);
  if (first === undefined || second === undefined) throw NOT_A_FLOAT;
  return printSum(first, second);
}

/** `mantissa * 2^exponent`. The mantissa has at most 64 bits; an infinity has an infinite exponent. */
export interface LongDouble {
  readonly mantissa: bigint;
  readonly exponent: number;
}

/** Parses a number in any form that C's strtold accepts, except NaN; undefined for anything else. */
export function parseLongDouble(text: string): LongDouble | undefined {
  if (text.length >= MAX_TEXT_BYTES) return undefined;
  const decimal = DECIMAL.exec(text);
  if (decimal) return finite(fromDecimal(decimal));
  const hexadecimal = HEXADECIMAL.exec(text);
  if (hexadecimal) return finite(fromHexadecimal(hexadecimal));
  const infinite = INFINITE.exec(text);
  return infinite
    ? { mantissa: signed(infinite[1], 1n), exponent: Number.POSITIVE_INFINITY }
    : undefined;
}

export function isInfinite(value: LongDouble): boolean {
  return value.exponent === Number.POSITIVE_INFINITY;
}

/** Prints the sum of two numbers. Throws ErrorReply if it is infinite or not a number. */
export function printSum(a: LongDouble, b: LongDouble): string {
  if (isInfinite(a) || isInfinite(b)) throw NOT_FINITE;
  const exponent = Math.min(a.exponent, b.exponent);
  const exact =
    (a.mantissa << BigInt(a.exponent - exponent)) + (b.mantissa << BigInt(b.exponent - exponent));
  const sum = rounded(exact, exponent);
  if (isInfinite(sum)) throw NOT_FINITE;
  return print(sum);
}

/** Converts seconds to milliseconds, rounded up. */
export function ceilMilliseconds(seconds: LongDouble): number {
  if (isInfinite(seconds)) return seconds.mantissa < 0n ? -Infinity : Infinity;
  const { mantissa, exponent } = rounded(seconds.mantissa * 1000n, seconds.exponent);
  if (exponent >= 0) return Number(mantissa) * 2 ** exponent;
  return Number(-(-mantissa >> BigInt(-exponent)));
}

const MAX_TEXT_BYTES = 5 * 1024;
const MANTISSA_BITS = 64;
/** The exponents of the smallest positive number, and of the lowest bit of the largest number. */
const MIN_EXPONENT = -16445;
const MAX_EXPONENT = 16384 - MANTISSA_BITS;
const FRACTION_DIGITS = 17;
const FRACTION_SCALE = 10n ** BigInt(FRACTION_DIGITS);
/** Beyond these powers of ten every mantissa of MAX_TEXT_BYTES digits is too large or rounds to zero. */
const MAX_POWER = 3 * MAX_TEXT_BYTES;

const DECIMAL = /^([+-]?)(?:(\d+)(?:\.(\d*))?|\.(\d+))(?:[eE]([+-]?\d+))?$/;
const HEXADECIMAL =
  /^([+-]?)0[xX](?:([0-9a-fA-F]+)(?:\.([0-9a-fA-F]*))?|\.([0-9a-fA-F]+))(?:[pP]([+-]?\d+))?$/;
const INFINITE = /^([+-]?)inf(?:inity)?$/i;

/** The common case: the sum of integers that doubles represent exactly; undefined for other numbers. */
function addWhole(a: string, b: string): string | undefined {
  const first = parseInteger(a);
  const second = parseInteger(b);
  if (typeof first !== 'number' || typeof second !== 'number') return undefined;
  const sum = first + second;
  return Number.isSafeInteger(sum) ? String(sum) : undefined;
}

function fromDecimal([, sign, whole = '', tail = '', only = '', power = '0']: RegExpExecArray):
  | LongDouble
  | undefined {
  const fraction = tail + only;
  const digits = signed(sign, BigInt(whole + fraction));
  if (digits === 0n) return ZERO;
  const scale = Number(power) - fraction.length;
  if (Math.abs(scale) > MAX_POWER) return undefined;
  if (scale >= 0) return rounded(digits * 10n ** BigInt(scale), 0);
  return roundedQuotient(digits, 10n ** BigInt(-scale));
}

function fromHexadecimal([, sign, whole = '', tail = '', only = '', power = '0']: RegExpExecArray):
  | LongDouble
  | undefined {
  const fraction = tail + only;
  const digits = signed(sign, BigInt(`0x${whole}${fraction}`));
  if (digits === 0n) return ZERO;
  const exponent = Number(power) - 4 * fraction.length;
  return Math.abs(exponent) > 10 * MAX_POWER ? undefined : rounded(digits, exponent);
}

const ZERO: LongDouble = { mantissa: 0n, exponent: 0 };

/** As in strtold, a number that is too large, or that rounds to zero, is an error. */
function finite(value: LongDouble | undefined): LongDouble | undefined {
  if (value === undefined || value === ZERO) return value;
  return value.mantissa === 0n || isInfinite(value) ? undefined : value;
}

function signed(sign: string | undefined, magnitude: bigint): bigint {
  return sign === '-' ? -magnitude : magnitude;
}

/** Computes the quotient with two extra bits. The last bit is set if there is a remainder. */
function roundedQuotient(numerator: bigint, denominator: bigint): LongDouble {
  const magnitude = numerator < 0n ? -numerator : numerator;
  const shift = Math.max(0, MANTISSA_BITS + 2 + bitLength(denominator) - bitLength(magnitude));
  const scaled = magnitude << BigInt(shift);
  const quotient = scaled / denominator;
  const sticky = quotient * denominator === scaled ? 0n : 1n;
  const exact = (quotient << 1n) | sticky;
  return rounded(numerator < 0n ? -exact : exact, -shift - 1);
}

/** Rounds `mantissa * 2^exponent` to the nearest long double, half to even; subnormal ones have fewer bits. */
function rounded(mantissa: bigint, exponent: number): LongDouble {
  const negative = mantissa < 0n;
  const magnitude = negative ? -mantissa : mantissa;
  const dropped = Math.max(bitLength(magnitude) - MANTISSA_BITS, MIN_EXPONENT - exponent, 0);
  const kept = shiftRounded(magnitude, dropped);
  const unit = exponent + dropped;
  const tooLarge = bitLength(kept) + unit > MAX_EXPONENT + MANTISSA_BITS;
  return {
    mantissa: negative ? -kept : kept,
    exponent: tooLarge ? Number.POSITIVE_INFINITY : unit,
  };
}

/** `magnitude / 2^bits`, rounded to the nearest integer, half to even. */
function shiftRounded(magnitude: bigint, bits: number): bigint {
  if (bits === 0) return magnitude;
  const shift = BigInt(bits);
  const kept = magnitude >> shift;
  const rest = magnitude - (kept << shift);
  const half = 1n << (shift - 1n);
  const up = rest > half || (rest === half && (kept & 1n) === 1n);
  return up ? kept + 1n : kept;
}

/** Prints like C's `%.17Lf`, without trailing zeros. */
function print({ mantissa, exponent }: LongDouble): string {
  const magnitude = mantissa < 0n ? -mantissa : mantissa;
  const scaled =
    exponent >= 0
      ? (magnitude << BigInt(exponent)) * FRACTION_SCALE
      : shiftRounded(magnitude * FRACTION_SCALE, -exponent);
  if (scaled === 0n) return '0';
  const digits = scaled.toString().padStart(FRACTION_DIGITS + 1, '0');
  const point = digits.length - FRACTION_DIGITS;
  const fraction = digits.slice(point).replace(/0+$/, '');
  const sign = mantissa < 0n ? '-' : '';
  return sign + digits.slice(0, point) + (fraction && `.${fraction}`);
}

function bitLength(magnitude: bigint): number {
  if (magnitude === 0n) return 0;
  const hexadecimal = magnitude.toString(16);
  return 4 * hexadecimal.length - Math.clz32(Number.parseInt(hexadecimal[0]!, 16)) + 28;
}
