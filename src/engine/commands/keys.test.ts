import { beforeEach, describe, expect, it } from 'vitest';
import {
  type EngineClient,
  expectReplies,
  startEngineClient,
} from '../../../test/engine-client.ts';

let client: EngineClient;

beforeEach(() => {
  client = startEngineClient();
});

describe('keys', () => {
  it('EXISTS counts and DEL deletes', () => {
    expectReplies(client, [
      ['MSET a 1 b 2 c 3', '+OK'],
      ['EXISTS a a nothing', 2],
      ['TOUCH a b nothing', 2],
      ['DEL a nothing', 1],
      ['UNLINK b c b', 2],
      ['DBSIZE', 0],
    ]);
    expect(client.events()).toEqual(['set a', 'set b', 'set c', 'del a', 'del b', 'del c']);
  });

  it('TYPE returns the type', () => {
    expectReplies(client, [
      ['SET s 1', '+OK'],
      ['LPUSH l 1', 1],
      ['SADD t 1', 1],
      ['HSET h a 1', 1],
      ['ZADD z 1 a', 1],
      ['TYPE s', '+string'],
      ['TYPE l', '+list'],
      ['TYPE t', '+set'],
      ['TYPE h', '+hash'],
      ['TYPE z', '+zset'],
      ['TYPE nothing', '+none'],
    ]);
  });

  it('KEYS matches a pattern, RANDOMKEY returns one of the keys', () => {
    expectReplies(client, [
      ['RANDOMKEY', null],
      ['MSET one 1 two 2 three 3', '+OK'],
    ]);
    expect(new Set(client.send('KEYS t*') as string[])).toEqual(new Set(['two', 'three']));
    expect(client.send('KEYS *')).toHaveLength(3);
    expect(['one', 'two', 'three']).toContain(client.send('RANDOMKEY'));
  });

  it('RENAME keeps the deadline', () => {
    expectReplies(client, [
      ['RENAME a b', '-ERR no such key'],
      ['SET a 1 PX 500', '+OK'],
      ['SET b 2', '+OK'],
      ['RENAMENX a b', 0],
      ['RENAMENX a a', 0],
      ['RENAME a a', '+OK'],
      ['RENAME a b', '+OK'],
      ['GET b', '1'],
      ['PTTL b', 500],
      ['RENAMENX b c', 1],
      ['EXISTS a b', 0],
    ]);
    expect(client.events().slice(-2)).toEqual(['rename_from b', 'rename_to c']);
  });

  it('COPY copies within and between databases', () => {
    expectReplies(client, [
      ['HSET h a 1', 1],
      ['PEXPIRE h 900', 1],
      ['COPY h g', 1],
      ['HSET g a 2', 0],
      ['HGET h a', '1'],
      ['PTTL g', 900],
      ['COPY h g', 0],
      ['COPY h g REPLACE', 1],
      ['HGET g a', '1'],
      ['COPY h h', '-ERR source and destination objects are the same'],
      ['COPY h h DB 3', 1],
      ['COPY nothing g', 0],
      ['COPY h g DB 99', '-ERR DB index is out of range'],
      ['COPY h g XX', '-ERR syntax error'],
      ['SELECT 3', '+OK'],
      ['HGET h a', '1'],
    ]);
  });

  it('MOVE moves to another database', () => {
    expectReplies(client, [
      ['SET a 1 PX 100', '+OK'],
      ['MOVE a 0', '-ERR source and destination objects are the same'],
      ['MOVE a 1', 1],
      ['MOVE a 1', 0],
      ['SET a 2', '+OK'],
      ['MOVE a 1', 0],
      ['SELECT 1', '+OK'],
      ['GET a', '1'],
      ['PTTL a', 100],
    ]);
  });

  it('FLUSHDB removes the keys of a database, FLUSHALL all keys', () => {
    expectReplies(client, [
      ['SET a 1', '+OK'],
      ['SELECT 1', '+OK'],
      ['SET b 1', '+OK'],
      ['FLUSHDB ASYNC', '+OK'],
      ['DBSIZE', 0],
      ['SELECT 0', '+OK'],
      ['DBSIZE', 1],
      ['FLUSHALL SYNC', '+OK'],
      ['DBSIZE', 0],
      ['FLUSHALL NOW', '-ERR syntax error'],
    ]);
  });
});

