import { readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { everyCommand } from '../src/engine/commands/index.ts';
import { type Reply, SetReply, SimpleReply } from '../src/resp/index.ts';
import { ONLY_HERE } from './differential/exemptions.ts';
import type { Argv } from './differential/generators.ts';
import { Pair } from './differential/pair.ts';
import type { RawClient } from './differential/raw-client.ts';
import { show } from './differential/rules.ts';
import { type RunningServer, startHoldfast, startRealRedis } from './real-redis.ts';

/** Cases that random sequences cannot contain: they end connections, need time, or have random results. */

let redis: RunningServer;
let holdfast: RunningServer;
const pairs: Pair[] = [];

beforeAll(async () => {
  redis = await startRealRedis();
  holdfast = await startHoldfast();
});

afterAll(async () => {
  await holdfast.stop();
  await redis.stop();
});

let alice: Pair;
let bob: Pair;

beforeEach(async () => {
  alice = await enter();
  bob = await enter();
  await run(alice, 'CLIENT UNPAUSE', 'FLUSHALL');
});

afterEach(() => {
  for (const pair of pairs.splice(0)) pair.destroy();
});

async function enter(): Promise<Pair> {
  const pair = await Pair.connect({ redis: redis.port, ours: holdfast.port });
  pairs.push(pair);
  return pair;
}

/** Runs lines on both servers, and compares the replies. */
async function run(pair: Pair, ...lines: readonly string[]): Promise<Reply[]> {
  return pair.exchange(lines.map((line) => line.split(' ')));
}

/** The next frames of both servers, in order of arrival. */
async function framesOf(pair: Pair, replies: number): Promise<[string[], string[]]> {
  const redisFrames = await pair.redis.take(replies);
  const ourFrames = await pair.ours.take(replies);
  return [redisFrames.map(show), ourFrames.map(show)];
}

async function bothClosed(pair: Pair): Promise<void> {
  await pair.redis.closed();
  await pair.ours.closed();
}

describe('ends of connections', () => {
  it('QUIT replies, and commands after it have no reply', async () => {
    alice.send([['QUIT'], ['PING']]);
    await alice.compare([['QUIT']]);
    await bothClosed(alice);
    await expect(alice.redis.take(1)).rejects.toThrow('closed');
    await expect(alice.ours.take(1)).rejects.toThrow('closed');
  });

  it.each([
    ['CLIENT', 'KILL', 'ID', '<id of 0>'],
    ['CLIENT', 'KILL', 'ID', '<id of 0>', 'TYPE', 'normal'],
    ['CLIENT', 'KILL', 'ID', '<id of 0>', 'SKIPME', 'no'],
  ])('%s %s %s %s %s %s ends another client', async (...words) => {
    await alice.exchange([words.filter((word) => word !== undefined)], [bob]);
    await bothClosed(bob);
  });

  it('CLIENT KILL of the own client replies first', async () => {
    await alice.exchange([['CLIENT', 'KILL', 'ID', '<id of 0>', 'SKIPME', 'no']], [alice]);
    await bothClosed(alice);
  });

  it('CLIENT KILL does not end the own client by default', async () => {
    await alice.exchange([['CLIENT', 'KILL', 'ID', '<id of 0>'], ['PING']], [alice]);
  });

  it('CLIENT KILL ends a blocked client', async () => {
    bob.send([['PING'], ['BLPOP', 'l', '0']]);
    await bob.compare([['PING']]);
    await alice.exchange([['CLIENT', 'KILL', 'ID', '<id of 0>']], [bob]);
    await bothClosed(bob);
    await run(alice, 'RPUSH l a', 'LRANGE l 0 -1');
  });

  it('SHUTDOWN rejects invalid options', async () => {
    await run(alice, 'SHUTDOWN ABORT', 'SHUTDOWN nonsense', 'SHUTDOWN SAVE NOSAVE');
    await run(alice, 'MULTI', 'SHUTDOWN', 'EXEC');
  });

  it('commands before and after AUTH have the replies of Redis', async () => {
    await run(alice, 'CONFIG SET requirepass secret', 'GET a');
    const carol = await enter();
    await run(
      carol,
      'GET a',
      'PING',
      'MULTI',
      'NOTHING',
      'GET',
      'CLIENT ID',
      'HELLO',
      'HELLO 3',
      'RESET',
    );
    await run(
      carol,
      'AUTH',
      'AUTH wrong',
      'AUTH nobody secret',
      'AUTH default wrong',
      'AUTH a b c',
    );
    await run(
      carol,
      'HELLO 3 AUTH default wrong',
      'GET a',
      'AUTH secret',
      'GET a',
      'RESET',
      'GET a',
    );
    await run(carol, 'HELLO 3 AUTH default secret', 'GET a', 'CONFIG SET requirepass ');
  });
});

describe('CLIENT REPLY', () => {
  it('OFF drops replies until ON', async () => {
    alice.send([['CLIENT', 'REPLY', 'OFF'], ['SET', 'a', '1'], ['GET', 'a'], ['NOTHING']]);
    await run(alice, 'CLIENT REPLY ON', 'GET a');
  });

  it('SKIP drops the reply of the next command', async () => {
    alice.send([
      ['CLIENT', 'REPLY', 'SKIP'],
      ['SET', 'a', '1'],
    ]);
    await run(alice, 'GET a', 'CLIENT REPLY nonsense');
  });
});

describe('CLIENT PAUSE', () => {
  it('WRITE delays writes until UNPAUSE, in order', async () => {
    await run(alice, 'CLIENT PAUSE 100000 WRITE', 'GET a');
    bob.send([['PING'], ['SET', 'a', '1'], ['INCR', 'a']]);
    await bob.compare([['PING']]);
    await run(alice, 'GET a', 'CLIENT UNPAUSE');
    await bob.compare([
      ['SET', 'a', '1'],
      ['INCR', 'a'],
    ]);
    await run(alice, 'GET a', 'CLIENT PAUSE abc', 'CLIENT PAUSE 1 nonsense', 'CLIENT PAUSE -1');
  });

  it('WRITE delays EXEC with writes, and scripts', async () => {
    await run(alice, 'CLIENT PAUSE 100000 WRITE', 'MULTI', 'GET a', 'EXEC');
    bob.send([['MULTI'], ['SET', 'a', '1'], ['EXEC']]);
    await bob.compare([['MULTI']]);
    const carol = await enter();
    carol.send([['PING'], ['EVAL', "return redis.call('set','b','1')", '0']]);
    await carol.compare([['PING']]);
    await run(alice, 'EXISTS a b', 'CLIENT UNPAUSE');
    await bob.compare([['SET', 'a', '1'], ['EXEC']]);
    await carol.compare([['EVAL']]);
  });
});

describe('MONITOR', () => {
  it('shows the commands of other clients', async () => {
    await run(bob, 'MONITOR');
    await alice.exchange([
      ['SET', 'a', 'x "y"\r\n\0\xff\\'],
      ['SELECT', '2'],
      ['GET', 'a'],
      ['AUTH', 'secret'],
      ['CONFIG', 'SET', 'requirepass', ''],
      ['MULTI'],
      ['INCR', 'n'],
      ['EXEC'],
      ['EVAL', "return redis.call('get',KEYS[1])", '1', 'a'],
      ['NOTHING'],
      ['HELLO', '3', 'AUTH', 'default', 'secret'],
    ]);
    await run(alice, 'RESET', 'ECHO end');
    const redisLines = await linesUntil(bob.redis, /"ECHO" "end"/);
    expect(await linesUntil(bob.ours, /"ECHO" "end"/)).toEqual(redisLines);
    expect(redisLines.length).toBeGreaterThan(8);
  });
});

async function linesUntil(client: RawClient, last: RegExp): Promise<string[]> {
  const lines: string[] = [];
  do {
    const [frame] = await client.take(1);
    const { text } = frame as SimpleReply;
    lines.push(text.replace(/^\d+\.\d+ /, '').replace(/127\.0\.0\.1:\d+/, 'address'));
  } while (!last.test(lines.at(-1)!));
  return lines;
}

describe('time', () => {
  it('expires keys, publishes events and breaks watches', async () => {
    await run(alice, 'CONFIG SET notify-keyspace-events Ex');
    const watcher = await enter();
    await watcher.exchangeMessages([['SUBSCRIBE', '__keyevent@0__:expired']]);
    watcher.compareMessages();
    const keys = ['a', 'b', 'c', 'd'];
    await alice.exchange(keys.map((key, at) => ['SET', key, 'x', 'PX', `${5 + at * 20}`]));
    await run(bob, 'WATCH d', 'MULTI', 'PING');
    expect(await endedKeys(watcher.redis, keys.length)).toEqual(keys);
    expect(await endedKeys(watcher.ours, keys.length)).toEqual(keys);
    await run(alice, 'EXISTS a b c d', 'PTTL a', 'TTL a', 'DBSIZE', 'GET d');
    await run(bob, 'EXEC');
  });

  it.each(['2', '3'])('ends blocked commands, in RESP%s', async (protocol) => {
    await run(alice, `HELLO ${protocol}`);
    await run(alice, 'BLPOP l 0.01', 'BRPOP l m 0.01', 'BLMOVE l m LEFT RIGHT 0.01');
    await run(alice, 'BRPOPLPUSH l m 0.01', 'BLMPOP 0.01 1 l LEFT', 'BZMPOP 0.01 1 z MIN');
    await run(alice, 'BZPOPMIN z 0.01', 'BZPOPMAX z 0.001', 'WAIT 1 10', 'BLPOP l 1e-3');
  });
});

async function endedKeys(client: RawClient, count: number): Promise<Reply[]> {
  const keys: Reply[] = [];
  while (keys.length < count) keys.push(((await client.next()) as Reply[])[2]!);
  return keys.sort();
}

it('SWAPDB serves a client that is blocked on a key', async () => {
  await run(alice, 'SELECT 1', 'RPUSH l a b', 'SELECT 0');
  bob.send([['PING'], ['BLPOP', 'l', '0']]);
  await bob.compare([['PING']]);
  await run(alice, 'SWAPDB 0 1', 'LRANGE l 0 -1');
  await bob.compare([['BLPOP', 'l', '0']]);
});

describe('messages of the own commands', () => {
  it('come before the reply, in RESP3', async () => {
    await run(alice, 'HELLO 3');
    alice.send([['SUBSCRIBE', 'a'], ['PUBLISH', 'a', 'x'], ['PSUBSCRIBE', '*'], ['PING']]);
    const [redisFrames, ourFrames] = await framesOf(alice, 2);
    expect(ourFrames).toEqual(redisFrames);
  });

  it('SUBSCRIBE inside of MULTI sends its confirmation', async () => {
    alice.send([['MULTI'], ['SUBSCRIBE', 'a'], ['PING'], ['EXEC'], ['PING']]);
    const [redisFrames, ourFrames] = await framesOf(alice, 5);
    expect(ourFrames).toEqual(redisFrames);
  });
});

/** Numbers that overflow or underflow. In a random sequence a later SORT of Redis would fail. */
const EDGE_FLOATS = [
  ...['1e400', '-1e400', '1e-400', '5e-324', '-5e-324', '2.5e-324', '1e308', '1.8e308', '4.9e-324'],
  ...['1e4932', '1e5000', '1e-4950', '1e-5000', '0x1p1024', '0x1p-1074', '0x1p-1080', '0x.8p1'],
];

describe('floats that overflow or underflow', () => {
  it.each(EDGE_FLOATS)('%s', async (text) => {
    await run(alice, 'SET n 1', `INCRBYFLOAT n ${text}`, 'GET n', `HINCRBYFLOAT h f ${text}`);
    await run(alice, `ZADD z ${text} a`, `ZINCRBY z ${text} a`, 'ZSCORE z a', 'ZADD z 1 b');
    await run(alice, `ZRANGEBYSCORE z ${text} +inf WITHSCORES`, `ZCOUNT z (${text} inf`);
    await run(alice, `ZUNION 1 z WEIGHTS ${text} WITHSCORES`, 'RPUSH l a b', `BLPOP l ${text}`);
    await run(alice, `SET n ${text}`, 'INCRBYFLOAT n 1', 'GET n', 'DEL n', `INCRBYFLOAT n ${text}`);
  });
});

describe('SDIFFSTORE', () => {
  const integers = Array.from({ length: 513 }, (_, at) => at).join(' ');

  it.each([
    'small',
    'small small',
    'small small missing',
    'small tiny',
    'small tiny tiny',
    'small large',
    'small large large large',
    'missing missing',
    'first small',
  ])('of 513 integers without %s stores members in the same encoding', async (others) => {
    await run(alice, `SADD first ${integers}`, 'SADD small 1 2 3', 'SADD tiny 4');
    await run(alice, `SADD large ${integers} a`, 'SREM large 7 8');
    await run(alice, `SDIFFSTORE out first ${others}`, 'OBJECT ENCODING out');
    await run(alice, `SDIFFSTORE first first ${others}`, 'OBJECT ENCODING first');
  });
});

describe('scans', () => {
  const sizes = [0, 1, 3, 40, 700];
  const kinds: readonly [name: string, fill: (member: string) => Argv, scan: Argv][] = [
    ['SCAN', (member) => ['SET', member, 'x'], ['SCAN']],
    ['SSCAN', (member) => ['SADD', 't', member], ['SSCAN', 't']],
    ['HSCAN', (member) => ['HSET', 'h', member, member], ['HSCAN', 'h']],
    ['ZSCAN', (member) => ['ZADD', 'z', '1', member], ['ZSCAN', 'z']],
  ];

  for (const [name, fill, scan] of kinds) {
    it.each(sizes)(`${name} returns all %i elements`, async (size) => {
      const members = Array.from({ length: size }, (_, at) => `member:${at}`);
      await alice.exchange(members.map(fill));
      for (const options of [
        [],
        ['COUNT', '7'],
        ['MATCH', '*1*'],
        ['COUNT', '1000', 'MATCH', 'x'],
      ]) {
        const found = await scanAll(alice.redis, scan, options);
        expect(await scanAll(alice.ours, scan, options)).toEqual(found);
      }
      expect((await scanAll(alice.ours, scan, [])).length).toBe(
        size * (name.match(/[HZ]/) ? 2 : 1),
      );
    });
  }
});

async function scanAll(client: RawClient, scan: Argv, options: Argv): Promise<string[]> {
  const found: string[] = [];
  let cursor = '0';
  do {
    const [next, items] = (await client.request(...scan, cursor, ...options)) as [string, string[]];
    found.push(...items);
    cursor = next;
  } while (cursor !== '0');
  return found.sort();
}

describe('random members', () => {
  const MEMBERS = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];

  it.each(['-20', '-1', '0', '1', '3', '7', '20', ''])(
    'have the requested number, count %j',
    async (count) => {
      await run(
        alice,
        `SADD t ${MEMBERS.join(' ')}`,
        `HSET h ${MEMBERS.flatMap((m) => [m, m]).join(' ')}`,
      );
      await run(alice, `ZADD z ${MEMBERS.flatMap((m, at) => [at, m]).join(' ')}`);
      for (const [name, key] of [
        ['SRANDMEMBER', 't'],
        ['HRANDFIELD', 'h'],
        ['ZRANDMEMBER', 'z'],
      ] as const) {
        const argv = count === '' ? [name, key] : [name, key, count];
        for (const reply of await each(alice, ...argv)) expectChosen(reply, count);
      }
      if (Number(count) < 0) return;
      for (const client of [alice.redis, alice.ours]) {
        const popped = expectChosen(
          await client.request('SPOP', 't', ...(count === '' ? [] : [count])),
          count,
        );
        const left = (await client.request('SMEMBERS', 't')) as string[];
        expect([...popped, ...left].sort()).toEqual(MEMBERS);
      }
    },
  );

  it('RANDOMKEY returns every key after some calls', async () => {
    await run(alice, 'RANDOMKEY', 'MSET a 1 b 2 c 3');
    const seen = new Set<Reply>();
    while (seen.size < 3) seen.add(await alice.ours.request('RANDOMKEY'));
    expect([...seen].sort()).toEqual(['a', 'b', 'c']);
  });

  function expectChosen(reply: Reply, count: string): string[] {
    const chosen = (Array.isArray(reply) ? reply : [reply]) as string[];
    const wanted = count === '' ? 1 : Number(count);
    expect(chosen.length).toBe(wanted < 0 ? -wanted : Math.min(wanted, MEMBERS.length));
    expect(chosen.filter((member) => !MEMBERS.includes(member))).toEqual([]);
    if (wanted >= 0) expect(new Set(chosen).size).toBe(chosen.length);
    return chosen;
  }
});

