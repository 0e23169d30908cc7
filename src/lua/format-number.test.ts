import { expect, it } from 'vitest';
import { formatExponential, formatFixed, formatGeneral } from './format-number.ts';

it.each([
  [0.1, 14, '0.1'],
  [0.1, 17, '0.10000000000000001'],
  [1e14, 14, '1e+14'],
  [123456, 6, '123456'],
  [1234567, 6, '1.23457e+06'],
  [0.0001, 6, '0.0001'],
  [0.00001, 6, '1e-05'],
  [1000000000000.25, 14, '1000000000000.2'],
  [1000000000000.75, 14, '1000000000000.8'],
  [5e-324, 17, '4.9406564584124654e-324'],
  [1.7976931348623157e308, 17, '1.7976931348623157e+308'],
  [-0, 14, '-0'],
  [Number.POSITIVE_INFINITY, 14, 'inf'],
  [Number.NEGATIVE_INFINITY, 14, '-inf'],
  [Number.NaN, 14, '-nan'],
])('%d with %%.%dg is %s', (value, precision, text) => {
  expect(formatGeneral(value, precision)).toBe(text);
});

it.each([
  [0.5, 0, '0'],
  [1.5, 0, '2'],
  [2.5, 0, '2'],
  [0.125, 2, '0.12'],
  [0.375, 2, '0.38'],
  [2.675, 2, '2.67'],
  [1e21, 1, '1000000000000000000000.0'],
  [-0.4, 0, '-0'],
  [1 / 3, 20, '0.33333333333333331483'],
])('%d with %%.%df is %s', (value, precision, text) => {
  expect(formatFixed(value, precision)).toBe(text);
});

it.each([
  [12345.678, 6, '1.234568e+04'],
  [0, 2, '0.00e+00'],
  [2.5, 0, '2e+00'],
  [3.5, 0, '4e+00'],
  [1e100, 3, '1.000e+100'],
])('%d with %%.%de is %s', (value, precision, text) => {
  expect(formatExponential(value, precision)).toBe(text);
});
