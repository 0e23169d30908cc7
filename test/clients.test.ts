import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { Redis } from 'ioredis';
import { createClient, defineScript, RESP_TYPES } from 'redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeRequest } from '../src/resp/index.ts';
import { type RunningServer, startHoldfast } from './real-redis.ts';

/** Common client libraries, unchanged, against our server. */

const BYTES = Buffer.from([0, 255, 13, 10, 128, 42, 0]);

let server: RunningServer;

beforeAll(async () => {
  server = await startHoldfast();
});

afterAll(() => server.stop());

describe('ioredis', () => {
  let redis: Redis;

  beforeAll(() => {
    redis = new Redis(server.port, server.host);
  });

  beforeEach(() => redis.flushall());

  afterAll(() => redis.disconnect());

  it('sets and gets values of every type', async () => {
    expect(await redis.set('s', 'x', 'EX', 100, 'NX')).toBe('OK');
    expect(await redis.set('s', 'y', 'EX', 100, 'NX')).toBeNull();
    expect(await redis.setnx('s', 'y')).toBe(0);
    expect(await redis.hset('h', { a: '1', b: '2' })).toBe(2);
    expect(await redis.hgetall('h')).toEqual({ a: '1', b: '2' });
    expect(await redis.rpush('l', 'a', 'b', 'c')).toBe(3);
    expect(await redis.lrange('l', 0, -1)).toEqual(['a', 'b', 'c']);
    expect(await redis.sadd('t', 'a', 'b')).toBe(2);
    expect((await redis.smembers('t')).sort()).toEqual(['a', 'b']);
    expect(await redis.zadd('z', 1.5, 'a', 2, 'b')).toBe(2);
    expect(await redis.zrange('z', '0', '-1', 'WITHSCORES')).toEqual(['a', '1.5', 'b', '2']);
    expect(await redis.type('z')).toBe('zset');
  });

  it('sends and receives any bytes', async () => {
    await redis.set(BYTES, BYTES);
    expect(await redis.getBuffer(BYTES)).toEqual(BYTES);
    await redis.hset('h', BYTES, BYTES);
    expect(await redis.hgetBuffer('h', BYTES)).toEqual(BYTES);
    expect(await redis.keysBuffer('*')).toContainEqual(BYTES);
  });

  it('sends pipelines and transactions', async () => {
    const pipeline = await redis.pipeline().set('a', '1').incr('a').lpush('a', 'x').get('a').exec();
    expect(pipeline?.map(([error, reply]) => error?.message ?? reply)).toEqual([
      'OK',
      2,
      'WRONGTYPE Operation against a key holding the wrong kind of value',
      '2',
    ]);
    const transaction = await redis.multi().incr('a').incrby('a', 10).exec();
    expect(transaction).toEqual([
      [null, 3],
      [null, 13],
    ]);
    await redis.watch('a');
    const other = redis.duplicate();
    await other.set('a', 'changed');
    other.disconnect();
    expect(await redis.multi().get('a').exec()).toBeNull();
  });

  it('runs defined scripts, also after SCRIPT FLUSH', async () => {
    redis.defineCommand('release', {
      numberOfKeys: 1,
      lua: "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0",
    });
    const { release } = redis as unknown as {
      release(key: string, token: string): Promise<number>;
    };
    await redis.set('lock', 'mine');
    expect(await release.call(redis, 'lock', 'yours')).toBe(0);
    await redis.script('FLUSH');
    expect(await release.call(redis, 'lock', 'mine')).toBe(1);
    await expect(redis.evalsha('f'.repeat(40), 0)).rejects.toThrow('NOSCRIPT');
    await expect(redis.eval("return redis.call('incr',KEYS[1])", 1, 'lock')).resolves.toBe(1);
  });

  it('receives messages of a subscription', async () => {
    const subscriber = redis.duplicate();
    const heard: unknown[] = [];
    subscriber.on('message', (channel, message) => heard.push([channel, message]));
    subscriber.on('pmessage', (...words) => heard.push(words));
    await subscriber.subscribe('news', 'sport');
    await subscriber.psubscribe('n*');
    expect(await redis.publish('news', 'hello')).toBe(2);
    expect(await redis.publish('sport', 'goal')).toBe(1);
    await subscriber.unsubscribe('news');
    await subscriber.ping();
    expect(heard).toEqual([
      ['news', 'hello'],
      ['n*', 'news', 'hello'],
      ['sport', 'goal'],
    ]);
    subscriber.disconnect();
  });

  it('receives the reply of a blocking command', async () => {
    const waiter = redis.duplicate();
    const popped = waiter.blpop('queue', 0);
    const other = redis.duplicate();
    const lowest = other.bzpopmin('scores', 0);
    await redis.rpush('queue', 'job');
    await redis.zadd('scores', 3, 'late', 1, 'early');
    expect(await popped).toEqual(['queue', 'job']);
    expect(await lowest).toEqual(['scores', 'early', '1']);
    expect(await waiter.blpop('queue', 0.01)).toBeNull();
    waiter.disconnect();
    other.disconnect();
  });

  it('iterates with scanStream', async () => {
    await redis.mset(Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`k${at}`, 'x'])));
    const found: string[] = [];
    for await (const keys of redis.scanStream({ match: 'k*', count: 7 })) found.push(...keys);
    expect(new Set(found).size).toBe(100);
  });

  it('reconnects after CLIENT KILL', async () => {
    const victim = redis.duplicate({ retryStrategy: () => 1 });
    await victim.select(3);
    await victim.set('a', 'kept');
    const id = await victim.client('ID');
    const back = once(victim, 'ready');
    await redis.client('KILL', 'ID', id);
    await back;
    expect(await victim.client('ID')).toBeGreaterThan(id);
    expect(await victim.get('a')).toBe('kept');
    victim.disconnect();
  });
});

