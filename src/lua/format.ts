import { PIECE_BYTES, spendMaking } from './budget.ts';
import { argumentError, libraryError, plainError } from './error.ts';
import { escapeChars, escapeTable } from './escape.ts';
import { formatExponential, formatFixed, formatGeneral } from './format-number.ts';
import { expectNumber, expectString, toInteger, toUnsigned } from './lib/arguments.ts';
import { untilNul } from './number.ts';
import { MAX_STRING } from './operators.ts';
import type { LuaValue } from './value.ts';

interface Spec {
  readonly isLeft: boolean;
  readonly plus: boolean;
  readonly space: boolean;
  readonly alternate: boolean;
  readonly zero: boolean;
  readonly width: number;
  readonly precision: number | undefined;
}

/** string.format: C's printf for the conversions that Lua 5.1 has. */
export function format(args: LuaValue[]): string {
  const template = expectString(args, 0);
  let result = '';
  let argument = 0;
  let at = 0;
  for (;;) {
    const mark = template.indexOf('%', at);
    const literal = mark < 0 ? template.length - at : mark - at;
    spendMaking(literal + 3 * PIECE_BYTES);
    if (mark < 0) return result + template.slice(at);
    result += template.slice(at, mark);
    if (template[mark + 1] === '%') {
      result += '%';
      at = mark + 2;
      continue;
    }
    argument += 1;
    if (argument >= args.length) throw argumentError(argument + 1, 'no value');
    const { spec, end } = readSpec(template, mark + 1);
    const piece = convert(template[end] ?? '\0', spec, args, argument);
    spendMaking(piece.length);
    if (result.length + piece.length > MAX_STRING) throw plainError('not enough memory');
    result += piece;
    at = end + 1;
  }
}

/** C Lua allows as many flag chars as there are flags, and two digits for each size. */
const MAX_FLAGS = 5;

function readSpec(template: string, start: number): { spec: Spec; end: number } {
  let at = start;
  while (at < template.length && '-+ #0'.includes(template[at]!)) at += 1;
  const flags = template.slice(start, at);
  if (flags.length > MAX_FLAGS) throw libraryError('invalid format (repeated flags)');
  const width = readDigits(template, at);
  at += width.length;
  let precision: string | undefined;
  if (template[at] === '.') {
    precision = readDigits(template, at + 1);
    at += 1 + precision.length;
  }
  if (isDigit(template[at])) throw libraryError('invalid format (width or precision too long)');
  const spec = {
    isLeft: flags.includes('-'),
    plus: flags.includes('+'),
    space: flags.includes(' '),
    alternate: flags.includes('#'),
    zero: flags.includes('0'),
    width: Number(width),
    precision: precision === undefined ? undefined : Number(precision),
  };
  return { spec, end: at };
}

function readDigits(template: string, at: number): string {
  if (!isDigit(template[at])) return '';
  return isDigit(template[at + 1]) ? template.slice(at, at + 2) : template[at]!;
}

function isDigit(char: string | undefined): boolean {
  return char !== undefined && char >= '0' && char <= '9';
}

function convert(letter: string, spec: Spec, args: LuaValue[], at: number): string {
  switch (letter) {
    case 'c':
      return convertChar(spec, expectNumber(args, at));
    case 'd':
    case 'i':
      return convertSigned(spec, expectNumber(args, at));
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      return convertUnsigned(letter, spec, expectNumber(args, at));
    case 'e':
    case 'E':
    case 'f':
    case 'g':
    case 'G':
      return convertDouble(letter, spec, expectNumber(args, at));
    case 'q':
      return quote(expectString(args, at));
    case 's':
      return convertString(spec, expectString(args, at));
    default:
      throw libraryError(`invalid option '%${letter === '\0' ? '' : letter}' to 'format'`);
  }
}

function pad(spec: Spec, text: string): string {
  return spec.isLeft ? text.padEnd(spec.width) : text.padStart(spec.width);
}