async function each(pair: Pair, ...argv: Argv): Promise<Reply[]> {
  return [await pair.redis.request(...argv), await pair.ours.request(...argv)];
}

describe('docs/differences.md', () => {
  const page = readFileSync(new URL('../docs/differences.md', import.meta.url), 'utf8');
  const [, onlyHere = '', notHere = ''] = page.split(/^## (?:Only|Not) here$/m);
  const offered = new Set(everyCommand().map(({ name }) => name));

  it('names every command that Redis has and Holdfast has not, and no other', async () => {
    const names = words(await alice.redis.request('COMMAND', 'LIST'));
    const missing = names.filter((name) => !offered.has(name) && offersContainer(name));
    expect(commandsIn(notHere)).toEqual(missing);
  });

  it('names every command that only Holdfast has', () => {
    expect([...ONLY_HERE].filter((name) => !commandsIn(onlyHere).includes(name))).toEqual([]);
  });

  /** Subcommands of a missing container are not named. */
  function offersContainer(name: string): boolean {
    const [container = '', subcommand] = name.split('|');
    return subcommand === undefined || offered.has(container);
  }

  function commandsIn(section: string): string[] {
    const names = section.matchAll(/`([A-Z_.]+(?:-[A-Z]+)*(?: [A-Z_-]+)?)[^`]*`/g);
    return [...names].map(([, name]) => name!.toLowerCase().replace(' ', '|')).sort();
  }
});

function words(reply: Reply): string[] {
  const items = reply instanceof SetReply ? reply.members : (reply as readonly Reply[]);
  return items.map((item) => (item instanceof SimpleReply ? item.text : String(item))).sort();
}
