import { describe, expect, it } from 'vitest';
import { timeoutArgument } from './time-argument.ts';

describe('timeoutArgument', () => {
  it.each([
    ['0', Number.POSITIVE_INFINITY],
    ['-0', Number.POSITIVE_INFINITY],
    ['-0.0001', Number.POSITIVE_INFINITY],
    ['1', 1000],
    ['0.07', 70],
    ['0.0001', 1],
    ['1e-30', 1],
    ['0x1p1', 2000],
  ])('converts %s seconds to %d ms', (text, timeoutMs) => {
    expect(timeoutArgument(text)).toBe(timeoutMs);
  });

  it.each([
    ['-1', 'ERR timeout is negative'],
    ['-0.0011', 'ERR timeout is negative'],
    ['1e30', 'ERR timeout is negative'],
    ['1e400', 'ERR timeout is negative'],
    ['inf', 'ERR timeout is negative'],
    ['-inf', 'ERR timeout is negative'],
    ['nan', 'ERR timeout is not a float or out of range'],
    ['soon', 'ERR timeout is not a float or out of range'],
    ['1 ', 'ERR timeout is not a float or out of range'],
  ])('rejects %s', (text, message) => {
    expect(() => timeoutArgument(text)).toThrow(expect.objectContaining({ message }));
  });
});