/** Pads a number, with zeros after its sign and prefix if the spec has the flag `0`. */
function padNumber(spec: Spec, sign: string, digits: string, zeros: boolean): string {
  if (!zeros || spec.isLeft) return pad(spec, sign + digits);
  return sign + digits.padStart(spec.width - sign.length, '0');
}

/** C's cast of a double to 32 bits, which on x86 gives the smallest int for all that do not fit. */
function toShortInt(value: number): number {
  return Math.abs(value) < 2 ** 31 ? Math.trunc(value) : -(2 ** 31);
}

/** A NUL char ends the text, because C Lua measures what printf wrote. */
function convertChar(spec: Spec, value: number): string {
  return untilNul(pad(spec, String.fromCharCode(toShortInt(value) & 0xff)));
}

function convertSigned(spec: Spec, value: number): string {
  const whole = toInteger(value);
  const digits = withPrecision(
    spec,
    Number.isSafeInteger(whole) ? String(Math.abs(whole)) : largeDigits(whole),
  );
  return padNumber(
    spec,
    signFor(spec, whole < 0),
    digits,
    spec.zero && spec.precision === undefined,
  );
}

function largeDigits(whole: number): string {
  const big = BigInt(whole);
  return (big < 0n ? -big : big).toString();
}

function signFor(spec: Spec, isNegative: boolean): string {
  if (isNegative) return '-';
  if (spec.plus) return '+';
  return spec.space ? ' ' : '';
}

function withPrecision(spec: Spec, digits: string): string {
  if (spec.precision === 0 && digits === '0') return '';
  return digits.padStart(spec.precision ?? 1, '0');
}

const RADIX = { u: 10, o: 8, x: 16, X: 16 } as const;

function convertUnsigned(letter: 'u' | 'o' | 'x' | 'X', spec: Spec, value: number): string {
  const bits = toUnsigned(value);
  let digits = withPrecision(spec, bits.toString(RADIX[letter]));
  let prefix = '';
  if (spec.alternate && letter === 'o' && digits[0] !== '0') digits = `0${digits}`;
  if (spec.alternate && RADIX[letter] === 16 && bits !== 0n) prefix = '0x';
  const text = padNumber(spec, prefix, digits, spec.zero && spec.precision === undefined);
  return letter === 'X' ? text.toUpperCase() : text;
}

function convertDouble(letter: 'e' | 'E' | 'f' | 'g' | 'G', spec: Spec, value: number): string {
  const size = Math.abs(value);
  const precision = spec.precision ?? 6;
  const text = doubleText(letter, size, precision, spec.alternate);
  const isNegative = value < 0 || Object.is(value, -0) || Number.isNaN(value);
  const digits = Number.isNaN(value) ? 'nan' : text;
  const padded = padNumber(
    spec,
    signFor(spec, isNegative),
    digits,
    spec.zero && Number.isFinite(value),
  );
  return letter === 'E' || letter === 'G' ? padded.toUpperCase() : padded;
}

function doubleText(letter: string, size: number, precision: number, alternate: boolean): string {
  if (letter === 'f') return formatFixed(size, precision, alternate);
  if (letter === 'e' || letter === 'E') return formatExponential(size, precision, alternate);
  return formatGeneral(size, precision, alternate);
}

/** Below a hundred bytes C Lua formats through a C string, which a NUL ends. */
const MAX_C_STRING = 100;

function convertString(spec: Spec, text: string): string {
  if (spec.precision === undefined && text.length >= MAX_C_STRING) return text;
  const shown = untilNul(text);
  return pad(spec, spec.precision === undefined ? shown : shown.slice(0, spec.precision));
}

/** The chars that `%q` escapes. */
const QUOTED = escapeTable({
  '"': '\\"',
  '\\': '\\\\',
  '\n': '\\\n',
  '\r': '\\r',
  '\0': '\\000',
});

function quote(text: string): string {
  return `"${escapeChars(text, QUOTED)}"`;
}
