import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { type EngineClient, expectReplies, startEngineClient } from '../../test/engine-client.ts';
import { capacityFor, heapFor } from '../memory/index.ts';

const OOM = "-OOM command not allowed when used memory > 'maxmemory'.";

let client: EngineClient;

beforeEach(() => {
  client = startEngineClient();
});

function usage(key: string): number {
  return client.send(['MEMORY', 'USAGE', key]) as number;
}

describe('the counted bytes of the data', () => {
  const word = fc.constantFrom('', 'a', 'b', 'c', 'x'.repeat(7), 'x'.repeat(70), '5');
  const index = fc.integer({ min: -3, max: 3 }).map(String);
  const COMMANDS: Record<string, fc.Arbitrary<string[]>> = {
    string: fc.oneof(
      fc.tuple(fc.constant('SET'), fc.constant('k'), word),
      fc.tuple(fc.constant('APPEND'), fc.constant('k'), word),
      fc.tuple(fc.constant('SETRANGE'), fc.constant('k'), fc.nat(99).map(String), word),
    ),
    list: fc.oneof(
      fc.tuple(fc.constantFrom('RPUSH', 'LPUSH'), fc.constant('k'), word, word),
      fc.tuple(fc.constantFrom('RPOP', 'LPOP'), fc.constant('k')),
      fc.tuple(fc.constant('LSET'), fc.constant('k'), index, word),
      fc.tuple(fc.constant('LREM'), fc.constant('k'), index, word),
      fc.tuple(fc.constant('LINSERT'), fc.constant('k'), fc.constant('BEFORE'), word, word),
      fc.tuple(fc.constant('LTRIM'), fc.constant('k'), index, index),
    ),
    set: fc.oneof(
      fc.tuple(fc.constantFrom('SADD', 'SREM'), fc.constant('k'), word, word),
      fc.tuple(fc.constant('SPOP'), fc.constant('k')),
    ),
    hash: fc.oneof(
      fc.tuple(fc.constant('HSET'), fc.constant('k'), word, word),
      fc.tuple(fc.constant('HDEL'), fc.constant('k'), word),
    ),
    zset: fc.oneof(
      fc.tuple(fc.constant('ZADD'), fc.constant('k'), fc.constantFrom('1', '2', '0.5'), word),
      fc.tuple(fc.constant('ZREM'), fc.constant('k'), word),
    ),
  };
  /** The command that creates an equal value from the content. */
  const REBUILT: Record<string, () => string[]> = {
    string: () => ['SET', 'r', client.send('GET k') as string],
    list: () => ['RPUSH', 'r', ...(client.send('LRANGE k 0 -1') as string[])],
    set: () => ['SADD', 'r', ...(client.send('SORT k BY nosort') as string[])],
    hash: () => [
      'HSET',
      'r',
      ...(client.send(['EVAL', "return redis.call('HGETALL','k')", '0']) as string[]),
    ],
    zset: () => [
      'ZADD',
      'r',
      ...pairsReversed(client.send('ZRANGE k 0 -1 WITHSCORES') as string[]),
    ],
  };

  it.each(Object.keys(COMMANDS))('depends on the content of a %s, not on its history', (type) => {
    const history = fc.array(COMMANDS[type]!, { minLength: 1, maxLength: 60, size: 'max' });
    fc.assert(
      fc.property(history, (commands) => {
        client.send('FLUSHALL');
        for (const argv of commands) client.send(argv);
        const bytes = client.engine.memory.data.bytes;
        if (client.send('EXISTS k') === 0) {
          expect(bytes).toBe(0);
          return;
        }
        expect(bytes).toBe(usage('k'));
        client.send(REBUILT[type]!());
        expect(usage('r')).toBe(bytes);
        for (const key of ['k', 'r']) client.send(['DEL', key]);
        expect(client.engine.memory.data.bytes).toBe(0);
      }),
    );
  });

  it('do not change by SWAPDB, and are 0 after FLUSHALL', () => {
    client.send('SET k v');
    const { data } = client.engine.memory;
    const { bytes } = data;
    client.send('SWAPDB 0 1');
    expect(data.bytes).toBe(bytes);
    client.send('SWAPDB 1 2');
    client.send('FLUSHDB');
    expect(data.bytes).toBe(bytes);
    client.send('FLUSHALL');
    expect(data.bytes).toBe(0);
  });
});

function pairsReversed(words: readonly string[]): string[] {
  return words.flatMap((_, at) => (at % 2 === 0 ? [words[at + 1]!, words[at]!] : []));
}

