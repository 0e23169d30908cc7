import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Dialogue, expectReplies, startDialogue } from '../../test/engine-dialogue.ts';

const COMPARE_AND_DELETE =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
const SETNX_EXPIRE =
  "local ok = redis.call('setnx', KEYS[1], ARGV[1]) if ok == 1 then redis.call('expire', KEYS[1], ARGV[2]) end return ok";
const ENDLESS = 'while true do end';

let client: Dialogue;

beforeEach(() => {
  client = startDialogue();
});

/** Writes, publishes and then never ends. */
function wild(body: string): unknown {
  client.say('CONFIG SET script-budget-steps 100000');
  return client.say(['EVAL', `${body} ${ENDLESS}`, '0']);
}

describe('scripts', () => {
  it('delete a lock only if it is ours', () => {
    expectReplies(client, [
      ['SET Test uuid NX PX 3000', '+OK'],
      [['EVAL', COMPARE_AND_DELETE, '1', 'Test', 'other'], 0],
      [['EVAL', COMPARE_AND_DELETE, '1', 'Test', 'uuid'], 1],
      [['EVAL', COMPARE_AND_DELETE, '1', 'Test', 'uuid'], 0],
    ]);
  });

  it('set a lock and its deadline in one step', () => {
    expectReplies(client, [
      [['EVAL', SETNX_EXPIRE, '1', 'lock', 'a', '30'], 1],
      [['EVAL', SETNX_EXPIRE, '1', 'lock', 'b', '60'], 0],
      ['TTL lock', 30],
    ]);
  });

  it('are kept by their SHA1', () => {
    const sha = client.say(['SCRIPT', 'LOAD', 'return {KEYS[1], ARGV[1]}']) as string;
    expect(sha).toMatch(/^[0-9a-f]{40}$/);
    expectReplies(client, [
      [
        ['EVALSHA', sha, '1', 'k', 'v'],
        ['k', 'v'],
      ],
      [
        ['EVALSHA', sha.toUpperCase(), '1', 'k', 'v'],
        ['k', 'v'],
      ],
      [
        ['SCRIPT', 'EXISTS', sha, 'nothing'],
        [1, 0],
      ],
      ['SCRIPT FLUSH', '+OK'],
      [['SCRIPT', 'EXISTS', sha], [0]],
      [['EVALSHA', sha, '0'], '-NOSCRIPT No matching script. Please use EVAL.'],
      [['EVALSHA_RO', sha, '0'], '-NOSCRIPT No matching script. Please use EVAL.'],
      ['SCRIPT KILL', '-NOTBUSY No scripts in execution right now.'],
      ['SCRIPT FLUSH NOW', '-ERR SCRIPT FLUSH only support SYNC|ASYNC option'],
    ]);
  });

  it('may not write when they said so', () => {
    const refused = expect.stringContaining(
      'Write commands are not allowed from read-only scripts',
    );
    const write = "return redis.call('set', KEYS[1], 'v')";
    expectReplies(client, [
      [['EVAL_RO', write, '1', 'k'], refused],
      [['EVAL', `#!lua flags=no-writes\n${write}`, '1', 'k'], refused],
      [['EVAL', `#!lua\n${write}`, '1', 'k'], '+OK'],
      [['EVAL_RO', "return redis.call('get', KEYS[1])", '1', 'k'], 'v'],
    ]);
  });

  it('refuse bad numbers of keys', () => {
    expectReplies(client, [
      [['EVAL', 'return 1'], "-ERR wrong number of arguments for 'eval' command"],
      [['EVAL', 'return 1', 'x'], '-ERR value is not an integer or out of range'],
      [['EVAL', 'return 1', '-1'], "-ERR Number of keys can't be negative"],
      [['EVAL', 'return 1', '1'], "-ERR Number of keys can't be greater than number of args"],
    ]);
  });

  it('do not wait, and do not change the database of their caller', () => {
    expectReplies(client, [
      [
        ['EVAL', "return redis.call('blpop', 'nothing', 0)", '0'],
        expect.stringContaining('not allowed from script'),
      ],
      [['EVAL', "redis.call('select', 5) redis.call('set', 'k', 'v') return 1", '0'], 1],
      ['EXISTS k', 0],
      ['SELECT 5', '+OK'],
      ['GET k', 'v'],
    ]);
  });

  it('see one time from start to end', () => {
    client.say('SET k v PX 5');
    const script =
      "local a = redis.call('time') for i = 1, 1000 do end local b = redis.call('time') return a[1] == b[1] and a[2] == b[2]";
    expect(client.say(['EVAL', script, '0'])).toBe(1);
  });

  it('keep what they wrote before an error of their own', () => {
    const reply = client.say(['EVAL', "redis.call('set', 'k', 'v') error('oops')", '0']);
    expect(reply).toMatch(/^-ERR user_script:1: oops/);
    expect(client.say('GET k')).toBe('v');
  });
});

