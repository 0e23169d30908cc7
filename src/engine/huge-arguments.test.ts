import { beforeEach, describe, expect, it } from 'vitest';
import { startWireEngine, type WireClient } from '../../test/wire-client.ts';

const HUGE = 'a'.repeat(100_000);
const DIGITS = '1'.repeat(100_000);
const FLOAT_ERROR = '-ERR value is not a valid float';

let client: WireClient;

beforeEach(() => {
  client = startWireEngine().connect();
});

describe('an error reply repeats at most 128 bytes of', () => {
  const shown = 'a'.repeat(128);
  it.each<[argv: string[], reply: string]>([
    [[HUGE], `-ERR unknown command '${shown}', with args beginning with:`],
    [['CLIENT', HUGE], `-ERR unknown subcommand '${shown}'. Try CLIENT HELP.`],
    [
      ['CONFIG', 'SET', HUGE, 'x'],
      `-ERR Unknown option or number of arguments for CONFIG SET - '${shown}'`,
    ],
    [['EXPIRE', 'k', '1', HUGE], `-ERR Unsupported option ${shown}`],
    [['CLIENT', 'KILL', 'TYPE', HUGE], `-ERR Unknown client type '${shown}'`],
    [['CLIENT', 'KILL', 'USER', HUGE], `-ERR No such user '${shown}'`],
    [['CLIENT', 'SETINFO', HUGE, 'x'], `-ERR Unrecognized option '${shown}'`],
    [['HELLO', '3', HUGE], `-ERR Syntax error in HELLO option '${shown}'`],
  ])('an argument of 100 kB: %#', (argv, reply) => {
    expect(client.send(argv)).toBe(reply);
  });
});

describe('a number or option of 100 kB is refused', () => {
  it.each<[argv: string[], reply: string]>([
    [['SET', 'k', 'v', HUGE], '-ERR syntax error'],
    [['SCAN', DIGITS], '-ERR invalid cursor'],
    [
      ['CONFIG', 'SET', 'timeout', DIGITS],
      "-ERR CONFIG SET failed (possibly related to argument 'timeout') - argument couldn't be parsed into an integer",
    ],
    [
      ['CONFIG', 'SET', 'output-limit-normal', DIGITS],
      "-ERR CONFIG SET failed (possibly related to argument 'output-limit-normal') - argument must be a memory value",
    ],
    [['ZADD', 'z', DIGITS, 'm'], FLOAT_ERROR],
    [['ZADD', 'z', `${DIGITS}x`, 'm'], FLOAT_ERROR],
    [['ZADD', 'z', `0x${DIGITS}`, 'm'], FLOAT_ERROR],
    [['ZRANGEBYSCORE', 'z', `${DIGITS}x`, '2'], '-ERR min or max is not a float'],
    [['ZRANGEBYSCORE', 'z', ' '.repeat(100_000), '2'], '-ERR min or max is not a float'],
    [['CLIENT', 'SETNAME', HUGE], '-ERR Client names cannot be longer than 1024 bytes.'],
    [['COMMAND', 'INFO', '|'.repeat(100_000)], '*1 $-1'],
    [
      ['CONFIG', 'SET', 'notify-keyspace-events', 'K'.repeat(100_000)],
      "-ERR CONFIG SET failed (possibly related to argument 'notify-keyspace-events') - Invalid event class character. Use 'Ag$lshzxeKEtmdn'.",
    ],
  ])('%#', (argv, reply) => {
    expect(client.send(argv)).toBe(reply);
  });
});

it.each([
  ['KEYS', HUGE],
  ['SCAN', '0', 'MATCH', HUGE],
  ['PSUBSCRIBE', 'a*', HUGE],
  ['PUBSUB', 'CHANNELS', HUGE],
  ['COMMAND', 'LIST', 'FILTERBY', 'PATTERN', HUGE],
  ['CONFIG', 'GET', `${HUGE}*`],
])('%s refuses a pattern of 100 kB', (...argv) => {
  expect(client.send(argv)).toBe('-ERR pattern is too long (1024 bytes at most)');
  expect(client.session.patterns.size).toBe(0);
});

it('an error code of more than 64 bytes is not kept for INFO', () => {
  client.send(['EVAL', `return redis.error_reply('${'X'.repeat(65)} text')`, '0']);
  client.send(['EVAL', `return redis.error_reply('${'Y'.repeat(64)} text')`, '0']);
  expect(client.send('INFO errorstats')).toMatch(/errorstat_Y{64}:count=1/);
  expect(client.send('INFO errorstats')).not.toMatch(/errorstat_X/);
});
