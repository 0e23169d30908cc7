import { describe, expect, it } from 'vitest';
import { parseCursor, scanArguments } from './scan-arguments.ts';

describe('parseCursor', () => {
  it.each([
    ['', 0],
    ['0', 0],
    ['007', 7],
    ['+5', 5],
    ['-5', 5],
    ['18446744073709551615', 2 ** 64],
  ])('accepts "%s"', (text, cursor) => {
    expect(parseCursor(text)).toBe(cursor);
  });

  it.each(['-', '+', ' 1', '1 ', 'x', '18446744073709551616'])('rejects "%s"', (text) => {
    expect(() => parseCursor(text)).toThrow(
      expect.objectContaining({ message: 'ERR invalid cursor' }),
    );
  });
});

describe('scanArguments', () => {
  it('parses options in any order and case; the last of a kind counts', () => {
    const argv = ['SCAN', '3', 'count', '5', 'MATCH', 'a*', 'Count', '7', 'type', 'Hash'];
    const { cursor, count, admits, type } = scanArguments(argv, 1);
    expect({ cursor, count, type }).toEqual({ cursor: 3, count: 7, type: 'hash' });
    expect([admits('ab'), admits('b')]).toEqual([true, false]);
  });

  it.each([
    [['0', 'COUNT'], 'ERR syntax error'],
    [['0', 'COUNT', '0'], 'ERR syntax error'],
    [['0', 'COUNT', 'x'], 'ERR value is not an integer or out of range'],
    [['0', 'TYPE', 'hash'], 'ERR syntax error'],
    [['0', 'WHAT', '1'], 'ERR syntax error'],
  ])('rejects %j', (words, message) => {
    expect(() => scanArguments(['HSCAN', 'key', ...words], 2)).toThrow(
      expect.objectContaining({ message }),
    );
  });
});
