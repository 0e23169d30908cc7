/**
 * Numbers as C's printf prints them. JavaScript's toFixed and toExponential give exact decimal
 * digits, but break ties away from zero where C rounds to even, so every rounding is checked for a
 * tie. Precisions are at most 99, as string.format allows no more.
 */

/** C's `%.<precision>g`, or `%#.<precision>g`, which keeps trailing zeros. */
export function formatGeneral(value: number, precision: number, keepZeros = false): string {
  if (!Number.isFinite(value)) return formatSpecial(value);
  const digits = precision === 0 ? 1 : precision;
  if (value === 0) return signOf(value) + (keepZeros ? `0.${'0'.repeat(digits - 1)}` : '0');
  const scientific = exponential(Math.abs(value), digits - 1);
  const mark = scientific.indexOf('e');
  const exponent = Number(scientific.slice(mark + 1));
  const useScientific = exponent < -4 || exponent >= digits;
  const text = useScientific
    ? scientific.slice(0, mark)
    : fixed(Math.abs(value), Math.max(0, digits - 1 - exponent));
  const shown = keepZeros ? withPoint(text) : dropZeros(text);
  return signOf(value) + shown + (useScientific ? cExponent(exponent) : '');
}

/** C's `%.<precision>e`. */
export function formatExponential(value: number, precision: number, keepPoint = false): string {
  if (!Number.isFinite(value)) return formatSpecial(value);
  const text = exponential(Math.abs(value), precision);
  const mark = text.indexOf('e');
  const mantissa = text.slice(0, mark);
  return (
    signOf(value) +
    (keepPoint ? withPoint(mantissa) : mantissa) +
    cExponent(Number(text.slice(mark + 1)))
  );
}

/** C's `%.<precision>f`. */
export function formatFixed(value: number, precision: number, keepPoint = false): string {
  if (!Number.isFinite(value)) return formatSpecial(value);
  const text = fixed(Math.abs(value), precision);
  return signOf(value) + (keepPoint ? withPoint(text) : text);
}

/** C prints a NaN's sign. JavaScript hides it, so all are shown as x86 makes them from 0/0. */
function formatSpecial(value: number): string {
  if (Number.isNaN(value)) return '-nan';
  return value > 0 ? 'inf' : '-inf';
}

function signOf(value: number): string {
  return value < 0 || (value === 0 && 1 / value < 0) ? '-' : '';
}

function cExponent(exponent: number): string {
  const size = String(Math.abs(exponent)).padStart(2, '0');
  return `e${exponent < 0 ? '-' : '+'}${size}`;
}

function withPoint(text: string): string {
  return text.includes('.') ? text : `${text}.`;
}

function dropZeros(text: string): string {
  if (!text.includes('.')) return text;
  let end = text.length;
  while (text.charCodeAt(end - 1) === 48) end -= 1;
  if (text.charCodeAt(end - 1) === 46) end -= 1;
  return text.slice(0, end);
}

/** Digits after the rounding place that are compared to distinguish a tie from a near miss. */
const EXTRA_DIGITS = 30;

function exponential(size: number, precision: number): string {
  const rounded = size.toExponential(precision);
  const wide = size.toExponential(Math.min(100, precision + EXTRA_DIGITS));
  const mark = wide.indexOf('e');
  const cut = precision === 0 ? 1 : precision + 2;
  const tail = wide.slice(precision === 0 ? 2 : cut, mark);
  if (!isTie(tail) || !isEven(wide.charCodeAt(cut - 1))) return rounded;
  return wide.slice(0, cut) + wide.slice(mark);
}

function fixed(size: number, precision: number): string {
  if (size >= 1e21) {
    return BigInt(size).toString() + (precision === 0 ? '' : `.${'0'.repeat(precision)}`);
  }
  const rounded = size.toFixed(precision);
  const wide = size.toFixed(Math.min(100, precision + EXTRA_DIGITS));
  const point = wide.indexOf('.');
  const cut = precision === 0 ? point : point + 1 + precision;
  const tail = wide.slice(point + 1 + precision);
  if (!isTie(tail) || !isEven(wide.charCodeAt(cut - 1))) return rounded;
  return wide.slice(0, cut);
}

function isTie(tail: string): boolean {
  if (tail.charCodeAt(0) !== 53) return false;
  for (let at = 1; at < tail.length; at++) if (tail.charCodeAt(at) !== 48) return false;
  return true;
}

function isEven(digit: number): boolean {
  return (digit & 1) === 0;
}