describe('SCAN', () => {
  function scanAll(options = ''): string[] {
    const found: string[] = [];
    let cursor = '0';
    do {
      const [next, keys] = client.send(`SCAN ${cursor}${options}`) as [string, string[]];
      found.push(...keys);
      cursor = next;
    } while (cursor !== '0');
    return found;
  }

  it('returns every key once if nothing changes', () => {
    for (let at = 0; at < 1000; at++) client.send(`SET key:${at} ${at}`);
    const found = scanAll(' COUNT 7');
    expect(found).toHaveLength(1000);
    expect(new Set(found).size).toBe(1000);
  });

  it('filters by pattern and type', () => {
    client.send('MSET a1 1 a2 2 b1 3');
    client.send('LPUSH a3 x');
    expect(new Set(scanAll(' MATCH a*'))).toEqual(new Set(['a1', 'a2', 'a3']));
    expect(new Set(scanAll(' MATCH a* TYPE string COUNT 1'))).toEqual(new Set(['a1', 'a2']));
  });

  it('returns every key that stays while other keys are added and removed', () => {
    for (let at = 0; at < 300; at++) client.send(`SET stay:${at} 1`);
    for (let at = 0; at < 300; at++) client.send(`SET go:${at} 1`);
    const found = new Set<string>();
    let cursor = '0';
    let step = 0;
    do {
      const [next, keys] = client.send(`SCAN ${cursor} COUNT 10`) as [string, string[]];
      for (const key of keys) found.add(key);
      for (let at = 0; at < 4; at++) client.send(`DEL go:${(step * 4 + at) % 300}`);
      client.send(`SET new:${step++} 1`);
      cursor = next;
    } while (cursor !== '0');
    const stayed = [...found].filter((key) => key.startsWith('stay:'));
    expect(stayed).toHaveLength(300);
  });

  it('rejects invalid arguments', () => {
    expectReplies(client, [
      ['SCAN x', '-ERR invalid cursor'],
      ['SCAN 0 COUNT 0', '-ERR syntax error'],
      ['SCAN 0 COUNT x', '-ERR value is not an integer or out of range'],
      ['SCAN 0 COUNT', '-ERR syntax error'],
      ['SCAN 0 FOO 1', '-ERR syntax error'],
    ]);
  });
});

describe('OBJECT', () => {
  it('ENCODING returns the encoding of strings, and null for no key', () => {
    expectReplies(client, [
      ['SET n 12345', '+OK'],
      ['SET s abc', '+OK'],
      [['SET', 'l', 'x'.repeat(45)], '+OK'],
      ['OBJECT ENCODING n', 'int'],
      ['OBJECT ENCODING s', 'embstr'],
      ['OBJECT ENCODING l', 'raw'],
      ['OBJECT ENCODING nothing', null],
      ['OBJECT REFCOUNT s', 1],
      ['OBJECT FOO s', "-ERR unknown subcommand 'FOO'. Try OBJECT HELP."],
      ['OBJECT ENCODING', "-ERR wrong number of arguments for 'object|encoding' command"],
    ]);
  });

  it('IDLETIME returns the time since the last use, and does not count as one', () => {
    client.send('SET k v');
    client.clock.advance(10_000);
    expect(client.send('OBJECT IDLETIME k')).toBe(10);
    expect(client.send('OBJECT IDLETIME k')).toBe(10);
    for (const argv of ['EXISTS k', 'TYPE k', 'TTL k', 'PTTL k', 'PEXPIRETIME k', 'SCAN 0']) {
      client.send(argv);
      expect(client.send('OBJECT IDLETIME k'), argv).toBe(10);
    }
    client.send('TOUCH k');
    expect(client.send('OBJECT IDLETIME k')).toBe(0);
    client.clock.advance(10_000);
    client.send('MULTI');
    for (const argv of ['OBJECT IDLETIME k', 'GET k']) client.send(argv);
    client.send('EXEC');
    expect(client.send('OBJECT IDLETIME k')).toBe(0);
  });
});
