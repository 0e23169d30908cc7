import { describe, expect, it } from 'vitest';
import { ErrorReply } from '../resp/index.ts';
import { addLongDoubles, isInfinite, parseLongDouble } from './long-double.ts';

/** The result of `attempt`, or the message of the error that it throws. */
function result(attempt: () => unknown): unknown {
  try {
    return attempt();
  } catch (error) {
    if (error instanceof ErrorReply) return error.message;
    throw error;
  }
}

const NOT_A_FLOAT = 'ERR value is not a valid float';
const NOT_FINITE = 'ERR increment would produce NaN or Infinity';

// The expected results are those of INCRBYFLOAT in Redis 7.0.15 on x86-64.
describe('addLongDoubles', () => {
  it.each([
    ['0.1', '0.2', '0.3'],
    ['3.0e3', '200', '3200'],
    ['10.50', '0.1', '10.6'],
    ['5', '-7', '-2'],
    ['1e17', '0.1', '100000000000000000.1015625'],
    ['9007199254740993', '1', '9007199254740994'],
    ['9223372036854775807', '1', '9223372036854775808'],
    ['18446744073709551615', '1', '18446744073709551616'],
    ['18446744073709551616', '1', '18446744073709551616'],
    ['18446744073709551616', '3', '18446744073709551620'],
    ['1e-17', '0', '0.00000000000000001'],
    ['1e-18', '0', '0'],
    ['-1e-18', '0', '0'],
    ['-0', '0', '0'],
    ['0x10', '0x.8p1', '17'],
    ['0x1.8p-2', '+.5', '0.875'],
    ['1.', '.5e1', '6'],
    ['1e-4940', '1', '1'],
    ['007', '1', '8'],
  ])('%s + %s = %s', (a, b, sum) => {
    expect(addLongDoubles(a, b)).toBe(sum);
  });

  it('prints the largest numbers in full', () => {
    expect(addLongDoubles('1e4932', '0')).toMatch(/^1000000000000000000\d{4914}$/);
  });

  it.each([
    ['inf', '1', NOT_FINITE],
    ['1', '-infinity', NOT_FINITE],
    ['1.1e4932', '1.1e4932', NOT_FINITE],
    ['', '1', NOT_A_FLOAT],
    ['1', ' 1', NOT_A_FLOAT],
    ['1', '1 ', NOT_A_FLOAT],
    ['1', '1e', NOT_A_FLOAT],
    ['1', '1e+', NOT_A_FLOAT],
    ['1', '.', NOT_A_FLOAT],
    ['1', '0x', NOT_A_FLOAT],
    ['1', '0x1p', NOT_A_FLOAT],
    ['1', '1_0', NOT_A_FLOAT],
    ['1', 'nan', NOT_A_FLOAT],
    ['1', '1e5000', NOT_A_FLOAT],
    ['1', '1e-5000', NOT_A_FLOAT],
    ['1', '1e99999999999', NOT_A_FLOAT],
    ['1', '0x1p99999999999', NOT_A_FLOAT],
    ['1', '1\0', NOT_A_FLOAT],
    ['1', '1'.repeat(5120), NOT_A_FLOAT],
  ])('%s + %s: %s', (a, b, message) => {
    expect(result(() => addLongDoubles(a, b))).toBe(message);
  });
});

describe('parseLongDouble', () => {
  it('rounds to 64 bits, half to even', () => {
    const odd = 2n ** 64n + 1n;
    expect(parseLongDouble(String(odd))).toEqual({ mantissa: 2n ** 63n, exponent: 1 });
    expect(parseLongDouble(String(odd + 2n))).toEqual({ mantissa: 2n ** 63n + 2n, exponent: 1 });
    expect(parseLongDouble(`${odd}.0000001`)).toEqual({ mantissa: 2n ** 63n + 1n, exponent: 1 });
  });

  it('keeps numbers below the smallest normal one, with fewer bits', () => {
    expect(parseLongDouble('0x1p-16445')).toEqual({ mantissa: 1n, exponent: -16445 });
    expect(parseLongDouble('0x1.8p-16445')).toEqual({ mantissa: 2n, exponent: -16445 });
    expect(parseLongDouble('0x1p-16446')).toBeUndefined();
  });

  it('parses both infinities', () => {
    expect(isInfinite(parseLongDouble('+INF')!)).toBe(true);
    expect(isInfinite(parseLongDouble('1e4000')!)).toBe(false);
  });
});
