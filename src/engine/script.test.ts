import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { type EngineClient, expectReplies, startEngineClient } from '../../test/engine-client.ts';

const COMPARE_AND_DELETE =
  "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end";
const SETNX_EXPIRE =
  "local ok = redis.call('setnx', KEYS[1], ARGV[1]) if ok == 1 then redis.call('expire', KEYS[1], ARGV[2]) end return ok";
const ENDLESS = 'while true do end';

let client: EngineClient;

beforeEach(() => {
  client = startEngineClient();
});

/** Runs a script that writes, publishes and then never ends. */
function runEndless(body: string): unknown {
  client.send('CONFIG SET script-budget-steps 100000');
  return client.send(['EVAL', `${body} ${ENDLESS}`, '0']);
}

describe('scripts', () => {
  it('delete a lock only if the token is equal', () => {
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

  it('are stored by their SHA1', () => {
    const sha = client.send(['SCRIPT', 'LOAD', 'return {KEYS[1], ARGV[1]}']) as string;
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

  it('may not write when they are read-only', () => {
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

  it('are rejected with an invalid number of keys', () => {
    expectReplies(client, [
      [['EVAL', 'return 1'], "-ERR wrong number of arguments for 'eval' command"],
      [['EVAL', 'return 1', 'x'], '-ERR value is not an integer or out of range'],
      [['EVAL', 'return 1', '-1'], "-ERR Number of keys can't be negative"],
      [['EVAL', 'return 1', '1'], "-ERR Number of keys can't be greater than number of args"],
    ]);
  });

  it('do not block, and do not change the database of the caller', () => {
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

  it('have one time from start to end', () => {
    client.send('SET k v PX 5');
    const script =
      "local a = redis.call('time') for i = 1, 1000 do end local b = redis.call('time') return a[1] == b[1] and a[2] == b[2]";
    expect(client.send(['EVAL', script, '0'])).toBe(1);
  });

  it('keep their writes before an error', () => {
    const reply = client.send(['EVAL', "redis.call('set', 'k', 'v') error('oops')", '0']);
    expect(reply).toMatch(/^-ERR user_script:1: oops/);
    expect(client.send('GET k')).toBe('v');
  });
});

describe('a script that exceeds its budget', () => {
  it('is stopped by steps and by time', () => {
    expect(runEndless('')).toBe(
      '-ERR Script stopped: it spent its budget (script-budget-steps 100000). Everything it wrote was undone.',
    );
    client.send('CONFIG SET script-budget-steps 0 script-budget-ms 1');
    // The virtual clock does not move, so that reading it must advance it.
    const clock = client.engine.clock;
    const real = clock.monotonicMs;
    let nowMs = real();
    clock.monotonicMs = () => (nowMs += 0.5);
    expect(client.send(['EVAL', ENDLESS, '0'])).toContain('script-budget-ms 1');
    clock.monotonicMs = real;
  });

  it('is stopped by its allocations', () => {
    const script = "local t = {} for i = 1, 100 do t[i] = string.rep('x', 60000000) .. i end";
    expect(client.send(['EVAL', script, '0'])).toContain('(268435456 bytes of memory)');
  });

  it('cannot catch the error with pcall', () => {
    expect(runEndless('while true do pcall(function() while true do end end) end')).toContain(
      'stopped',
    );
  });

  it('leaves no change', () => {
    client.send('MSET a 1 b 2');
    client.send('RPUSH list x y z');
    client.send('HSET hash f 1 g 2');
    client.send('SADD set m n');
    client.send('ZADD zset 1 m 2 n');
    client.send('PEXPIRE b 5000');
    client.events();
    runEndless(`
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

  it('restores keys after FLUSHALL and SWAPDB', () => {
    client.send('MSET a 1 b 2');
    runEndless("redis.call('flushall') redis.call('set', 'c', 1) redis.call('swapdb', 0, 1)");
    expectReplies(client, [
      ['MGET a b c', ['1', '2', null]],
      ['DBSIZE', 2],
      ['SELECT 1', '+OK'],
      ['DBSIZE', 0],
    ]);
  });

  it('serves no blocked client', () => {
    const waiter = client.other();
    expect(waiter.send('BLPOP list 0')).toBe('blocked');
    runEndless("redis.call('rpush', 'list', 'x')");
    expect(waiter.lateReplies()).toEqual([]);
    client.send('RPUSH list y');
    expect(waiter.lateReplies()).toEqual([['list', 'y']]);
  });

  it('keeps the writes of the transaction before it', () => {
    client.send('CONFIG SET script-budget-steps 1000');
    client.send('MULTI');
    client.send('SET a 1');
    client.send(['EVAL', `redis.call('set', 'b', 1) ${ENDLESS}`, '0']);
    client.send('SET c 1');
    expect(client.send('EXEC')).toEqual(['+OK', expect.stringContaining('stopped'), '+OK']);
    expect(client.send('MGET a b c')).toEqual(['1', null, '1']);
  });

  it('restores the slot of every key, so that a scan misses none', () => {
    const command = fc.oneof(
      fc.tuple(fc.constantFrom('set', 'del', 'persist'), fc.nat(30)),
      fc.tuple(fc.constant('rename'), fc.nat(30)),
    );
    fc.assert(
      fc.property(fc.array(command, { maxLength: 40 }), (commands) => {
        client = startEngineClient();
        for (let at = 0; at < 20; at++)
          client.send(`SET k${at} v PX ${at % 3 === 0 ? 10 : 100_000}`);
        client.clock.advance(9);
        const before = client.send('SCAN 0 COUNT 1000');
        const body = commands
          .map(([name, key]) =>
            name === 'set'
              ? `redis.call('set', 'k${key}', 'w')`
              : `redis.pcall('${name}', 'k${key}'${name === 'rename' ? ", 'k5'" : ''})`,
          )
          .join(' ');
        runEndless(body);
        expect(client.send('SCAN 0 COUNT 1000')).toEqual(before);
      }),
    );
  });
});

describe('a script is charged', () => {
  const run = (script: string) => client.send(['EVAL', script, '0']);
  const stopped = expect.stringContaining('bytes of memory');

  beforeEach(() => {
    client.engine.memory.scriptBytes = 1_000_000;
  });

  it('for each receiver of a message', () => {
    const publish = "for i = 1, 300 do redis.call('publish', 'news', i) end return 1";
    expect(run(publish)).toBe(1);
    const readers = [client.other(), client.other(), client.other(), client.other()];
    readers[0]!.send('SUBSCRIBE news');
    expect(run(publish)).toBe(1);
    for (const reader of readers.slice(1)) reader.send('PSUBSCRIBE n*');
    expect(run(publish)).toEqual(stopped);
    expect(run("redis.call('publish', 'news', ('x'):rep(300000)) return 1")).toEqual(stopped);
  });

  it('for keyspace events of its writes, which are not sent after a rollback', () => {
    client.events();
    expect(run("for i = 1, 1500 do redis.call('expire', 'none', 1) end return 1")).toBe(1);
    expect(run("for i = 1, 1500 do redis.call('set', 'k', i) end return 1")).toEqual(stopped);
    expect(client.events()).toEqual([]);
    expect(client.send('EXISTS k')).toBe(0);
  });

  it('for the lines of its commands to monitors', () => {
    const read = "local k = ('k'):rep(1000) for i = 1, 600 do redis.call('exists', k) end return 1";
    expect(run(read)).toBe(1);
    client.other().send('MONITOR');
    client.other().send('MONITOR');
    expect(run(read)).toEqual(stopped);
  });

  it('for the undo journal, and is rolled back wherever that stops it', () => {
    client.engine.eventBits = 0;
    client.send('SET held x');
    client.send('RPUSH list a b c');
    client.send('SADD set a');
    client.send('HSET hash f v');
    client.send('ZADD zset 1 a');
    const state = () =>
      [
        'GET held',
        'LRANGE list 0 -1',
        'SMEMBERS set',
        'HGETALL hash',
        'ZRANGE zset 0 -1',
        'DBSIZE',
      ].map((command) => client.send(command));
    const before = state();
    const writes = [
      "redis.call('set', 'new' .. i, i)",
      "redis.call('set', 'held', i)",
      "redis.call('rpush', 'list', i)",
      "redis.call('lset', 'list', 0, i)",
      "redis.call('linsert', 'list', 'before', 'b', i)",
      "redis.call('sadd', 'set', i) redis.call('srem', 'set', i)",
      "redis.call('hset', 'hash', i, i) redis.call('hdel', 'hash', i)",
      "redis.call('zadd', 'zset', i, i) redis.call('zpopmin', 'zset')",
      "redis.call('del', 'held') redis.call('set', 'held', 1)",
    ];
    for (const write of writes) {
      const script = `local i = 0 while true do i = i + 1 ${write} end`;
      // The limits differ by less than the size of one record, so that each record stops some run.
      for (let bytes = 20_000; bytes < 20_800; bytes += 32) {
        client.engine.memory.scriptBytes = bytes;
        expect(run(script), write).toEqual(stopped);
        expect(state(), write).toEqual(before);
      }
    }
  });

  it('not for values that only the journal keeps alive: they count as used memory', () => {
    client.send(['SET', 'k', 'x'.repeat(1_100_000)]);
    expect(run("redis.call('set', 'k', 1) return 1")).toBe(1);
    expect(client.engine.memory.undo.bytes).toBe(0);
    client.send('CONFIG SET maxmemory 1mb');
    const source = `redis.call('set', 'k', 1) local s = ('x'):rep(100000)
      for i = 1, 20 do redis.call('set', 'k', s) end`;
    expect(client.send(['EVAL', source, '0'])).toEqual(
      expect.stringContaining('OOM Script stopped: used memory'),
    );
    expect(client.engine.memory.undo.bytes).toBe(0);
    expect(client.send('GET k')).toBe('1');
  });

  it.each([
    ['LPOP', "redis.call('lpop', 'l')"],
    ['LSET', "redis.call('lset', 'l', 0, '')"],
    ['LREM', "redis.call('lrem', 'l', 1, ARGV[1])"],
    ['HSET', "redis.call('hset', 'h', 'f', '')"],
    ['HDEL', "redis.call('hdel', 'h', 'f')"],
    ['SREM', "redis.call('srem', 's', ARGV[1])"],
    ['ZREM', "redis.call('zrem', 'z', ARGV[1])"],
  ])(
    'not for the value that %s removes: it counts as used until the script ends',
    (_name, body) => {
      const long = 'x'.repeat(100_000);
      client.send(['RPUSH', 'l', long, 'rest']);
      client.send(['HSET', 'h', 'f', long, 'rest', '']);
      client.send(['SADD', 's', long, 'rest']);
      client.send(['ZADD', 'z', '1', long, '2', 'rest']);
      const { used } = client.engine.memory;
      client.send(['CONFIG', 'SET', 'maxmemory', String(used.bytes + 40_000)]);
      const source = `${body} return redis.pcall('setrange', 'k', 50000, 'x')`;
      expect(client.send(['EVAL', source, '0', long])).toMatch(/^-OOM command not allowed/);
      expect(client.engine.memory.undo.bytes).toBe(0);
      expect(client.send('SETRANGE k 50000 x')).toBe(50_001);
    },
  );

  it('for log lines, of which at most 100 of 1024 chars are written', () => {
    const lines: string[] = [];
    client.engine.log = (_, line) => lines.push(line);
    run("for i = 1, 250 do redis.log(redis.LOG_WARNING, 'line', i, ('x'):rep(2000)) end");
    expect(lines).toHaveLength(101);
    expect(lines[7]).toMatch(/^line 8 x+$/);
    expect(lines[7]).toHaveLength(1024);
    expect(lines[100]).toBe("150 more lines of a script's redis.log were dropped");
    run("redis.log(redis.LOG_WARNING, 'again')");
    expect(lines[101]).toBe('again');
  });

  it('for time, and is stopped between two slow commands', () => {
    client.engine.memory.scriptBytes = 1e9;
    client.send('MSET a 1 b 2');
    client.send('CONFIG SET script-budget-ms 20');
    const { clock } = client.engine;
    const real = clock.monotonicMs;
    let nowMs = real();
    clock.monotonicMs = () => (nowMs += 1);
    let calls = 0;
    client.engine.log = () => calls++;
    const reply = run("for i = 1, 90 do redis.call('keys', '*') redis.log(3, i) end return 'late'");
    clock.monotonicMs = real;
    expect(reply).toContain('script-budget-ms 20');
    expect(calls).toBeLessThan(21);
  });
});

describe('stored scripts', () => {
  const source = (number: number) => `return ${number} -- ${'x'.repeat(1000)}`;
  const load = (number: number) => client.send(['SCRIPT', 'LOAD', source(number)]) as string;

  it('are dropped when the cache is full, least recently used first', () => {
    const first = load(1);
    client.engine.memory.scriptCacheBytes = client.engine.memory.scripts.bytes * 3;
    const second = load(2);
    load(3);
    client.send(['EVALSHA', first, '0']);
    load(4);
    expectReplies(client, [
      [['EVALSHA', first, '0'], 1],
      [['EVALSHA', second, '0'], '-NOSCRIPT No matching script. Please use EVAL.'],
      [
        ['SCRIPT', 'EXISTS', first, second],
        [1, 0],
      ],
      [['EVAL', source(2), '0'], 2],
      [['EVALSHA', second, '0'], 2],
    ]);
    expect(client.engine.scripts.count).toBe(3);
  });

  it('do not grow without limit when new scripts are evaluated', () => {
    client.engine.memory.scriptCacheBytes = 100_000;
    for (let number = 0; number < 1000; number++) client.send(['EVAL', source(number), '0']);
    expect(client.engine.memory.scripts.bytes).toBeLessThanOrEqual(100_000);
    expect(client.engine.scripts.count).toBeGreaterThan(10);
    expect(client.send(['EVAL', source(999), '0'])).toBe(999);
  });

  it('always include the newest', () => {
    client.engine.memory.scriptCacheBytes = 1;
    const sha = load(1);
    expect(client.send(['EVALSHA', sha, '0'])).toBe(1);
    expect(client.engine.scripts.count).toBe(1);
  });

  it('are counted in INFO memory', () => {
    load(1);
    const { bytes } = client.engine.memory.scripts;
    expect(bytes).toBeGreaterThan(2000);
    const info = (client.send('INFO memory') as { text: string }).text;
    expect(info).toContain('number_of_cached_scripts:1\r\n');
    expect(info).toContain(`used_memory_scripts:${bytes}\r\n`);
    expect(info).toContain(`used_memory_scripts_eval:${bytes}\r\n`);
    client.send('SCRIPT FLUSH');
    expect(client.engine.memory.scripts.bytes).toBe(0);
  });

  it('have at most 128 KiB of text', () => {
    expect(client.send(['EVAL', `return 1 ${' '.repeat(131_072)}`, '0'])).toBe(
      '-ERR Error compiling script (new function): user_script:1: chunk too long, the limit is 131072 bytes',
    );
  });
});

describe('without memory', () => {
  const OOM = "-OOM command not allowed when used memory > 'maxmemory'.";
  const write = "return redis.call('set', 'k', 'v')";

  beforeEach(() => {
    client.send(['SET', 'old', 'x'.repeat(100_000)]);
    client.send(['CONFIG', 'SET', 'maxmemory', String(client.engine.memory.used.bytes - 1)]);
  });

  it('a script fails at its first write', () => {
    const place = / script: [0-9a-f]{40}, on @user_script:1\.$/;
    const reply = client.send(['EVAL', write, '0']) as string;
    expect(reply.replace(place, '')).toBe(OOM);
    expect(reply).toMatch(place);
    expectReplies(client, [
      [['EVAL', "return redis.pcall('set', 'k', 'v')", '0'], OOM],
      [['EVAL', "return redis.call('strlen', 'old')", '0'], 100_000],
      [['EVAL', "return redis.call('del', 'old')", '0'], 1],
    ]);
  });

  it('a script with a shebang line is refused unless it has allow-oom or no-writes', () => {
    expectReplies(client, [
      [['EVAL', '#!lua\nreturn 1', '0'], OOM],
      [['EVAL_RO', '#!lua\nreturn 1', '0'], OOM],
      [['EVAL', '#!lua flags=no-writes\nreturn 1', '0'], 1],
      [['EVAL', `#!lua flags=allow-oom\n${write}`, '0'], '+OK'],
    ]);
  });

  it('a script that has written continues, as in Redis', () => {
    expectReplies(client, [
      [['EVAL', `redis.call('del', 'old') ${write}`, '0'], '+OK'],
      ['EXISTS old k', 1],
    ]);
  });

  it('a script that adds no more than it removes continues far beyond the limit', () => {
    client.send('CONFIG SET maxmemory 50kb');
    const handOver = "redis.call('getdel', 'old') return redis.call('set', 'k', 'v')";
    expectReplies(client, [
      [['EVAL', handOver, '0'], '+OK'],
      ['EXISTS old k', 1],
    ]);
  });

  it('a script that has written continues while clients use more than an eighth of the limit', () => {
    client.send('CONFIG SET maxmemory 0');
    client.send('SET lock a');
    client.send(['CONFIG', 'SET', 'maxmemory', String(client.engine.memory.used.bytes - 1)]);
    client.other().session.memory.add('output', 50_000);
    const handOver = "redis.call('del', 'lock') return redis.call('set', 'lock', ARGV[1])";
    expectReplies(client, [
      [['EVAL', handOver, '0', 'a longer token'], '+OK'],
      ['GET lock', 'a longer token'],
    ]);
  });

  it.each(['', '#!lua flags=allow-oom\n'])(
    'a script that has written is stopped and rolled back an eighth beyond the limit: %j',
    (shebang) => {
      const source = `${shebang}redis.call('del', 'old')
        for i = 1, 200 do redis.call('set', 'k' .. i, ('v'):rep(1000)) end`;
      expectReplies(client, [
        [
          ['EVAL', source, '0'],
          "-OOM Script stopped: used memory > 'maxmemory'. Everything it wrote was undone.",
        ],
        ['STRLEN old', 100_000],
        ['DBSIZE', 1],
      ]);
    },
  );
});
