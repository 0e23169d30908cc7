import { describe, expect, it } from 'vitest';
import { countedKeys, keyPositions, keyRange, keysUpTo, oneKey, unknownKeys } from './key-spec.ts';

describe('keyPositions', () => {
  it.each([
    ['LMPOP 2 a b LEFT', 1, [2, 3]],
    ['BLMPOP 0 1 a LEFT', 2, [3]],
    ['SINTERCARD 1 a', 1, [2]],
    ['SINTERCARD 2 a', 1, []],
    ['SINTERCARD 0 a', 1, []],
    ['SINTERCARD x a', 1, []],
    ['SINTERCARD', 1, []],
  ])('finds the counted keys of %s', (line, countAt, positions) => {
    const spec = countedKeys(countAt, 'RO access');
    expect(keyPositions(spec, line.split(' '))).toEqual(positions);
  });

  it.each([
    ['GET a', oneKey('RO access'), [1]],
    ['OBJECT ENCODING a', oneKey('RO', 2), [2]],
    ['DEL a b c', keysUpTo(-1, 'RM delete'), [1, 2, 3]],
    ['BLPOP a b 0', keysUpTo(-2, 'RW access delete'), [1, 2]],
    ['MSET a 1 b 2', keysUpTo(-1, 'OW update', 1, 2), [1, 3]],
    ['SORT a STORE b', unknownKeys('OW update', 'STORE'), []],
  ])('finds the keys of %s', (line, spec, positions) => {
    expect(keyPositions(spec, line.split(' '))).toEqual(positions);
  });
});

describe('keyRange', () => {
  it.each([
    ['no keys', [], [0, 0, 0]],
    ['one key', [oneKey('RO')], [1, 1, 1]],
    ['two keys', [oneKey('RW access delete'), oneKey('RW insert', 2)], [1, 2, 1]],
    ['a key, then all others', [oneKey('OW update'), keysUpTo(-1, 'RO access', 2)], [1, -1, 1]],
    ['every other argument', [keysUpTo(-1, 'OW update', 1, 2)], [1, -1, 2]],
    ['counted keys', [countedKeys(1, 'RO access')], [0, 0, 0]],
    ['a key, then counted ones', [oneKey('OW update'), countedKeys(2, 'RO access')], [1, 1, 1]],
  ])('of %s', (_name, specs, range) => {
    expect(keyRange(specs)).toEqual(range);
  });
});