describe('a script that spends its budget', () => {
  it('is stopped by steps and by time', () => {
    expect(wild('')).toBe(
      '-ERR Script stopped: it spent its budget (script-budget-steps 100000). Everything it wrote was undone.',
    );
    client.say('CONFIG SET script-budget-steps 0 script-budget-ms 1');
    // The virtual clock stands still, so that it is the script's own look at it that must move it.
    const clock = client.engine.clock;
    const real = clock.monotonicMs;
    let nowMs = real();
    clock.monotonicMs = () => (nowMs += 0.5);
    expect(client.say(['EVAL', ENDLESS, '0'])).toContain('script-budget-ms 1');
    clock.monotonicMs = real;
  });

  it('is stopped by what it allocates', () => {
    const script = "local t = {} for i = 1, 100 do t[i] = string.rep('x', 60000000) .. i end";
    expect(client.say(['EVAL', script, '0'])).toContain('(268435456 bytes of memory)');
  });

  it('cannot catch its end', () => {
    expect(wild('while true do pcall(function() while true do end end) end')).toContain('stopped');
  });

  it('leaves nothing', () => {
    client.say('MSET a 1 b 2');
    client.say('RPUSH list x y z');
    client.say('HSET hash f 1 g 2');
    client.say('SADD set m n');
    client.say('ZADD zset 1 m 2 n');
    client.say('PEXPIRE b 5000');
    client.events();
    wild(`
      redis.call('set', 'a', 'changed') redis.call('del', 'b') redis.call('set', 'new', 1)
      redis.call('rpop', 'list') redis.call('lpush', 'list', 'w') redis.call('linsert', 'list', 'before', 'y', 'q')
      redis.call('hset', 'hash', 'f', 9, 'h', 3) redis.call('hdel', 'hash', 'g')
      redis.call('srem', 'set', 'm', 'n') redis.call('zadd', 'zset', 5, 'm', 6, 'o')
      redis.call('zpopmin', 'zset') redis.call('persist', 'a') redis.call('publish', 'news', 'x')
      redis.call('rename', 'new', 'newer') redis.call('select', 1) redis.call('set', 'elsewhere', 1)`);
    expect(client.events()).toEqual([]);
    expectReplies(client, [
      ['MGET a b', ['1', '2']],
      ['PTTL b', 5000],
      ['LRANGE list 0 -1', ['x', 'y', 'z']],
      [
        'HGETALL hash',
        new Map([
          ['f', '1'],
          ['g', '2'],
        ]),
      ],
      ['SMEMBERS set', new Set(['m', 'n'])],
      ['ZRANGE zset 0 -1 WITHSCORES', ['m', '1', 'n', '2']],
      ['DBSIZE', 6],
      ['SELECT 1', '+OK'],
      ['DBSIZE', 0],
    ]);
  });

  it('brings back what it flushed and swapped', () => {
    client.say('MSET a 1 b 2');
    wild("redis.call('flushall') redis.call('set', 'c', 1) redis.call('swapdb', 0, 1)");
    expectReplies(client, [
      ['MGET a b c', ['1', '2', null]],
      ['DBSIZE', 2],
      ['SELECT 1', '+OK'],
      ['DBSIZE', 0],
    ]);
  });

  it('wakes nobody', () => {
    const waiter = client.other();
    expect(waiter.say('BLPOP list 0')).toBe('waits');
    wild("redis.call('rpush', 'list', 'x')");
    expect(waiter.late()).toEqual([]);
    client.say('RPUSH list y');
    expect(waiter.late()).toEqual([['list', 'y']]);
  });

  it('keeps what the transaction around it has done', () => {
    client.say('CONFIG SET script-budget-steps 1000');
    client.say('MULTI');
    client.say('SET a 1');
    client.say(['EVAL', `redis.call('set', 'b', 1) ${ENDLESS}`, '0']);
    client.say('SET c 1');
    expect(client.say('EXEC')).toEqual(['+OK', expect.stringContaining('stopped'), '+OK']);
    expect(client.say('MGET a b c')).toEqual(['1', null, '1']);
  });

  it('puts every key back into its slot, so that a scan misses none', () => {
    const command = fc.oneof(
      fc.tuple(fc.constantFrom('set', 'del', 'persist'), fc.nat(30)),
      fc.tuple(fc.constant('rename'), fc.nat(30)),
    );
    fc.assert(
      fc.property(fc.array(command, { maxLength: 40 }), (commands) => {
        client = startDialogue();
        for (let at = 0; at < 20; at++)
          client.say(`SET k${at} v PX ${at % 3 === 0 ? 10 : 100_000}`);
        client.clock.advance(9);
        const before = client.say('SCAN 0 COUNT 1000');
        const body = commands
          .map(([name, key]) =>
            name === 'set'
              ? `redis.call('set', 'k${key}', 'w')`
              : `redis.pcall('${name}', 'k${key}'${name === 'rename' ? ", 'k5'" : ''})`,
          )
          .join(' ');
        wild(body);
        expect(client.say('SCAN 0 COUNT 1000')).toEqual(before);
      }),
    );
  });
});
