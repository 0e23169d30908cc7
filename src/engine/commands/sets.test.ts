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

describe('sets', () => {
  it('SADD, SMEMBERS, SISMEMBER and SREM add, return and remove members', () => {
    expectReplies(client, [
      ['SADD s b a b', 2],
      ['SADD s a', 0],
      ['SMEMBERS s', new Set(['a', 'b'])],
      ['SMEMBERS nothing', new Set()],
      ['SCARD s', 2],
      ['SCARD nothing', 0],
      ['SISMEMBER s a', 1],
      ['SISMEMBER s c', 0],
      ['SISMEMBER nothing a', 0],
      ['SMISMEMBER s a c b', [1, 0, 1]],
      ['SMISMEMBER nothing a', [0]],
      ['SREM s a c', 1],
      ['SREM s a b', 1],
      ['EXISTS s', 0],
      ['SREM s a', 0],
    ]);
  });

  it('SMOVE moves a member', () => {
    expectReplies(client, [
      ['SADD from a b', 2],
      ['SMOVE from to a', 1],
      ['SMOVE from to a', 0],
      ['SMOVE nothing to a', 0],
      ['SMOVE from from b', 1],
      ['SMOVE from from c', 0],
      ['SMOVE from to b', 1],
      ['EXISTS from', 0],
      ['SMEMBERS to', new Set(['a', 'b'])],
      ['SET text 1', '+OK'],
      ['SMOVE nothing text a', 0],
      ['SMOVE to text a', WRONG_TYPE],
      ['SMOVE text to a', WRONG_TYPE],
    ]);
  });

  it('SINTER, SINTERSTORE and SINTERCARD intersect', () => {
    expectReplies(client, [
      ['SADD x 1 2 3 4', 4],
      ['SADD y 2 3 4 a', 4],
      ['SADD z 3 4', 2],
      ['SINTER x y z', new Set(['3', '4'])],
      ['SINTER x nothing', new Set()],
      ['SINTERSTORE out x y', 3],
      ['SMEMBERS out', new Set(['2', '3', '4'])],
      ['SINTERSTORE out x nothing', 0],
      ['EXISTS out', 0],
      ['SINTERCARD 3 x y z', 2],
      ['SINTERCARD 2 x y LIMIT 2', 2],
      ['SINTERCARD 2 x y LIMIT 0', 3],
      ['SINTERCARD 0 x', '-ERR numkeys should be greater than 0'],
      ['SINTERCARD x x', '-ERR numkeys should be greater than 0'],
      ['SINTERCARD 2 x', "-ERR Number of keys can't be greater than number of args"],
      ['SINTERCARD 1 x LIMIT -1', "-ERR LIMIT can't be negative"],
      ['SINTERCARD 1 x LIMIT', '-ERR syntax error'],
    ]);
  });

  it('SUNION and SDIFF return and store the union and the difference', () => {
    expectReplies(client, [
      ['SADD x 1 2 3', 3],
      ['SADD y 2 a', 2],
      ['SUNION x nothing y', new Set(['1', '2', '3', 'a'])],
      ['SDIFF x y nothing', new Set(['1', '3'])],
      ['SDIFF x x', new Set()],
      ['SDIFF nothing x', new Set()],
      ['SUNIONSTORE x x y', 4],
      ['SDIFFSTORE out x y', 2],
      ['SMEMBERS out', new Set(['1', '3'])],
      ['SDIFFSTORE out y x', 0],
      ['EXISTS out', 0],
      ['SET text 1', '+OK'],
      ['SUNION x text', WRONG_TYPE],
      ['SINTER nothing text', WRONG_TYPE],
      ['SUNIONSTORE text x', 4],
      ['TYPE text', '+set'],
    ]);
  });

  it('SDIFFSTORE gives the encoding of Redis for lookups and for a copy', () => {
    client.send('SADD large 1 2 3 4 5 6 7 8 9 text');
    for (let at = 0; at < 8; at++) client.send(`SADD small${at} ${at} text`);
    const others = Array.from({ length: 8 }, (_, at) => `small${at}`).join(' ');
    expectReplies(client, [
      [`SDIFFSTORE few large ${others}`, 2],
      ['SMEMBERS few', new Set(['8', '9'])],
      ['OBJECT ENCODING few', 'hashtable'],
      ['SDIFFSTORE some large small0', 9],
      ['OBJECT ENCODING some', 'intset'],
    ]);
  });

  it('SDIFFSTORE keeps the hash table when a set of 513 integers is copied and shrinks', () => {
    client.send(['SADD', 'large', ...Array.from({ length: 513 }, (_, at) => String(at))]);
    expectReplies(client, [
      ['SADD small 1 2 3', 3],
      ['SDIFFSTORE out large small', 510],
      ['OBJECT ENCODING out', 'intset'],
      ['SDIFFSTORE out large small small nothing', 510],
      ['OBJECT ENCODING out', 'hashtable'],
    ]);
  });

  it('SRANDMEMBER returns random members, SPOP removes them', () => {
    client.send('SADD s 1 2 3 4 5 6 7 8 9 10');
    expect(client.send(`SISMEMBER s ${client.send('SRANDMEMBER s')}`)).toBe(1);
    expect(new Set(client.send('SRANDMEMBER s 4') as string[]).size).toBe(4);
    expect(client.send('SRANDMEMBER s -30')).toHaveLength(30);
    expect(client.send('SRANDMEMBER s 30')).toHaveLength(10);
    expect(client.send(`SISMEMBER s ${client.send('SPOP s')}`)).toBe(0);
    const most = client.send('SPOP s 8') as Set<string>;
    expect(most.size).toBe(8);
    const last = client.send('SMEMBERS s') as Set<string>;
    expect([...last].some((each) => most.has(each))).toBe(false);
    expect(client.send('SPOP s 5')).toEqual(last);
    expectReplies(client, [
      ['EXISTS s', 0],
      ['SPOP s', null],
      ['SPOP s 2', new Set()],
      ['SRANDMEMBER s', null],
      ['SRANDMEMBER s 2', []],
      ['SPOP s -1', '-ERR value is out of range, must be positive'],
      ['SPOP s 1 2', '-ERR syntax error'],
      ['SRANDMEMBER s 1 2', '-ERR syntax error'],
    ]);
  });

  it('SPOP of most members keeps the time to live', () => {
    const members = Array.from({ length: 20 }, (_, at) => String(at)).join(' ');
    expectReplies(client, [
      [`SADD s text ${members}`, 21],
      ['EXPIRE s 100', 1],
      ['SREM s text', 1],
      ['OBJECT ENCODING s', 'hashtable'],
    ]);
    client.send('SPOP s 19');
    expectReplies(client, [
      ['SCARD s', 1],
      ['OBJECT ENCODING s', 'intset'],
      ['TTL s', 100],
    ]);
  });

  it('SSCAN returns every member', () => {
    expectReplies(client, [
      ['SADD s 3 1 20', 3],
      ['SSCAN s 0 COUNT 1', ['0', ['1', '3', '20']]],
      ['SSCAN s 0 MATCH 2*', ['0', ['20']]],
      ['SSCAN nothing 0 WHAT', ['0', []]],
      ['SSCAN s x', '-ERR invalid cursor'],
    ]);
    const members = Array.from({ length: 100 }, (_, at) => `m${at}`);
    client.send(['SADD', 'large', ...members]);
    const seen: string[] = [];
    let cursor = '0';
    do {
      const [next, found] = client.send(`SSCAN large ${cursor} COUNT 7`) as [string, string[]];
      seen.push(...found);
      cursor = next;
    } while (cursor !== '0');
    expect(seen.toSorted()).toEqual(members.toSorted());
  });

  it('commands reject other types', () => {
    client.send('SET s 1');
    for (const command of [
      ...['SADD s a', 'SREM s a', 'SMEMBERS s', 'SISMEMBER s a', 'SMISMEMBER s a', 'SCARD s'],
      ...['SPOP s', 'SPOP s 1', 'SRANDMEMBER s', 'SRANDMEMBER s 1', 'SINTER s', 'SUNION s'],
      ...['SINTERSTORE o s', 'SINTERCARD 1 s', 'SUNIONSTORE o s', 'SDIFF s', 'SDIFFSTORE o s'],
      'SSCAN s 0',
    ]) {
      expect(client.send(command), command).toBe(WRONG_TYPE);
    }
  });

  it('changes publish keyspace events', () => {
    for (const command of [
      ...['SADD s a b c', 'SADD s a', 'SREM s x', 'SREM s a', 'SMOVE s t b', 'SMOVE s t c'],
      ...['SPOP t', 'SADD t b c', 'SPOP t 5', 'SADD s a', 'SINTERSTORE o s s', 'SUNIONSTORE o s'],
      ...['SDIFFSTORE o s t', 'SDIFFSTORE o s s', 'SDIFFSTORE o s s'],
    ]) {
      client.send(command);
    }
    expect(client.events()).toEqual([
      ...['sadd s', 'srem s', 'srem s', 'sadd t', 'srem s', 'del s', 'sadd t', 'spop t', 'sadd t'],
      ...['spop t', 'del t', 'sadd s', 'sinterstore o', 'sunionstore o', 'sdiffstore o', 'del o'],
    ]);
  });
});
