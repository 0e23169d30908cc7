import { INT64_MAX, INT64_MIN, NOT_A_FLOAT, NOT_AN_INTEGER } from './errors.ts';

/**
 * A 64-bit integer written the one way Redis accepts: no plus sign, spaces, leading zeros or `-0`.
 * A bigint only where a double would lose digits.
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

/** An integer argument as a double: exact up to 2^53, close enough beyond for counts and ranges. */
export function integerArgument(text: string, error = NOT_AN_INTEGER): number {
  const value = parseInteger(text);
  if (value === undefined) throw error;
  return Number(value);
}

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const HEXADECIMAL = /^([+-]?)0[xX]([0-9a-fA-F]*)(?:\.([0-9a-fA-F]*))?(?:[pP]([+-]?\d+))?$/;
const INFINITE = /^([+-]?)inf(?:inity)?$/i;

/** A double in any spelling that C's strtod takes, except NaN; undefined for anything else. */
export function parseFloat64(text: string): number | undefined {
  if (DECIMAL.test(text)) return Number(text);
  const infinite = INFINITE.exec(text);
  if (infinite) return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  const hexadecimal = HEXADECIMAL.exec(text);
  return hexadecimal ? hexadecimalValue(hexadecimal) : undefined;
}

export function floatArgument(text: string, error = NOT_A_FLOAT): number {
  const value = parseFloat64(text);
  if (value === undefined) throw error;
  return value;
}

/** A double as Redis 7 prints it in replies: C's `%.17g`. */
export function formatFloat64(value: number): string {
  if (Number.isInteger(value) && Math.abs(value) < 1e17) {
    return Object.is(value, -0) ? '-0' : String(value);
  }
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : value < 0 ? '-inf' : 'nan';
  const exponent = Number(value.toExponential(16).split('e')[1]);
  if (exponent < -4 || exponent >= 17) {
    const [digits, power] = value.toExponential(16).split('e') as [string, string];
    const sign = power.startsWith('-') ? '-' : '+';
    return `${withoutTrailingZeros(digits)}e${sign}${power.slice(1).padStart(2, '0')}`;
  }
  return withoutTrailingZeros(value.toPrecision(17));
}

function withoutTrailingZeros(digits: string): string {
  return digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits;
}

function hexadecimalValue([, sign, whole = '', fraction = '', power]: RegExpExecArray):
  | number
  | undefined {
  const digits = whole + fraction;
  if (digits === '') return undefined;
  const scale = Number(power ?? 0) - 4 * fraction.length;
  const value = Number(BigInt(`0x${digits}`)) * 2 ** scale;
  return sign === '-' ? -value : value;
}
