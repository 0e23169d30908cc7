import { afterEach, describe, expect, it } from 'vitest';
import { seededRandom, type VirtualClock, virtualClock } from '../../clock/index.ts';
import { createEngine, type Engine, execute } from '../../engine/index.ts';
import { type KeyGuess, type ListedKey, scanKeys } from './key-list.ts';

const NOW_S = 1_800_000_000;
let engine: Engine;
let clock: VirtualClock;

function open(): (...argv: string[]) => unknown {
  clock = virtualClock(NOW_S * 1000);
  engine = createEngine({ clock, random: seededRandom(1) });
  const session = engine.session();
  return (...argv) => execute(session, argv);
}

afterEach(() => engine.close());

async function listed(pattern: string, which?: 'all' | 'endless'): Promise<ListedKey[]> {
  const session = engine.session();
  const pages = scanKeys(
    async (text, keys, args) =>
      execute(session, ['EVAL', text, String(keys.length), ...keys, ...args]),
    pattern,
    which,
  );
  const all: ListedKey[] = [];
  for await (const page of pages) all.push(...page.keys);
  session.close();
  return all;
}

const LONG = `c.1 ["h",1,"${'x'.repeat(1000)}"]`;
const UUID = '0a1b2c3d-0000-4000-8000-00000000beef';

describe('a key', () => {
  const cases: [string, string[], KeyGuess][] = [
    ['a token', ['SET', 'lock.a', UUID], { kind: 'token' }],
    ['an empty string', ['SET', 'lock.a', ''], { kind: 'token' }],
    ['a small number', ['SET', 'lock.a', '1'], { kind: 'token' }],
    ['a time with a TTL', ['SET', 'lock.a', `${NOW_S}`, 'EX', '9'], { kind: 'token' }],
    ['a number of 11 digits', ['SET', 'lock.a', `${NOW_S}0`], { kind: 'token' }],
    ['a time after 2100', ['SET', 'lock.a', '4102444800'], { kind: 'token' }],
    [
      'a time in seconds that has passed',
      ['SET', 'lock.a', `${NOW_S}`],
      { kind: 'timestamp', endMs: NOW_S * 1000, hasEnded: true },
    ],
    [
      'a time in seconds with a fraction',
      ['SET', 'lock.a', `${NOW_S}.5`],
      { kind: 'timestamp', endMs: NOW_S * 1000 + 500, hasEnded: false },
    ],
    [
      'a time in milliseconds',
      ['SET', 'lock.a', `${NOW_S}001`],
      { kind: 'timestamp', endMs: NOW_S * 1000 + 1, hasEnded: false },
    ],
    ['a hash of Redisson', ['HSET', 'lock.a', `${UUID}:57`, '1'], { kind: 'redisson' }],
    ['another hash', ['HSET', 'lock.a', 'owner', '1'], { kind: 'other' }],
    ['a set', ['SADD', 'lock.a', UUID], { kind: 'other' }],
    ['a list', ['RPUSH', 'lock.a', UUID], { kind: 'other' }],
    ['a sorted set', ['ZADD', 'lock.a', '1', UUID], { kind: 'other' }],
    ['a mutex of Holdfast', ['SET', 'lock:{a}', 'c.1 ["h",1,"l"]'], { kind: 'holdfast' }],
    ['one with a queue', ['SET', 'lock:{a}', '+c.1 ["h",1,"l"]'], { kind: 'holdfast' }],
    ['a mutex held by SET NX', ['SET', 'lock:{a}', 'c.1 ["h",1]'], { kind: 'token' }],
    ['one with a long label', ['SET', 'lock:{a}', LONG], { kind: 'holdfast' }],
    ['the value of a mutex in another key', ['SET', 'lock.a', LONG], { kind: 'token' }],
    ['a name with braces', ['SET', 'lock:{a}:x}:fence', '1'], { kind: 'holdfast' }],
    ['a name that is almost a fence', ['SET', 'lock:{a}:fences', '1'], { kind: 'token' }],
    ['a suffix without a lock', ['SET', 'lock.{a}:fence', '1'], { kind: 'token' }],
    ['a fence', ['SET', 'mine:lock:{a}:fence', '1'], { kind: 'holdfast' }],
    ['a semaphore of Holdfast', ['ZADD', 'semaphore:{lock}', '1', 'c.1'], { kind: 'holdfast' }],
  ];

  it.each(cases)('is guessed from its value: %s', async (_, argv, guess) => {
    const say = open();
    say(...argv);
    expect((await listed('*')).map((key) => key.guess)).toEqual([guess]);
  });

  it('has no idle time if its value is a small integer, which keys share', async () => {
    const say = open();
    say('SET', 'lock.a', '5');
    say('SET', 'lock.b', '10000');
    clock.advance(10_000);
    const times = (await listed('lock.*')).map(({ keyBytes, idleMs }) => [keyBytes, idleMs]);
    expect(times.sort()).toEqual([
      ['lock.a', undefined],
      ['lock.b', 10_000],
    ]);
  });

  it('is returned with its first 4096 bytes and its size', async () => {
    const say = open();
    const name = 'lock:{'.repeat(80_000);
    say('SET', name, '1');
    const keys = await listed('*');
    expect(keys).toMatchObject([{ keyBytes: name.slice(0, 4096), keySize: name.length }]);
  });

  it('has type, size, TTL, the start of its value and the idle time before the list', async () => {
    const say = open();
    say('SET', 'lock.long', 'x'.repeat(1000));
    say('SET', 'lock.short', '\xff', 'PX', '60000');
    say('SADD', 'lock.set', 'a', 'b');
    clock.advance(10_000);
    const keys = new Map((await listed('lock.*')).map((key) => [key.keyBytes, key]));
    expect(keys.get('lock.long')).toMatchObject({
      valueBytes: 'x'.repeat(256),
      size: 1000,
      leftMs: undefined,
      idleMs: 10_000,
    });
    expect(keys.get('lock.short')).toMatchObject({ valueBytes: '\xff', leftMs: 50_000 });
    expect(keys.get('lock.set')).toMatchObject({ type: 'set', size: 2, valueBytes: '' });
  });
});

