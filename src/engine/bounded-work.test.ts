import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startWireEngine, type WireClient, type WireEngine } from '../../test/wire-client.ts';
import { execute } from './execute.ts';
import { SetValue } from './set-value.ts';

const NAMES = Array.from({ length: 20_000 }, (_, at) => `m${at}`);
const TOO_MANY = '-ERR the reply would have too many items (262144 at most)';

let wire: WireEngine;
let client: WireClient;

beforeEach(() => {
  wire = startWireEngine();
  client = wire.connect();
});

function repeat(word: string, count: number): string[] {
  return new Array<string>(count).fill(word);
}

describe('a set of 20,000 members that is named 20,000 times', () => {
  beforeEach(() => {
    client.send(['SADD', 's', ...NAMES]);
    client.send('SADD one m1');
  });

  it('is read once by SINTERCARD, SUNIONSTORE and SDIFFSTORE', () => {
    const sets = repeat('s', 20_000);
    expect(client.send(['SINTERCARD', '20000', ...sets])).toBe(':20000');
    expect(client.send(['SUNIONSTORE', 'd', ...sets])).toBe(':20000');
    expect(client.send(['SDIFFSTORE', 'd', 's', ...repeat('one', 20_000)])).toBe(':19999');
  });

  it('is refused by ZUNIONSTORE and ZINTERSTORE', () => {
    const sets = repeat('s', 20_000);
    const refusal = '-ERR a large key is named too many times';
    expect(client.send(['ZUNIONSTORE', 'd', '20000', ...sets])).toBe(refusal);
    expect(client.send(['ZINTERSTORE', 'd', '20000', ...sets])).toBe(refusal);
    expect(client.send(['ZINTERSTORE', 'd', '20000', 'one', ...sets.slice(1)])).toBe(':1');
    expect(client.send(['ZUNIONSTORE', 'd', '2', 's', 's'])).toBe(':20000');
  });
});

it('SDIFFSTORE makes no lookup for each pair of a member and a set', () => {
  const names = NAMES.slice(0, 2000);
  client.send(['SADD', 'first', ...names.map((name) => `first:${name}`)]);
  client.send(['SADD', 'large', ...names]);
  for (const name of names) client.send(['SADD', `one:${name}`, name]);
  const others = [...repeat('large', 2000), ...names.map((name) => `one:${name}`)];
  const lookup = vi.spyOn(SetValue.prototype, 'has');
  onTestFinished(() => lookup.mockRestore());
  expect(client.send(['SDIFFSTORE', 'd', 'first', ...others])).toBe(':2000');
  expect(lookup.mock.calls.length).toBeLessThan(10_000);
});

it('ZDIFF iterates over the smaller of two sets', () => {
  client.send(['SADD', 's', ...NAMES]);
  for (const name of NAMES) client.send(['SADD', `one:${name}`, name]);
  const others = NAMES.slice(1).map((name) => `one:${name}`);
  expect(client.send(['ZDIFF', '20000', 's', ...others])).toBe('*1 $2 m0');
});

it.each(['SRANDMEMBER', 'HRANDFIELD', 'ZRANDMEMBER'])('%s refuses a count of -2^30', (command) => {
  client.send('SADD set a');
  client.send('HSET hash a 1');
  client.send('ZADD zset 1 a');
  const key = { SRANDMEMBER: 'set', HRANDFIELD: 'hash', ZRANDMEMBER: 'zset' }[command]!;
  expect(client.send(`${command} ${key} -1073741824`)).toBe(TOO_MANY);
  expect(client.send(`${command} ${key} -3`)).toBe('*3 $1 a $1 a $1 a');
});

it('SORT refuses GETs whose results would be more than 2^20', () => {
  client.send(['RPUSH', 'l', ...repeat('1', 2000)]);
  const gets = (count: number): string[] => repeat('GET', count).flatMap((get) => [get, '#']);
  expect(client.send(['SORT', 'l', ...gets(1000)])).toBe(TOO_MANY);
  expect(client.send(['SORT', 'l', 'LIMIT', '0', '1', ...gets(2)])).toBe('*2 $1 1 $1 1');
});

it('SORT refuses a pattern of more than 1024 bytes', () => {
  const refusal = '-ERR pattern is too long (1024 bytes at most)';
  expect(client.send(['SORT', 'l', 'BY', '*'.repeat(1025)])).toBe(refusal);
  expect(client.send(['SORT', 'l', 'GET', '*'.repeat(1025)])).toBe(refusal);
});

it('COMMAND INFO and COMMAND DOCS build the reply for a name once', () => {
  const info = execute(client.session, ['COMMAND', 'INFO', 'get', 'get']);
  expect(Array.isArray(info) && info[0] === info[1]).toBe(true);
  const docs = execute(client.session, ['COMMAND', 'DOCS', 'get', 'get']);
  const entries = (docs as unknown as { entries: [string, object][] }).entries;
  expect(entries[0]![1]).toBe(entries[1]![1]);
});

it('CLIENT LIST ID 1 1 returns the client once', () => {
  expect(client.send('CLIENT LIST ID 1 1').match(/\bid=1 addr/g)).toHaveLength(1);
});

it('CLIENT KILL with a repeated filter uses the last one, as in Redis', () => {
  const second = wire.connect();
  const third = wire.connect();
  const ids = `ID ${second.session.id} ID ${third.session.id}`;
  expect(client.send(`CLIENT KILL ${ids}`)).toBe(':1');
  expect(second.isClosed).toBe(false);
  expect(third.isClosed).toBe(true);
});
