import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine, execute } from '../src/engine/index.ts';
import { type Server, startServer } from '../src/server/index.ts';
import { CliProcess, runCli } from './cli-process.ts';
import { freePort } from './real-redis.ts';

const MODES = [
  ['--no-raw', '-2'],
  ['--no-raw', '-3'],
  ['--raw', '-2'],
  ['--raw', '-3'],
] as const;

/** The arguments of both programs for one server. */
interface Target {
  readonly store: string;
  readonly redisCli: readonly string[];
}

function tcp(port: number): Target {
  return { store: `redis://127.0.0.1:${port}`, redisCli: ['-p', `${port}`] };
}

async function ours({ store }: Target, args: readonly string[], input = ''): Promise<string> {
  return (await runCli(['cli', '--store', store, ...args], { input })).output;
}

async function theirs(target: Target, args: readonly string[], input = ''): Promise<string> {
  const all = [...target.redisCli, ...args];
  const running = promisify(execFile)('redis-cli', all, { encoding: 'latin1' });
  running.child.stdin!.end(input, 'latin1');
  return (await running).stdout;
}

const ALL_BYTES = String.fromCharCode(...Array.from({ length: 256 }, (_, byte) => byte));

const SETUP = [
  ['SET', 'text', 'hello'],
  ['SET', 'bytes', ALL_BYTES],
  ['SET', 'empty', ''],
  ['SET', 'number', '17'],
  ['RPUSH', 'list', ...'abcdefghijk'],
  ['HSET', 'hash', 'field', 'value', 'other', ''],
  ['SADD', 'set', 'one'],
  ['ZADD', 'zset', '1.5', 'low', '2', 'high'],
] as const;

const COMMANDS = [
  'PING',
  'ECHO "two words"',
  'GET text',
  'GET bytes',
  'GET empty',
  'GET missing',
  'STRLEN bytes',
  'EXISTS text missing',
  'TTL missing',
  'MGET text missing number',
  'LRANGE list 0 -1',
  'LRANGE list 0 8',
  'LRANGE missing 0 -1',
  'HGETALL hash',
  'HGETALL missing',
  'SMEMBERS set',
  'SMEMBERS missing',
  'ZRANGE zset 0 -1 WITHSCORES',
  'ZSCORE zset low',
  'SCAN 0 COUNT 1000 MATCH text',
  'TYPE list',
  'CONFIG GET maxclients',
  'NOSUCH command here',
  'GET',
  'INCR text',
  'LPUSH text value',
  'EXEC',
  'UNSUBSCRIBE channel',
] as const;

describe('replies of Holdfast are printed as by redis-cli', () => {
  const engine = createEngine();
  let server: Server;

  beforeAll(async () => {
    server = await startServer({ engine, port: 0 });
    const session = engine.session();
    for (const argv of SETUP) execute(session, argv);
  });
  afterAll(async () => {
    await server.close();
    engine.close();
  });

  it.each(COMMANDS)('%s', async (line) => {
    for (const mode of MODES) {
      // RESP3 answers UNSUBSCRIBE by a push alone, for which redis-cli 7.0 waits in vain.
      if (mode[1] === '-3' && line.startsWith('UNSUBSCRIBE')) continue;
      const input = `${line}\n`;
      const expected = await theirs(tcp(server.port), mode, input);
      expect(expected).not.toBe('');
      expect(await ours(tcp(server.port), mode, input), mode.join(' ')).toBe(expected);
    }
  });

  it('as arguments of the command line, too', async () => {
    for (const mode of MODES) {
      const argv = [...mode, 'LRANGE', 'list', '0', '-1'];
      expect(await ours(tcp(server.port), argv)).toBe(await theirs(tcp(server.port), argv));
    }
  });
});

