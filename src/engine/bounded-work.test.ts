import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { startWire, type Wire, type WireClient } from '../../test/wire-dialogue.ts';
import { execute } from './execute.ts';
import { SetValue } from './set-value.ts';

const NAMES = Array.from({ length: 20_000 }, (_, at) => `m${at}`);
const TOO_MANY = '-ERR the reply would have too many items (262144 at most)';

let wire: Wire;
let client: WireClient;

beforeEach(() => {
  wire = startWire();
  client = wire.connect();
});

function repeat(word: string, count: number): string[] {
  return new Array<string>(count).fill(word);
}

describe('a set of 20,000 members that is named 20,000 times', () => {
  beforeEach(() => {
    client.say(['SADD', 's', ...NAMES]);
    client.say('SADD one m1');
  });

  it('is read once by SINTERCARD, SUNIONSTORE and SDIFFSTORE', () => {
    const sets = repeat('s', 20_000);
    expect(client.say(['SINTERCARD', '20000', ...sets])).toBe(':20000');
    expect(client.say(['SUNIONSTORE', 'd', ...sets])).toBe(':20000');
    expect(client.say(['SDIFFSTORE', 'd', 's', ...repeat('one', 20_000)])).toBe(':19999');
  });

  it('is refused by ZUNIONSTORE and ZINTERSTORE', () => {
    const sets = repeat('s', 20_000);
    const refusal = '-ERR a large key is named too many times';
    expect(client.say(['ZUNIONSTORE', 'd', '20000', ...sets])).toBe(refusal);
    expect(client.say(['ZINTERSTORE', 'd', '20000', ...sets])).toBe(refusal);
    expect(client.say(['ZINTERSTORE', 'd', '20000', 'one', ...sets.slice(1)])).toBe(':1');
    expect(client.say(['ZUNIONSTORE', 'd', '2', 's', 's'])).toBe(':20000');
  });
});

it('SDIFFSTORE makes no lookup for each pair of a member and a set', () => {
  const names = NAMES.slice(0, 2000);
  client.say(['SADD', 'first', ...names.map((name) => `first:${name}`)]);
  client.say(['SADD', 'large', ...names]);
  for (const name of names) client.say(['SADD', `one:${name}`, name]);
  const others = [...repeat('large', 2000), ...names.map((name) => `one:${name}`)];
  const lookup = vi.spyOn(SetValue.prototype, 'has');
  onTestFinished(() => lookup.mockRestore());
  expect(client.say(['SDIFFSTORE', 'd', 'first', ...others])).toBe(':2000');
  expect(lookup.mock.calls.length).toBeLessThan(10_000);
});

it('ZDIFF walks through the smaller of two sets', () => {
  client.say(['SADD', 's', ...NAMES]);
  for (const name of NAMES) client.say(['SADD', `one:${name}`, name]);
  const others = NAMES.slice(1).map((name) => `one:${name}`);
  expect(client.say(['ZDIFF', '20000', 's', ...others])).toBe('*1 $2 m0');
});

it.each(['SRANDMEMBER', 'HRANDFIELD', 'ZRANDMEMBER'])('%s refuses a count of -2^30', (command) => {
  client.say('SADD set a');
  client.say('HSET hash a 1');
  client.say('ZADD zset 1 a');
  const key = { SRANDMEMBER: 'set', HRANDFIELD: 'hash', ZRANDMEMBER: 'zset' }[command]!;
  expect(client.say(`${command} ${key} -1073741824`)).toBe(TOO_MANY);
  expect(client.say(`${command} ${key} -3`)).toBe('*3 $1 a $1 a $1 a');
});

it('SORT refuses GETs whose results would be more than 2^20', () => {
  client.say(['RPUSH', 'l', ...repeat('1', 2000)]);
  const gets = (count: number): string[] => repeat('GET', count).flatMap((get) => [get, '#']);
  expect(client.say(['SORT', 'l', ...gets(1000)])).toBe(TOO_MANY);
  expect(client.say(['SORT', 'l', 'LIMIT', '0', '1', ...gets(2)])).toBe('*2 $1 1 $1 1');
});

it('SORT refuses a pattern of more than 1024 bytes', () => {
  const refusal = '-ERR pattern is too long (1024 bytes at most)';
  expect(client.say(['SORT', 'l', 'BY', '*'.repeat(1025)])).toBe(refusal);
  expect(client.say(['SORT', 'l', 'GET', '*'.repeat(1025)])).toBe(refusal);
});

it('COMMAND INFO and COMMAND DOCS build the reply for a name once', () => {
  const info = execute(client.session, ['COMMAND', 'INFO', 'get', 'get']);
  expect(Array.isArray(info) && info[0] === info[1]).toBe(true);
  const docs = execute(client.session, ['COMMAND', 'DOCS', 'get', 'get']);
  const entries = (docs as unknown as { entries: [string, object][] }).entries;
  expect(entries[0]![1]).toBe(entries[1]![1]);
});

it('CLIENT LIST shows a client once that is named twice', () => {
  expect(client.say('CLIENT LIST ID 1 1').match(/\bid=1 addr/g)).toHaveLength(1);
});

it('the last of several equal filters of CLIENT KILL counts, as in Redis', () => {
  const second = wire.connect();
  const third = wire.connect();
  const ids = `ID ${second.session.id} ID ${third.session.id}`;
  expect(client.say(`CLIENT KILL ${ids}`)).toBe(':1');
  expect(second.isClosed).toBe(false);
  expect(third.isClosed).toBe(true);
});