describe('maxmemory', () => {
  beforeEach(() => {
    client.send(['SET', 'big', 'x'.repeat(50_000)]);
    client.send('CONFIG SET maxmemory 40kb');
  });

  it('rejects commands that add data, and no others', () => {
    expectReplies(client, [
      ['SET k v', OOM],
      ['SETNX k v', OOM],
      ['RPUSH l a', OOM],
      ['STRLEN big', 50_000],
      ['EXPIRE big 100', 1],
      ['DEL big', 1],
      ['SETNX k v', 1],
    ]);
  });

  it('rejects queueing of any command, and EXEC with a command that adds data', () => {
    expectReplies(client, [
      ['MULTI', '+OK'],
      ['GET k', OOM],
      ['EXEC', '-EXECABORT Transaction discarded because of previous errors.'],
      ['CONFIG SET maxmemory 0', '+OK'],
      ['MULTI', '+OK'],
      ['SET k v', '+QUEUED'],
    ]);
    client.other().send('CONFIG SET maxmemory 40kb');
    expect(client.send('EXEC')).toBe(
      "-EXECABORT Transaction discarded because of: OOM command not allowed when used memory > 'maxmemory'.",
    );
    expect(client.send('EXISTS k')).toBe(0);
  });

  it.each([
    ['SETRANGE', 'SETRANGE k 100000000 x'],
    ['APPEND', ['APPEND', 'k', 'x'.repeat(70_000)]],
    ['COPY', 'COPY list copy'],
    ['SUNIONSTORE', 'SUNIONSTORE copy set'],
    ['SDIFFSTORE', 'SDIFFSTORE copy set'],
    ['SINTERSTORE', 'SINTERSTORE copy set'],
    ['ZUNIONSTORE', 'ZUNIONSTORE copy 1 zset'],
    ['ZRANGESTORE', 'ZRANGESTORE copy zset 0 -1'],
    ['SORT', 'SORT list ALPHA STORE copy'],
  ])('rejects %s that would exceed it, before it is built', (_name, command) => {
    client.send('CONFIG SET maxmemory 0');
    client.send('DEL big');
    const words = Array.from({ length: 500 }, (_, at) => `word${at}`);
    client.send(['RPUSH', 'list', ...words]);
    client.send(['SADD', 'set', ...words]);
    client.send(['ZADD', 'zset', ...words.flatMap((each, at) => [String(at), each])]);
    const { used } = client.engine.memory;
    client.send(['CONFIG', 'SET', 'maxmemory', String(used.bytes + 8_000)]);
    expect(client.send(command)).toBe(OOM);
    expect(client.send('EXISTS copy k')).toBe(0);
  });

  it('is returned by INFO with the used memory', () => {
    const { text } = client.send('INFO memory') as { text: string };
    expect(text).toContain('\r\nmaxmemory:40960\r\n');
    expect(text).toContain(`\r\nused_memory:${client.engine.memory.used.bytes}\r\n`);
  });
});

describe('the memory of a client', () => {
  it.each([
    ['a queue', ['MULTI', 'SET k v'], 'DISCARD'],
    ['subscriptions', ['SUBSCRIBE a b a', 'PSUBSCRIBE c*'], 'RESET'],
    ['watched keys', ['WATCH a b a'], 'UNWATCH'],
    ['a blocked command', ['BLPOP a b 10'], undefined],
  ])('counts %s until it ends', (_what, commands, end) => {
    const before = client.session.memory.bytes;
    for (const command of commands) client.send(command);
    expect(client.session.memory.bytes).toBeGreaterThan(before);
    if (end === undefined) client.clock.advance(10_000);
    else client.send(end);
    expect(client.session.memory.bytes).toBe(before);
  });

  it('is freed when the session closes', () => {
    const { clients } = client.engine.memory;
    const before = clients.bytes;
    const other = client.other();
    for (const command of ['WATCH a', 'SUBSCRIBE c']) other.send(command);
    expect(clients.bytes).toBeGreaterThan(before);
    other.session.close();
    expect(clients.bytes).toBe(before);
  });

  it('has a limit that one command cannot exceed', () => {
    client.send('CONFIG SET maxmemory-clients 1mb');
    const many = Array.from({ length: 2000 }, (_, at) => `name${at}`);
    expectReplies(client, [
      [['SUBSCRIBE', ...many], OOM],
      [['WATCH', ...many], OOM],
      [['BLPOP', ...many, '0'], OOM],
    ]);
    expect(client.session.memory.uses).toMatchObject({ subscriptions: 0, watches: 0, blocked: 0 });
  });
});

describe('exit commands', () => {
  it('count as memory, and a shared script counts once', () => {
    const { exitCommands } = client.engine.memory;
    client.send('HOLDFAST.SESSION s');
    const sha = client.send(['SCRIPT', 'LOAD', `return '${'x'.repeat(10_000)}'`]);
    client.send(`HOLDFAST.WILL SET s a EVALSHA ${sha} 0`);
    const { bytes } = exitCommands;
    expect(bytes).toBeGreaterThan(10_000);
    client.send(`HOLDFAST.WILL SET s b EVALSHA ${sha} 0`);
    expect(exitCommands.bytes - bytes).toBeLessThan(1000);
    client.send('HOLDFAST.WILL DROP s a');
    client.session.close();
    client.clock.advance(0);
    expect(exitCommands.bytes).toBe(0);
  });
});

describe('the capacity of a heap', () => {
  it('is the inverse of heapFor', () => {
    for (const bytes of [2 ** 27, 2 ** 30, 2 ** 33])
      expect(capacityFor(heapFor(bytes))).toBe(bytes);
  });
});