describe.each([2, 3] as const)('node-redis, RESP%i', (RESP) => {
  const connect = () =>
    createClient({
      RESP,
      socket: { host: server.host, port: server.port, reconnectStrategy: () => 1 },
      scripts: {
        release: defineScript({
          SCRIPT:
            "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) end return 0",
          NUMBER_OF_KEYS: 1,
          parseCommand(parser, key: string, token: string) {
            parser.pushKey(key);
            parser.push(token);
          },
          transformReply: (reply: unknown) => Number(reply),
        }),
      },
    })
      .on('error', () => {})
      .connect();
  let redis: Awaited<ReturnType<typeof connect>>;

  beforeAll(async () => {
    redis = await connect();
  });

  beforeEach(() => redis.flushAll());

  afterAll(() => redis.destroy());

  it('sets and gets values of every type', async () => {
    expect(await redis.set('s', 'x', { NX: true, PX: 100_000 })).toBe('OK');
    expect(await redis.set('s', 'y', { NX: true })).toBeNull();
    expect(await redis.hSet('h', { a: '1', b: '2' })).toBe(2);
    expect({ ...(await redis.hGetAll('h')) }).toEqual({ a: '1', b: '2' });
    expect(await redis.rPush('l', ['a', 'b'])).toBe(2);
    expect(await redis.lRange('l', 0, -1)).toEqual(['a', 'b']);
    expect(await redis.sAdd('t', ['a', 'b'])).toBe(2);
    expect([...(await redis.sMembers('t'))].sort()).toEqual(['a', 'b']);
    expect(await redis.zAdd('z', [{ score: 1.5, value: 'a' }])).toBe(1);
    expect(await redis.zRangeWithScores('z', 0, -1)).toEqual([{ score: 1.5, value: 'a' }]);
    expect(await redis.zScore('z', 'a')).toBe(1.5);
  });

  it('sends and receives any bytes', async () => {
    const binary = redis.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    await binary.set(BYTES, BYTES);
    expect(await binary.get(BYTES)).toEqual(BYTES);
  });

  it('sends transactions', async () => {
    expect(await redis.multi().set('a', '1').incr('a').get('a').exec()).toEqual(['OK', 2, '2']);
    await redis.watch('a');
    const other = await connect();
    await other.set('a', 'changed');
    other.destroy();
    await expect(redis.multi().get('a').exec()).rejects.toThrow('watched keys');
  });

  it('runs scripts, also after SCRIPT FLUSH', async () => {
    await redis.set('lock', 'mine');
    expect(await redis.release('lock', 'yours')).toBe(0);
    await redis.scriptFlush();
    expect(await redis.release('lock', 'mine')).toBe(1);
  });

  it('receives messages of a subscription', async () => {
    const subscriber = await connect();
    const heard: string[] = [];
    await subscriber.subscribe('news', (message) => heard.push(message));
    await subscriber.pSubscribe('n*', (message, channel) => heard.push(`${channel}: ${message}`));
    expect(await redis.publish('news', 'hello')).toBe(2);
    await subscriber.ping();
    expect(heard).toEqual(['hello', 'news: hello']);
    subscriber.destroy();
  });

  it('receives the reply of a blocking command', async () => {
    const waiter = await connect();
    const popped = waiter.blPop('queue', 0);
    await redis.rPush('queue', 'job');
    expect(await popped).toEqual({ key: 'queue', element: 'job' });
    waiter.destroy();
  });

  it('reconnects after CLIENT KILL', async () => {
    const victim = await connect();
    const id = await victim.clientId();
    const back = new Promise((resolve) => victim.once('ready', resolve));
    await redis.sendCommand(['CLIENT', 'KILL', 'ID', `${id}`]);
    await back;
    expect(await victim.clientId()).toBeGreaterThan(id);
    victim.destroy();
  });
});

