import { expect, it } from 'vitest';
import { power } from './power.ts';

/** An exact power of a whole number, rounded once. */
function exact(base: number, exponent: number): number {
  return Number(BigInt(base) ** BigInt(exponent));
}

it('rounds whole powers correctly', () => {
  for (let base = -40; base <= 40; base++) {
    for (let exponent = 0; exponent <= 150; exponent++) {
      expect(power(base, exponent)).toBe(exact(base, exponent));
    }
  }
  expect(power(2035260416, 3)).toBe(exact(2035260416, 3));
});

it('gives the powers of ten and two their literal values', () => {
  for (let exponent = -250; exponent <= 280; exponent++) {
    expect(power(10, exponent)).toBe(Number(`1e${exponent}`));
    expect(power(2, exponent)).toBe(2 ** exponent);
  }
});

it.each([
  [1, Number.NaN, 1],
  [-1, Number.POSITIVE_INFINITY, 1],
  [2, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  [0, 0, 1],
  [0, -1, Number.POSITIVE_INFINITY],
  [-8, 1 / 3, Number.NaN],
  [10, 400, Number.POSITIVE_INFINITY],
  [10, -400, 0],
  [2, -1074, 5e-324],
  [9, 0.5, 3],
])('%d ^ %d is %d', (base, exponent, result) => {
  expect(power(base, exponent)).toBe(result);
});