describe('a list of keys', () => {
  const key = ['lock.a', '6', 'string', '-1', '', '1', '', 'x'];
  const malformed: [string, unknown][] = [
    ['the time', ['0', 'now', [key], '0', '']],
    ['the TTL', ['0', '1', [key.with(3, 'zz')], '0', '']],
    ['the idle time', ['0', '1', [key.with(4, 'yy')], '0', '']],
    ['the size', ['0', '1', [key.with(5, '')], '0', '']],
    ['the number of unreadable keys', ['0', '1', [key], 'NaN', '']],
  ];

  it.each(malformed)('throws if a number of the reply is malformed: %s', async (_, reply) => {
    const pages = scanKeys(async () => reply, '*');
    await expect(pages.next()).rejects.toThrow('no number where one was expected');
  });

  it.each([
    ['lock:{'.repeat(80_000), 'token'],
    [`${'lock:{}:queue:'.repeat(40_000)}\n`, 'holdfast'],
  ])('judges a name of half a megabyte in linear time', async (name, kind) => {
    const pages = scanKeys(async () => ['0', '1', [key.with(0, name)], '0', ''], '*');
    const { value } = await pages.next();
    expect(value?.keys.map(({ guess }: ListedKey) => guess.kind)).toEqual([kind]);
  });

  it('throws when SCAN never returns cursor 0', async () => {
    let cursor = 0;
    const walk = async (): Promise<void> => {
      for await (const _page of scanKeys(async () => [`${++cursor}`, '1', [], '0', ''], '*'));
    };
    await expect(walk()).rejects.toThrow('SCAN has not come to an end after 1000000 steps');
  });

  it('returns every matching key of many pages, once if no key changes', async () => {
    const say = open();
    for (let index = 0; index < 2000; index++) say('SET', `lock.${index}`, 't', 'EX', '9');
    for (let index = 0; index < 50; index++) say('SET', `other.${index}`, 't');
    expect(new Set((await listed('lock.*')).map((key) => key.keyBytes)).size).toBe(2000);
    expect(await listed('lock.*', 'endless')).toEqual([]);
    expect(await listed('*', 'endless')).toHaveLength(50);
  });

  it('of keys without a TTL does not read the others, so that their idle time is kept', async () => {
    const say = open();
    say('SET', 'lock.a', 't', 'EX', '100');
    clock.advance(10_000);
    await listed('lock.*', 'endless');
    expect(say('OBJECT', 'IDLETIME', 'lock.a')).toBe(10);
    await listed('lock.*');
    expect(say('OBJECT', 'IDLETIME', 'lock.a')).toBe(0);
  });
});
