import { beforeEach, describe, expect, it } from 'vitest';
import {
  type EngineClient,
  expectReplies,
  startEngineClient,
} from '../../../test/engine-client.ts';

const WRONG_TYPE = '-WRONGTYPE Operation against a key holding the wrong kind of value';
let client: EngineClient;

beforeEach(() => {
  client = startEngineClient();
});

describe('hashes', () => {
  it('HSET, HGET, HMGET and HGETALL set and return fields', () => {
    expectReplies(client, [
      ['HSET h a 1 b 2 a 3', 2],
      ['HSET h a 4 c 5', 1],
      ['HGET h a', '4'],
      ['HGET h nothing', null],
      ['HGET nothing a', null],
      ['HMGET h c nothing a', ['5', null, '4']],
      ['HMGET nothing a b', [null, null]],
      [
        'HGETALL h',
        new Map([
          ['a', '4'],
          ['b', '2'],
          ['c', '5'],
        ]),
      ],
      ['HGETALL nothing', new Map()],
      ['HKEYS h', ['a', 'b', 'c']],
      ['HVALS h', ['4', '2', '5']],
      ['HKEYS nothing', []],
      ['HVALS nothing', []],
      ['HLEN h', 3],
      ['HLEN nothing', 0],
      ['HEXISTS h a', 1],
      ['HEXISTS h nothing', 0],
      ['HSTRLEN h a', 1],
      ['HSTRLEN h nothing', 0],
      ['HMSET h a 1 d 2', '+OK'],
      ['HSETNX h a 9', 0],
      ['HSETNX h e 9', 1],
      ['HLEN h', 5],
    ]);
  });

  it('HDEL removes fields, and deletes an empty hash', () => {
    expectReplies(client, [
      ['HSET h a 1 b 2 c 3', 3],
      ['HDEL h a nothing a', 1],
      ['HKEYS h', ['b', 'c']],
      ['HDEL h b c', 2],
      ['EXISTS h', 0],
      ['HDEL h b', 0],
    ]);
  });

  it('HINCRBY adds integers and rejects other values', () => {
    expectReplies(client, [
      ['HINCRBY h n 5', 5],
      ['HINCRBY h n -7', -2],
      ['HINCRBY h n x', '-ERR value is not an integer or out of range'],
      ['HSET h n 9223372036854775807 text a', 1],
      ['HINCRBY h n 1', '-ERR increment or decrement would overflow'],
      ['HINCRBY h n -1', 9223372036854775806n],
      ['HINCRBY h text 1', '-ERR hash value is not an integer'],
    ]);
  });

  it('HINCRBYFLOAT adds floating point numbers', () => {
    expectReplies(client, [
      ['HINCRBYFLOAT h n 0.1', '0.1'],
      ['HINCRBYFLOAT h n 0.2', '0.3'],
      ['HINCRBYFLOAT h n x', '-ERR value is not a valid float'],
      ['HINCRBYFLOAT h n inf', '-ERR value is NaN or Infinity'],
      ['HSET h text a big 1e4932', 2],
      ['HINCRBYFLOAT h text 1', '-ERR hash value is not a float'],
      ['HINCRBYFLOAT h big 1e4932', '-ERR increment would produce NaN or Infinity'],
    ]);
  });

  it('HRANDFIELD returns random fields', () => {
    client.send('HSET h a 1 b 2 c 3');
    expect(['a', 'b', 'c']).toContain(client.send('HRANDFIELD h'));
    expect(new Set(client.send('HRANDFIELD h 2') as string[]).size).toBe(2);
    expect(client.send('HRANDFIELD h -20')).toHaveLength(20);
    expectReplies(client, [
      ['HRANDFIELD h 5', ['a', 'b', 'c']],
      ['HRANDFIELD h 5 WITHVALUES', ['a', '1', 'b', '2', 'c', '3']],
      ['HRANDFIELD h 0', []],
      ['HRANDFIELD nothing', null],
      ['HRANDFIELD nothing 2', []],
      ['HRANDFIELD h x', '-ERR value is not an integer or out of range'],
      ['HRANDFIELD h 1 VALUES', '-ERR syntax error'],
      ['HRANDFIELD h 4611686018427387904 WITHVALUES', '-ERR value is out of range'],
    ]);
    client.session.protocol = 3;
    expectReplies(client, [['HRANDFIELD h 2 WITHVALUES', [expect.any(Array), expect.any(Array)]]]);
  });

  it('HSCAN returns every field', () => {
    expectReplies(client, [
      ['HSET h aa 1 ab 2 c 3', 3],
      ['HSCAN h 0 COUNT 1', ['0', ['aa', '1', 'ab', '2', 'c', '3']]],
      ['HSCAN h 0 MATCH a*', ['0', ['aa', '1', 'ab', '2']]],
      ['HSCAN nothing 0 WHAT', ['0', []]],
      ['HSCAN h x', '-ERR invalid cursor'],
      ['HSCAN h 0 WHAT', '-ERR syntax error'],
    ]);
    for (let at = 0; at < 600; at++) client.send(`HSET large f${at} ${at}`);
    const seen = new Map<string, string>();
    let cursor = '0';
    do {
      const [next, found] = client.send(`HSCAN large ${cursor} COUNT 50`) as [string, string[]];
      expect(found).toHaveLength(100);
      for (let at = 0; at < found.length; at += 2) seen.set(found[at]!, found[at + 1]!);
      cursor = next;
    } while (cursor !== '0');
    expect(seen).toEqual(client.send('HGETALL large'));
  });

  it('commands reject other types and odd numbers of arguments', () => {
    client.send('SET s 1');
    for (const command of [
      ...['HSET s a 1', 'HMSET s a 1', 'HSETNX s a 1', 'HGET s a', 'HMGET s a', 'HGETALL s'],
      ...['HDEL s a', 'HEXISTS s a', 'HLEN s', 'HSTRLEN s a', 'HKEYS s', 'HVALS s', 'HSCAN s 0'],
      ...['HINCRBY s a 1', 'HINCRBYFLOAT s a 1', 'HRANDFIELD s', 'HRANDFIELD s 1'],
    ]) {
      expect(client.send(command), command).toBe(WRONG_TYPE);
    }
    expectReplies(client, [
      ['HSET h a', "-ERR wrong number of arguments for 'hset' command"],
      ['HSET h a 1 b', "-ERR wrong number of arguments for 'hset' command"],
      ['HMSET h a 1 b', "-ERR wrong number of arguments for 'hmset' command"],
    ]);
  });

  it('changes publish keyspace events', () => {
    for (const command of ['HSET h a 1 b 2', 'HSETNX h a 2', 'HSETNX h c 2', 'HINCRBY h a 1']) {
      client.send(command);
    }
    client.send('HINCRBYFLOAT h a 1');
    client.send('HDEL h nothing');
    client.send('HDEL h a');
    client.send('HDEL h b c');
    expect(client.events()).toEqual([
      ...['hset h', 'hset h', 'hincrby h', 'hincrbyfloat h', 'hdel h', 'hdel h', 'del h'],
    ]);
  });
});
