/**
 * C's pow. JavaScript's `**` may differ in the last bit, which is visible when a script passes the result
 * to a command, where numbers keep all their digits. So whole exponents, the common ones, are computed
 * in double-double arithmetic: each number is the unevaluated sum of two doubles, about 106 bits, and
 * only the final sum is rounded. Other exponents use `**`.
 */
export function power(base: number, exponent: number): number {
  // C has 1 for 1^NaN and (-1)^inf, where JavaScript has NaN.
  if (base === 1 || (base === -1 && Math.abs(exponent) === Number.POSITIVE_INFINITY)) return 1;
  if (Number.isInteger(exponent) && Math.abs(exponent) <= MAX_EXPONENT) {
    const result = multiplyOut(base, exponent);
    if (isOrdinary(result)) return result;
  }
  return base ** exponent;
}

const MAX_EXPONENT = 1024;

/** True if the value is in the range in which double-double arithmetic is exact enough. */
function isOrdinary(value: number): boolean {
  const size = Math.abs(value);
  return size > 1e-270 && size < 1e290;
}

function multiplyOut(base: number, exponent: number): number {
  let high = 1;
  let low = 0;
  let squareHigh = base;
  let squareLow = 0;
  for (let rest = Math.abs(exponent); rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) {
      const product = high * squareHigh;
      const error = productError(high, squareHigh, product) + (high * squareLow + low * squareHigh);
      high = product + error;
      low = error - (high - product);
    }
    const square = squareHigh * squareHigh;
    const error = productError(squareHigh, squareHigh, square) + 2 * squareHigh * squareLow;
    squareHigh = square + error;
    squareLow = error - (squareHigh - square);
  }
  return exponent < 0 ? reciprocal(high, low) : high;
}

function reciprocal(high: number, low: number): number {
  const guess = 1 / high;
  const product = guess * high;
  const rest = 1 - product - productError(guess, high, product) - guess * low;
  return guess + guess * rest;
}

const SPLITTER = 2 ** 27 + 1;

/** The exact rounding error of a product (Dekker's algorithm). */
function productError(a: number, b: number, product: number): number {
  const aHigh = upperHalf(a);
  const bHigh = upperHalf(b);
  const aLow = a - aHigh;
  const bLow = b - bHigh;
  return aLow * bLow - (product - aHigh * bHigh - aLow * bHigh - aHigh * bLow);
}

function upperHalf(value: number): number {
  const scaled = SPLITTER * value;
  return scaled - (scaled - value);
}
