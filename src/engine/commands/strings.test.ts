import { beforeEach, describe, expect, it } from 'vitest';
import {
  type EngineClient,
  expectReplies,
  startEngineClient,
} from '../../../test/engine-client.ts';

const WRONG_TYPE = '-WRONGTYPE Operation against a key holding the wrong kind of value';
const NOT_AN_INTEGER = '-ERR value is not an integer or out of range';
const SYNTAX = '-ERR syntax error';
let client: EngineClient;

beforeEach(() => {
  client = startEngineClient();
});

describe('SETNX and GETSET', () => {
  it('reply as in the example of the SETNX page', () => {
    expectReplies(client, [
      ['EXISTS job', 0],
      ['SETNX job programmer', 1],
      ['SETNX job code-farmer', 0],
      ['GET job', 'programmer'],
    ]);
  });

  it('reply as in the example of the GETSET page', () => {
    expectReplies(client, [
      ['GETSET key value1', null],
      ['GETSET key value2', 'value1'],
      ['GET key', 'value2'],
    ]);
  });

  it('let one client take an expired lock over', () => {
    expectReplies(client, [
      ['SETNX lock.foo 1000', 1],
      ['GETSET lock.foo 2000', '1000'],
      ['GETSET lock.foo 2001', '2000'],
    ]);
  });
});

describe('SET', () => {
  it('sets with NX and XX only if the condition holds', () => {
    expectReplies(client, [
      ['SET k a XX', null],
      ['SET k a NX', '+OK'],
      ['SET k b NX', null],
      ['SET k b xx', '+OK'],
      ['SET k c NX GET', 'b'],
      ['SET k c GET', 'b'],
      ['SET new c GET', null],
      ['GET new', 'c'],
    ]);
  });

  it('sets with IFEQ and IFNE only if the comparison holds', () => {
    expectReplies(client, [
      ['SET k a IFEQ a', null],
      ['EXISTS k', 0],
      ['SET k a IFNE a', '+OK'],
      ['SET k b IFEQ x', null],
      ['SET k b IFEQ a', '+OK'],
      ['SET k c IFNE b', null],
      ['SET k c IFNE b GET', 'b'],
      ['LPUSH list x', 1],
      ['SET list y IFEQ x', WRONG_TYPE],
      ['SET k x IFEQ', SYNTAX],
      ['SET k x NX IFEQ b', SYNTAX],
    ]);
  });

  it('sets a deadline, keeps it or drops it', () => {
    expectReplies(client, [
      ['SET k v EX 10', '+OK'],
      ['PTTL k', 10_000],
      ['SET k v PX 1500', '+OK'],
      ['PTTL k', 1500],
      ['SET k w KEEPTTL', '+OK'],
      ['PTTL k', 1500],
      ['SET k w', '+OK'],
      ['PTTL k', -1],
      ['SET k v EXAT 1767225700', '+OK'],
      ['PEXPIRETIME k', 1_767_225_700_000],
      ['SET k v PXAT 1767225700123', '+OK'],
      ['PEXPIRETIME k', 1_767_225_700_123],
      ['SET k v PXAT 1', '+OK'],
      ['EXISTS k', 0],
    ]);
  });

  it('rejects options that exclude each other', () => {
    expectReplies(client, [
      ['SET k v NX XX', SYNTAX],
      ['SET k v EX 1 PX 1', SYNTAX],
      ['SET k v EX 1 KEEPTTL', SYNTAX],
      ['SET k v EX', SYNTAX],
      ['SET k v EX x', NOT_AN_INTEGER],
      ['SET k v EX 0', "-ERR invalid expire time in 'set' command"],
      ['SET k v PX -1', "-ERR invalid expire time in 'set' command"],
      ['SET k v EX 9223372036854775807', "-ERR invalid expire time in 'set' command"],
      ['SET k v PX 9223372036854775807', "-ERR invalid expire time in 'set' command"],
      ['SETEX k 0 v', "-ERR invalid expire time in 'setex' command"],
      ['PSETEX k -5 v', "-ERR invalid expire time in 'psetex' command"],
      ['SET k', "-ERR wrong number of arguments for 'set' command"],
      ['EXISTS k', 0],
    ]);
  });

  it('publishes keyspace events', () => {
    client.send('SET k v PX 100');
    client.send('SET k v NX');
    client.send('SETEX k 5 v');
    expect(client.events()).toEqual(['set k', 'expire k', 'set k', 'expire k']);
  });
});

describe('compare and delete', () => {
  it('deletes the key only if the value is equal', () => {
    expectReplies(client, [
      ['SET lock mine', '+OK'],
      ['DELIFEQ lock other', 0],
      ['DELIFEQ lock mine', 1],
      ['DELIFEQ lock mine', 0],
      ['SET lock mine', '+OK'],
      ['DELEX lock IFEQ other', 0],
      ['DELEX lock IFNE mine', 0],
      ['DELEX lock IFNE other', 1],
      ['SET lock mine', '+OK'],
      ['DELEX lock', 1],
      ['DELEX lock', 0],
      ['SADD set a', 1],
      ['DELIFEQ set a', WRONG_TYPE],
      ['DELEX set IFEQ a', WRONG_TYPE],
      ['DELEX set', 1],
      ['DELEX k IFEQ', "-ERR wrong number of arguments for 'delex' command"],
      ['DELEX k IFXX a', SYNTAX],
    ]);
    expect(client.events().filter((event) => event.startsWith('del'))).toHaveLength(4);
  });
});