describe('replies of Redis are printed as by redis-cli', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-redis-'));
  const path = join(folder, 'socket');
  const target: Target = { store: `unix:${path}`, redisCli: ['-s', path] };
  let redis: ChildProcess;

  beforeAll(async () => {
    const args = ['--port', '0', '--unixsocket', path, '--save', '', '--dir', folder];
    args.push('--enable-debug-command', 'yes');
    redis = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const chunk of redis.stdout!) if (`${chunk}`.includes('eady to accept')) break;
  });
  afterAll(async () => {
    redis.kill();
    await once(redis, 'exit');
    rmSync(folder, { recursive: true });
  });

  const KINDS = ['string', 'integer', 'double', 'null', 'array', 'set', 'map', 'verbatim', 'true'];
  const NESTED = `EVAL "return {1, {2, 'a', {3, 'x\\\\n'}}, {}, false, redis.error_reply('ERR no'), redis.status_reply('yes')}" 0`;
  const lines = [
    ...KINDS.map((kind) => `DEBUG PROTOCOL ${kind}`),
    'DEBUG PROTOCOL false',
    'COMMAND DOCS get setnx',
    'COMMAND INFO setnx nosuch',
    'MEMORY DOCTOR',
    'XADD stream 1-1 field value',
    'XRANGE stream - +',
    NESTED,
  ];

  it.each(lines)('%s', async (line) => {
    for (const mode of MODES) {
      const input = `${line}\n`;
      if (line.startsWith('XADD')) await theirs(target, ['DEL', 'stream']);
      const expected = await theirs(target, mode, input);
      expect(expected).not.toBe('');
      if (line.startsWith('XADD')) await theirs(target, ['DEL', 'stream']);
      expect(await ours(target, mode, input), mode.join(' ')).toBe(expected);
    }
  });
});

describe('lines', () => {
  const engine = createEngine();
  let server: Server;

  beforeAll(async () => {
    server = await startServer({ engine, port: 0 });
  });
  afterAll(async () => {
    await server.close();
    engine.close();
  });

  const DIALOGUE = [
    'SET "a\\x00\\n\\t\\"b" \'it\\\'s\'',
    'GET "a\\x00\\n\\t\\"b"',
    'GET "open',
    'GET "a"b',
    '',
    'SET caf\xc3\xa9 \xff\xfe',
    'GET caf\xc3\xa9',
    '3 INCR counter',
    'MULTI',
    'INCR counter',
    'EXEC',
    'nosuch',
    'quit',
    'GET counter',
  ].join('\n');

  it.each(MODES)('from a pipe are split and run as by redis-cli (%s %s)', async (...mode) => {
    execute(engine.session(), ['FLUSHALL']);
    const expected = await theirs(tcp(server.port), mode, DIALOGUE);
    execute(engine.session(), ['FLUSHALL']);
    expect(await ours(tcp(server.port), mode, DIALOGUE)).toBe(expected);
  });

  it('return exit code 1 for an error only with --exit-code', async () => {
    const store = ['cli', '--store', `redis://127.0.0.1:${server.port}`];
    expect(await runCli([...store, 'nosuch'])).toMatchObject({ code: 0, errors: '' });
    const { code, output, errors } = await runCli([...store, '-e', 'nosuch']);
    expect({ code, output }).toEqual({ code: 1, output: '' });
    expect(errors).toMatch(/^ERR unknown command 'nosuch'.*\n$/);
    expect((await runCli([...store, '-e', 'PING'])).code).toBe(0);
  });

  it('keep listening after SUBSCRIBE until Ctrl-C', async () => {
    const store = ['cli', '--store', tcp(server.port).store];
    await using listener = CliProcess.node([...store, 'SUBSCRIBE', 'news', 'weather']);
    await listener.waitFor(/^subscribe\nnews\n1\nsubscribe\nweather\n2\n$/);
    execute(engine.session(), ['PUBLISH', 'weather', 'rain']);
    await listener.waitFor(/\nmessage\nweather\nrain\n$/);
    listener.child.kill('SIGINT');
    await listener.ended();
    expect(listener.child.signalCode).toBe('SIGINT');
  });

  it.each(['help', 'HELP', '?'])('print help for %s, also without a server', async (word) => {
    const closed = ['--store', `redis://127.0.0.1:${await freePort()}`];
    const { output: piped } = await runCli(['cli', ...closed], { input: `${word} getset\n` });
    expect(piped).toMatch(/^\n {2}GETSET key value\n/);
    expect(await runCli(['cli', ...closed, word, 'getset'])).toEqual({
      code: 0,
      output: piped,
      errors: '',
    });
    expect((await runCli(['cli', ...closed, word])).output).toMatch(/^\n {2}help <command> /);
  });

  it('say how to start a server where none answers', async () => {
    const gone = await startServer({ engine, port: 0 });
    await gone.close();
    const { code, errors } = await runCli([
      'cli',
      '--store',
      `redis://127.0.0.1:${gone.port}`,
      'PING',
    ]);
    expect(code).toBe(1);
    expect(errors).toBe(
      `Could not connect to 127.0.0.1:${gone.port} (ECONNREFUSED). Start a server with "npx holdfast serve", or name another with --store redis://host:port.\n`,
    );
  });
});
