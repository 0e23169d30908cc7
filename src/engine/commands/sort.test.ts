import { beforeEach, describe, expect, it } from 'vitest';
import {
  type EngineClient,
  expectReplies,
  startEngineClient,
} from '../../../test/engine-client.ts';
import { COMMANDS } from './index.ts';

let client: EngineClient;

beforeEach(() => {
  client = startEngineClient();
});

describe('SORT', () => {
  it.each(['ASC', 'DESC', 'ALPHA', 'ALPHA DESC'])(
    'returns with LIMIT the same elements as without: %s',
    (how) => {
      const elements = Array.from({ length: 300 }, (_, at) => String((at * 7919) % 101));
      client.send(['RPUSH', 'l', ...elements]);
      const all = client.send(`SORT l ${how}`) as string[];
      for (const [offset, count] of [
        [0, 0],
        [0, 1],
        [3, 5],
        [0, 16],
        [1, 16],
        [290, 16],
      ] as const) {
        expect(client.send(`SORT l ${how} LIMIT ${offset} ${count}`)).toEqual(
          all.slice(offset, offset + count),
        );
      }
    },
  );

  it('sorts lists, sets and sorted sets by number or by bytes', () => {
    expectReplies(client, [
      ['RPUSH l 3 10 2 -1.5', 4],
      ['SORT l', ['-1.5', '2', '3', '10']],
      ['SORT l DESC', ['10', '3', '2', '-1.5']],
      ['SORT l ALPHA', ['-1.5', '10', '2', '3']],
      ['SORT_RO l ALPHA DESC LIMIT 1 2', ['2', '10']],
      ['SADD s b c a', 3],
      ['SORT s ALPHA', ['a', 'b', 'c']],
      ['SORT s', "-ERR One or more scores can't be converted into double"],
      ['ZADD z 3 1 2 2 1 3', 3],
      ['SORT z', ['1', '2', '3']],
      ['SORT nothing', []],
    ]);
  });

  it('does not sort when BY has no star', () => {
    expectReplies(client, [
      ['RPUSH l b c a', 3],
      ['SORT l BY nosort', ['b', 'c', 'a']],
      ['SORT l BY nosort DESC LIMIT 0 2', ['a', 'c']],
      ['ZADD z 3 a 2 b 1 c', 3],
      ['SORT z BY nosort', ['c', 'b', 'a']],
      ['SORT z BY nosort DESC LIMIT 1 5', ['b', 'c']],
      ['SADD s c a b', 3],
      ['SORT s BY nosort STORE out', 3],
      ['LRANGE out 0 -1', ['a', 'b', 'c']],
    ]);
  });

  it('BY and GET read other keys and hash fields', () => {
    expectReplies(client, [
      ['RPUSH l 1 2 3', 3],
      ['MSET w_1 30 w_2 20 w_3 10', '+OK'],
      ['HSET o_1 name one', 1],
      ['HSET o_3 name three', 1],
      ['SORT l BY w_*', ['3', '2', '1']],
      ['SORT l BY w_* GET # GET o_*->name', ['3', 'three', '2', null, '1', 'one']],
      ['SORT l GET w_* GET w_*->name GET fixed LIMIT 0 1', ['30', null, null]],
      ['SORT l BY o_*->name ALPHA', ['2', '1', '3']],
      ['SORT l BY missing_*', ['1', '2', '3']],
      ['SORT l BY missing_* DESC', ['3', '2', '1']],
    ]);
  });

  it('parses weights like strtod', () => {
    expectReplies(client, [
      [['RPUSH', 'l', '', ' 1', '0x10', 'inf', '-1\0x'], 5],
      ['SORT l', ['-1\0x', '', ' 1', '0x10', 'inf']],
      ['RPUSH m 1 nan', 2],
      ['SORT m', "-ERR One or more scores can't be converted into double"],
    ]);
  });

  it('stores its result as a list', () => {
    expectReplies(client, [
      ['RPUSH l 2 1', 2],
      ['SORT l GET w_* GET # STORE out', 4],
      ['LRANGE out 0 -1', ['', '1', '', '2']],
      ['SORT l LIMIT 5 1 STORE out', 0],
      ['EXISTS out', 0],
      ['SORT_RO l STORE out', '-ERR syntax error'],
    ]);
    expect(client.events()).toEqual(['rpush l', 'sortstore out', 'del out']);
  });

  it('rejects other types and invalid options', () => {
    expectReplies(client, [
      ['SET s 1', '+OK'],
      ['HSET h a 1', 1],
      ['SORT s', '-WRONGTYPE Operation against a key holding the wrong kind of value'],
      ['SORT h', '-WRONGTYPE Operation against a key holding the wrong kind of value'],
      ['SORT l LIMIT 1', '-ERR syntax error'],
      ['SORT l LIMIT 1 x', '-ERR value is not an integer or out of range'],
      ['SORT l BY', '-ERR syntax error'],
      ['SORT l WHAT', '-ERR syntax error'],
    ]);
  });

  it('keyPositions returns the source and the last STORE key', () => {
    const positions = (line: string) => COMMANDS.get('sort')!.keyPositions(line.split(' '));
    expect(positions('SORT l')).toEqual([1]);
    expect(positions('SORT l STORE a GET STORE STORE b ASC')).toEqual([1, 7]);
  });
});