describe('GETDEL and GETEX', () => {
  it('return the value and change the key', () => {
    expectReplies(client, [
      ['SET k v', '+OK'],
      ['GETEX k', 'v'],
      ['GETEX k PX 100', 'v'],
      ['PTTL k', 100],
      ['GETEX k PERSIST', 'v'],
      ['PTTL k', -1],
      ['GETEX k EX 5 PERSIST', SYNTAX],
      ['GETEX k PXAT 1', 'v'],
      ['EXISTS k', 0],
      ['GETEX k', null],
      ['SET k v', '+OK'],
      ['GETDEL k', 'v'],
      ['GETDEL k', null],
      ['LPUSH l x', 1],
      ['GETDEL l', WRONG_TYPE],
      ['GETSET l x', WRONG_TYPE],
    ]);
  });
});

describe('several keys', () => {
  it('MGET, MSET and MSETNX read and set several keys', () => {
    expectReplies(client, [
      ['MSET a 1 b 2', '+OK'],
      ['MSETNX b 3 c 3', 0],
      ['MSETNX c 3 d 4', 1],
      ['LPUSH l x', 1],
      ['MGET a b c d e l', ['1', '2', '3', '4', null, null]],
      ['MSET a 1 b', "-ERR wrong number of arguments for 'mset' command"],
      ['MSETNX a 1 b', "-ERR wrong number of arguments for 'msetnx' command"],
    ]);
  });
});

describe('parts of strings', () => {
  it('GETRANGE, SETRANGE and APPEND read and write parts', () => {
    expectReplies(client, [
      ['APPEND k Hello', 5],
      [['APPEND', 'k', ' World'], 11],
      ['STRLEN k', 11],
      ['STRLEN nothing', 0],
      ['GETRANGE k 0 4', 'Hello'],
      ['GETRANGE k -5 -1', 'World'],
      ['SUBSTR k -100 100', 'Hello World'],
      ['GETRANGE k 5 3', ''],
      ['GETRANGE k -1 -5', ''],
      ['GETRANGE nothing 0 -1', ''],
      ['SETRANGE k 6 Redis', 11],
      ['GET k', 'Hello Redis'],
      ['SETRANGE pad 3 x', 4],
      ['GET pad', '\0\0\0x'],
      [['SETRANGE', 'pad', '0', ''], 4],
      ['SETRANGE k -1 x', '-ERR offset is out of range'],
      ['SETRANGE k 536870912 x', '-ERR string exceeds maximum allowed size (proto-max-bulk-len)'],
      // The maximum length of a JavaScript string.
      ['SETRANGE k 536870888 x', '-ERR string exceeds maximum allowed size (proto-max-bulk-len)'],
    ]);
  });

  it('keep their deadline', () => {
    expectReplies(client, [
      ['SET k v PX 100', '+OK'],
      ['APPEND k w', 2],
      ['SETRANGE k 0 x', 2],
      ['PTTL k', 100],
    ]);
  });
});

describe('numbers', () => {
  it('INCR, DECR and INCRBY add in 64 bits and fail on overflow', () => {
    expectReplies(client, [
      ['INCR n', 1],
      ['INCRBY n 41', 42],
      ['DECR n', 41],
      ['DECRBY n 50', -9],
      ['SET n 9007199254740991', '+OK'],
      ['INCR n', 9_007_199_254_740_992n],
      ['GET n', '9007199254740992'],
      ['SET n 9223372036854775806', '+OK'],
      ['INCR n', 9_223_372_036_854_775_807n],
      ['INCR n', '-ERR increment or decrement would overflow'],
      ['DECRBY n -9223372036854775808', '-ERR decrement would overflow'],
      ['SET n 010', '+OK'],
      ['INCR n', NOT_AN_INTEGER],
      [['SET', 'n', ' 1'], '+OK'],
      ['INCR n', NOT_AN_INTEGER],
      ['INCRBY n 1.5', NOT_AN_INTEGER],
      ['LPUSH l x', 1],
      ['INCR l', WRONG_TYPE],
    ]);
  });

  it('INCRBYFLOAT adds floating point numbers', () => {
    expectReplies(client, [
      ['SET n 10.50', '+OK'],
      ['INCRBYFLOAT n 0.1', '10.6'],
      ['INCRBYFLOAT n -5', '5.6'],
      ['SET n 5.0e3', '+OK'],
      ['INCRBYFLOAT n 2.0e2', '5200'],
      ['INCRBYFLOAT n x', '-ERR value is not a valid float'],
    ]);
  });
});

describe('bytes', () => {
  it('of any value are kept unchanged in keys and values', () => {
    const values = ['\xff', '\xfe', '\0', '\r\n', 'ÿß', '__proto__', 'constructor', ''];
    for (const [index, value] of values.entries()) {
      client.send(['SET', value, `${index}${value}`]);
    }
    for (const [index, value] of values.entries()) {
      expect(client.send(['GET', value])).toBe(`${index}${value}`);
    }
    expect(client.send('DBSIZE')).toBe(values.length);
  });
});
