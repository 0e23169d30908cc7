import { describe, expect, it } from 'vitest';
import { countedKeys } from './counted-keys.ts';

describe('countedKeys', () => {
  it.each([
    ['LMPOP 2 a b LEFT', 1, [2, 3]],
    ['BLMPOP 0 1 a LEFT', 2, [3]],
    ['SINTERCARD 1 a', 1, [2]],
    ['SINTERCARD 2 a', 1, []],
    ['SINTERCARD 0 a', 1, []],
    ['SINTERCARD x a', 1, []],
    ['SINTERCARD', 1, []],
  ])('%s', (line, countAt, positions) => {
    expect(countedKeys(countAt)(line.split(' '))).toEqual(positions);
  });
});