describe('redis-cli', () => {
  const cli = async (...words: readonly string[]): Promise<string> => {
    const { stdout } = await promisify(execFile)('redis-cli', ['-p', `${server.port}`, ...words]);
    return stdout.trimEnd();
  };

  beforeEach(async () => {
    await cli('FLUSHALL');
  });

  it('runs one command', async () => {
    expect(await cli('SET', 'a', 'x', 'NX', 'EX', '10')).toBe('OK');
    expect(await cli('GET', 'a')).toBe('x');
    expect(await cli('--no-raw', 'INCR', 'a')).toBe(
      '(error) ERR value is not an integer or out of range',
    );
    expect(await cli('--no-raw', 'EXISTS', 'a')).toBe('(integer) 1');
    expect(await cli('-3', '--no-raw', 'HELLO', '3')).toContain('1# "server" => "redis"');
    expect(await cli('EVAL', 'return {1,2,KEYS[1]}', '1', 'a')).toBe('1\n2\na');
    expect(await cli('INFO', 'server')).toContain('redis_version:7.0');
    expect(await cli('--scan')).toBe('a');
  });

  it('sends commands with --pipe', async () => {
    const count = 1000;
    const requests = Array.from({ length: count }, (_, at) =>
      encodeRequest(['SET', `k${at}`, 'x']),
    );
    const pipe = spawn('redis-cli', ['-p', `${server.port}`, '--pipe']);
    pipe.stdin.end(requests.join(''));
    expect(await text(pipe.stdout)).toContain(`errors: 0, replies: ${count}`);
    expect(await cli('DBSIZE')).toBe(`${count}`);
  });

  it('reads commands from its input', async () => {
    const child = spawn('redis-cli', ['-p', `${server.port}`]);
    child.stdin.end('MULTI\nSET a 1\nINCR a\nEXEC\nGET a\n');
    expect(await text(child.stdout)).toBe('OK\nQUEUED\nQUEUED\nOK\n2\n2\n');
  });
});
