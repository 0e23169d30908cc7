import { describe, expect, test } from 'vitest';
import { formatFloat64, parseFloat64, parseInteger } from './number.ts';

describe('formatFloat64 prints as %.17g of C', () => {
  // The right column is the output of redis-server 7.0.15 and of C's printf.
  test.each([
    [0, '0'],
    [-0, '-0'],
    [3, '3'],
    [-17, '-17'],
    [1.5, '1.5'],
    [-1.5, '-1.5'],
    [0.1, '0.10000000000000001'],
    [0.0001, '0.0001'],
    [0.00001, '1.0000000000000001e-05'],
    [1e16, '10000000000000000'],
    [1e17, '1e+17'],
    [1e20, '1e+20'],
    [1e100, '1e+100'],
    [1234567890123456.8, '1234567890123456.8'],
    [123456789012345680, '1.2345678901234568e+17'],
    [72057594037927936, '72057594037927936'],
    [2 ** 53, '9007199254740992'],
    [5e-324, '4.9406564584124654e-324'],
    [Number.MAX_VALUE, '1.7976931348623157e+308'],
    [Number.POSITIVE_INFINITY, 'inf'],
    [Number.NEGATIVE_INFINITY, '-inf'],
    [Number.NaN, 'nan'],
  ])('%s is %s', (value, text) => {
    expect(formatFloat64(value)).toBe(text);
  });

  test.each([
    [2 ** 49 + 1 / 8, '562949953421312.12'],
    [2 ** 49 + 3 / 8, '562949953421312.38'],
    [-(2 ** 49) - 1 / 8, '-562949953421312.12'],
    [2 ** -25, '2.9802322387695312e-08'],
  ])('rounds a tie to the even digit: %s is %s', (value, text) => {
    expect(formatFloat64(value)).toBe(text);
  });
});

describe('parseFloat64', () => {
  test.each([
    ['0', 0],
    ['-0', -0],
    ['1.5', 1.5],
    ['+1.5', 1.5],
    ['.5', 0.5],
    ['5.', 5],
    ['1e3', 1000],
    ['007', 7],
    ['9007199254740993', 2 ** 53],
    ['0x10', 16],
    ['-0x.8p1', -1],
    ['inf', Number.POSITIVE_INFINITY],
    ['+Infinity', Number.POSITIVE_INFINITY],
    ['-INF', Number.NEGATIVE_INFINITY],
    ['0e-400', 0],
    ['5e-324', 5e-324],
  ])('%j is %s', (text, value) => {
    expect(parseFloat64(text)).toBe(value);
  });

  test.each([
    '',
    ' 1',
    '1 ',
    'abc',
    '1e',
    'e5',
    '.',
    '0x',
    'nan',
    'NaN',
    '1e400',
    '-1e400',
    '1e-400',
    '1_0',
    '0x1p-2000',
  ])('%j is rejected', (text) => {
    expect(parseFloat64(text)).toBeUndefined();
  });
});

describe('parseInteger', () => {
  test.each<[string, number | bigint | undefined]>([
    ['0', 0],
    ['-1', -1],
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', 9007199254740993n],
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9223372036854775808', undefined],
    ['-9223372036854775809', undefined],
    ['01', undefined],
    ['-0', undefined],
    ['+1', undefined],
    [' 1', undefined],
    ['1 ', undefined],
    ['', undefined],
    ['-', undefined],
  ])('%j is %s', (text, value) => {
    expect(parseInteger(text)).toBe(value);
  });
});
