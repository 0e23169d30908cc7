import { beforeEach, describe, expect, it } from 'vitest';
import {
  type EngineClient,
  expectReplies,
  startEngineClient,
} from '../../../test/engine-client.ts';

const WRONG_TYPE = '-WRONGTYPE Operation against a key holding the wrong kind of value';
const NOT_AN_INTEGER = '-ERR value is not an integer or out of range';
let client: EngineClient;

beforeEach(() => {
  client = startEngineClient();
});

describe('lists', () => {
  it('LPUSH and RPUSH add at both ends', () => {
    expectReplies(client, [
      ['LPUSHX l a', 0],
      ['RPUSHX l a', 0],
      ['RPUSH l c d', 2],
      ['LPUSH l b a', 4],
      ['LPUSHX l x', 5],
      ['RPUSHX l y z', 7],
      ['LRANGE l 0 -1', ['x', 'a', 'b', 'c', 'd', 'y', 'z']],
      ['LLEN l', 7],
      ['LLEN nothing', 0],
      ['OBJECT ENCODING l', 'quicklist'],
    ]);
  });

  it('LINDEX and LRANGE return elements', () => {
    expectReplies(client, [
      ['RPUSH l a b c d', 4],
      ['LINDEX l 0', 'a'],
      ['LINDEX l -1', 'd'],
      ['LINDEX l 4', null],
      ['LINDEX l -5', null],
      ['LINDEX nothing x', null],
      ['LINDEX l x', NOT_AN_INTEGER],
      ['LRANGE l 1 2', ['b', 'c']],
      ['LRANGE l -2 100', ['c', 'd']],
      ['LRANGE l -100 0', ['a']],
      ['LRANGE l 2 1', []],
      ['LRANGE l 4 9', []],
      ['LRANGE nothing 0 -1', []],
      ['LRANGE nothing 0 x', NOT_AN_INTEGER],
    ]);
  });

  it('LSET and LINSERT change elements', () => {
    expectReplies(client, [
      ['RPUSH l a b c', 3],
      ['LSET l 1 B', '+OK'],
      ['LSET l -1 C', '+OK'],
      ['LSET l 3 x', '-ERR index out of range'],
      ['LSET l x x', NOT_AN_INTEGER],
      ['LSET nothing 0 x', '-ERR no such key'],
      ['LINSERT l BEFORE B x', 4],
      ['LINSERT l after C y', 5],
      ['LINSERT l BEFORE nothing x', -1],
      ['LINSERT nothing BEFORE a x', 0],
      ['LINSERT l IN a x', '-ERR syntax error'],
      ['LRANGE l 0 -1', ['a', 'x', 'B', 'C', 'y']],
    ]);
  });

  it('LREM and LTRIM remove elements', () => {
    expectReplies(client, [
      ['RPUSH l a b a c a', 5],
      ['LREM l -1 a', 1],
      ['LREM l 1 a', 1],
      ['LRANGE l 0 -1', ['b', 'a', 'c']],
      ['LREM l 0 nothing', 0],
      ['LREM l x a', NOT_AN_INTEGER],
      ['LREM nothing 0 a', 0],
      ['LTRIM l 1 -1', '+OK'],
      ['LRANGE l 0 -1', ['a', 'c']],
      ['LTRIM nothing 0 0', '+OK'],
      ['LTRIM l 5 9', '+OK'],
      ['EXISTS l', 0],
      ['RPUSH l a a', 2],
      ['LREM l 0 a', 2],
      ['EXISTS l', 0],
    ]);
  });

  it('LPOS returns the indexes of a value', () => {
    expectReplies(client, [
      ['RPUSH l a b c 1 2 3 c c', 8],
      ['LPOS l c', 2],
      ['LPOS l c RANK 2', 6],
      ['LPOS l c RANK -1', 7],
      ['LPOS l c COUNT 2', [2, 6]],
      ['LPOS l c COUNT 0 RANK -2', [6, 2]],
      ['LPOS l c MAXLEN 2', null],
      ['LPOS l c COUNT 0 MAXLEN 7', [2, 6]],
      ['LPOS l nothing', null],
      ['LPOS l nothing COUNT 1', []],
      ['LPOS nothing a', null],
      ['LPOS nothing a COUNT 1', []],
      ['LPOS l c RANK', '-ERR syntax error'],
      ['LPOS l c COUNT -1', "-ERR COUNT can't be negative"],
      ['LPOS l c MAXLEN x', "-ERR MAXLEN can't be negative"],
      [
        'LPOS l c RANK 0',
        "-ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use negative to start from the end of the list",
      ],
    ]);
  });

  it('commands reject other types', () => {
    client.send('SET l 1');
    for (const command of [
      ...[
        'LPUSH l a',
        'RPUSH l a',
        'LPUSHX l a',
        'RPUSHX l a',
        'LLEN l',
        'LINDEX l 0',
        'LSET l 0 a',
      ],
      ...['LRANGE l 0 1', 'LTRIM l 0 1', 'LINSERT l BEFORE a b', 'LREM l 0 a', 'LPOS l a'],
    ]) {
      expect(client.send(command), command).toBe(WRONG_TYPE);
    }
  });

  it('changes publish keyspace events', () => {
    for (const command of [
      ...[
        'LPUSH l a',
        'RPUSH l b',
        'LPUSHX l c',
        'RPUSHX no c',
        'LSET l 0 d',
        'LINSERT l AFTER a e',
      ],
      ...[
        'LREM l 0 nothing',
        'LREM l 0 e',
        'LTRIM l 0 -1',
        'LTRIM l 9 9',
        'RPUSH l a',
        'LREM l 0 a',
      ],
    ]) {
      client.send(command);
    }
    expect(client.events()).toEqual([
      ...['lpush l', 'rpush l', 'lpush l', 'lset l', 'linsert l', 'lrem l', 'ltrim l', 'ltrim l'],
      ...['del l', 'rpush l', 'lrem l', 'del l'],
    ]);
  });
});
