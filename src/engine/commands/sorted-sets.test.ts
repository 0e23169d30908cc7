import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { seededRandom, type VirtualClock, virtualClock } from '../../clock/index.ts';
import { DoubleReply, ErrorReply, type Reply, SimpleReply } from '../../resp/index.ts';
import type { Outcome } from '../command.ts';
import { createEngine, type Engine } from '../engine.ts';
import { execute } from '../execute.ts';
import type { Session } from '../session.ts';
import { sortedSets } from './sorted-sets.ts';

let clock: VirtualClock;
let engine: Engine;
let session: Session;
const exercised = new Set<string>();

beforeEach(() => {
  clock = virtualClock();
  engine = createEngine({ clock, random: seededRandom(1) });
  session = engine.session();
});
afterEach(() => engine.close());

/** Converts a reply to a short form: errors begin with `-`, doubles with `,`, and a null array is `*-1`. */
function plain(reply: Outcome): unknown {
  if (typeof reply === 'symbol') return 'blocked';
  if (Array.isArray(reply)) return reply.map(plain);
  if (reply instanceof ErrorReply) return `-${reply.message}`;
  if (reply instanceof DoubleReply) return session.protocol === 3 ? `,${reply.text}` : reply.text;
  if (reply instanceof SimpleReply) return `+${reply.text}`;
  if (reply !== null && typeof reply === 'object' && 'kind' in reply) return '*-1';
  return reply;
}

/** Runs one line of arguments; `""` is an empty argument. */
function send(line: string, by = session): unknown {
  const argv = line.split(' ').map((word) => (word === '""' ? '' : word));
  exercised.add(argv[0]!.toUpperCase());
  return plain(execute(by, argv));
}

type Line = readonly [line: string, reply: unknown];
function expectReplies(lines: readonly Line[]): void {
  for (const [line, reply] of lines) expect([line, send(line)]).toEqual([line, reply]);
}

const WRONG_TYPE = '-WRONGTYPE Operation against a key holding the wrong kind of value';
const SYNTAX = '-ERR syntax error';
const NOT_AN_INTEGER = '-ERR value is not an integer or out of range';
const NOT_A_FLOAT = '-ERR value is not a valid float';

describe('members and scores', () => {
  test('ZADD adds and changes members by its options', () => {
    expectReplies([
      ['ZADD k 1 a 2 b', 2],
      ['ZADD k 5 a 3 c', 1],
      ['ZADD k CH 6 a 3 c 4 d', 2],
      ['ZADD k NX 9 a 9 e', 1],
      ['ZADD k XX 7 a 7 f', 0],
      ['ZADD k XX CH 8 a', 1],
      ['ZADD k GT CH 7 a 9 a', 1],
      ['ZADD k LT CH 10 a 1 a', 1],
      ['ZADD k GT 1 new', 1],
      ['ZADD k INCR 0.5 a', '1.5'],
      ['ZADD k NX INCR 1 a', null],
      ['ZADD k XX INCR 1 nobody', null],
      ['ZADD k GT INCR -1 a', null],
      ['ZADD k GT INCR 1 a', '2.5'],
      ['ZADD none XX 1 a', 0],
      ['ZADD none XX INCR 1 a', null],
      ['EXISTS none', 0],
      [
        'ZRANGE k 0 -1 WITHSCORES',
        ['new', '1', 'b', '2', 'a', '2.5', 'c', '3', 'd', '4', 'e', '9'],
      ],
    ]);
  });

  test('ZADD with invalid arguments changes nothing', () => {
    expectReplies([
      ['ZADD k 1', "-ERR wrong number of arguments for 'zadd' command"],
      ['ZADD k 1 a 2', SYNTAX],
      ['ZADD k NX CH', SYNTAX],
      ['ZADD k NX XX 1 a', '-ERR XX and NX options at the same time are not compatible'],
      ['ZADD k GT LT 1 a', '-ERR GT, LT, and/or NX options at the same time are not compatible'],
      ['ZADD k GT NX 1 a', '-ERR GT, LT, and/or NX options at the same time are not compatible'],
      ['ZADD k INCR 1 a 2 b', '-ERR INCR option supports a single increment-element pair'],
      ['ZADD k 1 a x b', NOT_A_FLOAT],
      ['ZADD k nan a', NOT_A_FLOAT],
      ['ZADD k "" a', NOT_A_FLOAT],
      ['EXISTS k', 0],
      ['SET s v', '+OK'],
      ['ZADD s 1 a', WRONG_TYPE],
      ['ZADD s x a', NOT_A_FLOAT],
    ]);
  });

  test('ZINCRBY', () => {
    expectReplies([
      ['ZINCRBY k 1.5 a', '1.5'],
      ['ZINCRBY k -0.25 a', '1.25'],
      ['ZINCRBY k inf a', 'inf'],
      ['ZINCRBY k -inf a', '-ERR resulting score is not a number (NaN)'],
      ['ZSCORE k a', 'inf'],
      ['ZINCRBY k x a', NOT_A_FLOAT],
      ['ZINCRBY k CH 1', SYNTAX],
    ]);
  });

  test('ZSCORE, ZMSCORE, ZCARD', () => {
    expectReplies([
      ['ZADD k 0.1 a -inf b 1e20 c 3 d', 4],
      ['ZSCORE k a', '0.10000000000000001'],
      ['ZSCORE k x', null],
      ['ZSCORE none a', null],
      ['ZMSCORE k a x b c d', ['0.10000000000000001', null, '-inf', '1e+20', '3']],
      ['ZMSCORE none a b', [null, null]],
      ['ZCARD k', 4],
      ['ZCARD none', 0],
      ['SET s v', '+OK'],
      ['ZCARD s', WRONG_TYPE],
      ['ZMSCORE s a', WRONG_TYPE],
    ]);
  });

  test('ZRANK and ZREVRANK', () => {
    expectReplies([
      ['ZADD k 1 a 1 b 2 c', 3],
      ['ZRANK k a', 0],
      ['ZRANK k c', 2],
      ['ZREVRANK k a', 2],
      ['ZREVRANK k c', 0],
      ['ZRANK k x', null],
      ['ZREVRANK none x', null],
    ]);
  });

  test('ZREM deletes the key with its last member', () => {
    expectReplies([
      ['ZADD k 1 a 2 b 3 c', 3],
      ['ZREM k a x a', 1],
      ['ZREM k b c', 2],
      ['EXISTS k', 0],
      ['ZREM k b', 0],
    ]);
  });

  test('ZRANDMEMBER', () => {
    expectReplies([
      ['ZADD k 1 a 2 b 3 c', 3],
      ['ZRANDMEMBER none', null],
      ['ZRANDMEMBER none 3', []],
      ['ZRANDMEMBER k 0', []],
      ['ZRANDMEMBER k 5 WITHSCORES', ['c', '3', 'b', '2', 'a', '1']],
      ['ZRANDMEMBER k x', NOT_AN_INTEGER],
      ['ZRANDMEMBER k 1 x', SYNTAX],
      ['ZRANDMEMBER k 1 WITHSCORES x', SYNTAX],
      ['ZRANDMEMBER k 9223372036854775807 WITHSCORES', '-ERR value is out of range'],
    ]);
    expect(['a', 'b', 'c']).toContain(send('ZRANDMEMBER k'));
    const two = send('ZRANDMEMBER k 2') as string[];
    expect(new Set(two).size).toBe(2);
    const many = send('ZRANDMEMBER k -100 WITHSCORES') as string[];
    expect(many).toHaveLength(200);
    const pairs = new Set(
      many.flatMap((word, at) => (at % 2 === 0 ? `${word}${many[at + 1]}` : [])),
    );
    expect([...pairs].sort()).toEqual(['a1', 'b2', 'c3']);
  });

  test('ZSCAN returns a listpack in one step, a skiplist in several', () => {
    expectReplies([
      ['ZADD k 2 b 1 a 1e17 c', 3],
      ['ZSCAN k 0 COUNT 1', ['0', ['a', '1', 'b', '2', 'c', '100000000000000000']]],
      ['ZSCAN k 0 MATCH [bc]', ['0', ['b', '2', 'c', '100000000000000000']]],
      ['ZSCAN none 0', ['0', []]],
      ['ZSCAN none 0 x', ['0', []]],
      ['ZSCAN none x', '-ERR invalid cursor'],
      ['ZSCAN k 0 COUNT 0', SYNTAX],
      ['ZSCAN k 0 COUNT x', NOT_AN_INTEGER],
      ['ZSCAN k 0 TYPE zset', SYNTAX],
    ]);
    for (let at = 0; at < 200; at++) send(`ZADD big ${at} m${at}`);
    const met: string[] = [];
    let cursor = '0';
    let steps = 0;
    do {
      const [next, found] = send(`ZSCAN big ${cursor} COUNT 20`) as [string, string[]];
      met.push(...found);
      cursor = next;
      steps++;
    } while (cursor !== '0');
    expect(steps).toBe(10);
    expect(new Set(met.filter((_, at) => at % 2 === 0)).size).toBe(200);
    expect(met[met.indexOf('m17') + 1]).toBe('17');
  });
});

describe('ranges', () => {
  beforeEach(() => {
    send('ZADD k 1 a 2 b 2 c 3 d 4 e');
    send('ZADD lex 0 a 0 b 0 c 0 d');
  });

  test('ZRANGE and ZREVRANGE by rank', () => {
    expectReplies([
      ['ZRANGE k 0 -1', ['a', 'b', 'c', 'd', 'e']],
      ['ZRANGE k 1 2', ['b', 'c']],
      ['ZRANGE k -2 100', ['d', 'e']],
      ['ZRANGE k 3 1', []],
      ['ZRANGE k 0 1 REV', ['e', 'd']],
      ['ZREVRANGE k 0 1 WITHSCORES', ['e', '4', 'd', '3']],
      ['ZRANGE none 0 -1', []],
      ['ZRANGE k x 1', NOT_AN_INTEGER],
      ['ZRANGE k 0 1 BOTH', SYNTAX],
      ['ZREVRANGE k 0 1 REV', SYNTAX],
      [
        'ZRANGE k 0 1 LIMIT 0 1',
        '-ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX',
      ],
    ]);
  });

  test('by score', () => {
    expectReplies([
      ['ZRANGE k 2 3 BYSCORE', ['b', 'c', 'd']],
      ['ZRANGE k (2 +inf BYSCORE WITHSCORES', ['d', '3', 'e', '4']],
      ['ZRANGE k 3 2 BYSCORE REV', ['d', 'c', 'b']],
      ['ZRANGEBYSCORE k -inf (2', ['a']],
      ['ZRANGEBYSCORE k 1 4 LIMIT 1 2', ['b', 'c']],
      ['ZRANGEBYSCORE k 1 4 LIMIT 3 -1', ['d', 'e']],
      ['ZRANGEBYSCORE k 1 4 LIMIT -1 2', []],
      ['ZRANGEBYSCORE k 1 4 LIMIT 9 2', []],
      ['ZRANGEBYSCORE k 4 1', []],
      ['ZREVRANGEBYSCORE k 4 1 LIMIT 1 2', ['d', 'c']],
      ['ZREVRANGEBYSCORE k (4 (1 WITHSCORES', ['d', '3', 'c', '2', 'b', '2']],
      ['ZCOUNT k 2 3', 3],
      ['ZCOUNT k (2 (3', 0],
      ['ZCOUNT k 3 2', 0],
      ['ZCOUNT none 1 2', 0],
      ['ZCOUNT k x 2', '-ERR min or max is not a float'],
      ['ZRANGEBYSCORE k 1 nan', '-ERR min or max is not a float'],
      ['ZRANGEBYSCORE k "" 1e400', ['a', 'b', 'c', 'd', 'e']],
      ['ZRANGEBYSCORE k 1 4 LIMIT 1', SYNTAX],
      ['ZRANGEBYSCORE k 1 4 REV', SYNTAX],
    ]);
  });

  test('by member', () => {
    expectReplies([
      ['ZRANGE lex [b + BYLEX', ['b', 'c', 'd']],
      ['ZRANGEBYLEX lex - (c', ['a', 'b']],
      ['ZRANGEBYLEX lex - + LIMIT 1 2', ['b', 'c']],
      ['ZREVRANGEBYLEX lex + [b LIMIT 1 -1', ['c', 'b']],
      ['ZLEXCOUNT lex (a [d', 3],
      ['ZLEXCOUNT lex + -', 0],
      ['ZLEXCOUNT none - +', 0],
      ['ZLEXCOUNT lex a b', '-ERR min or max not valid string range item'],
      ['ZRANGEBYLEX lex -x +', '-ERR min or max not valid string range item'],
      [
        'ZRANGE lex - + BYLEX WITHSCORES',
        '-ERR syntax error, WITHSCORES not supported in combination with BYLEX',
      ],
    ]);
  });

  test('ZREMRANGEBYRANK, ZREMRANGEBYSCORE, ZREMRANGEBYLEX', () => {
    expectReplies([
      ['ZREMRANGEBYRANK k 0 1', 2],
      ['ZREMRANGEBYSCORE k (2 3', 1],
      ['ZRANGE k 0 -1', ['c', 'e']],
      ['ZREMRANGEBYSCORE k 9 9', 0],
      ['ZREMRANGEBYLEX lex [b [c', 2],
      ['ZRANGE lex 0 -1', ['a', 'd']],
      ['ZREMRANGEBYLEX lex - +', 2],
      ['EXISTS lex', 0],
      ['ZREMRANGEBYRANK none 0 1', 0],
      ['ZREMRANGEBYRANK none x 1', NOT_AN_INTEGER],
    ]);
  });

  test('ZRANGESTORE', () => {
    expectReplies([
      ['ZRANGESTORE to k 1 3', 3],
      ['ZRANGE to 0 -1 WITHSCORES', ['b', '2', 'c', '2', 'd', '3']],
      ['PEXPIRE to 1000', 1],
      ['ZRANGESTORE to k 4 (2 BYSCORE REV LIMIT 0 1', 1],
      ['ZRANGE to 0 -1', ['e']],
      ['PTTL to', -1],
      ['ZRANGESTORE to none 0 -1', 0],
      ['EXISTS to', 0],
      ['ZRANGESTORE to k 0 -1 WITHSCORES', SYNTAX],
      ['SET s v', '+OK'],
      ['ZRANGESTORE to s 0 -1', WRONG_TYPE],
      ['ZRANGESTORE s lex - (b BYLEX', 1],
      ['TYPE s', '+zset'],
    ]);
  });
});

describe('pops', () => {
  beforeEach(() => void send('ZADD k 1 a 2 b 3 c'));

  test('ZPOPMIN and ZPOPMAX', () => {
    expectReplies([
      ['ZPOPMIN k', ['a', '1']],
      ['ZPOPMAX k 5', ['c', '3', 'b', '2']],
      ['EXISTS k', 0],
      ['ZPOPMIN k', []],
      ['ZPOPMIN k 0', []],
      ['ZPOPMIN k x', '-ERR value is out of range, must be positive'],
      ['ZPOPMAX k -1', '-ERR value is out of range, must be positive'],
      ['ZPOPMAX k 1 2', SYNTAX],
    ]);
  });

  test('ZMPOP', () => {
    expectReplies([
      ['ZMPOP 2 none k MIN', ['k', [['a', '1']]]],
      [
        'ZMPOP 1 k MAX COUNT 9',
        [
          'k',
          [
            ['c', '3'],
            ['b', '2'],
          ],
        ],
      ],
      ['ZMPOP 1 k MIN', '*-1'],
      ['ZMPOP 0 k MIN', '-ERR numkeys should be greater than 0'],
      ['ZMPOP 2 k MIN', SYNTAX],
      ['ZMPOP 1 k MID', SYNTAX],
      ['ZMPOP 1 k MIN COUNT', SYNTAX],
      ['ZMPOP 1 k MIN COUNT 0', '-ERR count should be greater than 0'],
      ['ZMPOP 1 k MIN COUNT 1 COUNT 1', SYNTAX],
    ]);
  });

  test('BZPOPMIN, BZPOPMAX and BZMPOP reply at once if a key has members', () => {
    expectReplies([
      ['BZPOPMIN none k 0', ['k', 'a', '1']],
      ['BZPOPMAX k 0', ['k', 'c', '3']],
      ['BZMPOP 0 2 none k MIN COUNT 2', ['k', [['b', '2']]]],
      ['BZPOPMIN k x', '-ERR timeout is not a float or out of range'],
      ['BZPOPMIN k -1', '-ERR timeout is negative'],
      ['BZMPOP x 0 k MIN', '-ERR numkeys should be greater than 0'],
      ['BZMPOP x 1 k MIN', '-ERR timeout is not a float or out of range'],
      ['SET s v', '+OK'],
      ['BZPOPMIN s 0', WRONG_TYPE],
    ]);
  });
});

describe('blocking pops', () => {
  function client(): { session: Session; replies: unknown[] } {
    const replies: unknown[] = [];
    const resume = (reply: Reply): void => void replies.push(plain(reply));
    return { session: engine.session({ push() {}, resume, close() {} }), replies };
  }

  test('a new member goes to the client that has been blocked longest', () => {
    const [first, second] = [client(), client()];
    expect(send('BZPOPMIN none k 0', first.session)).toBe('blocked');
    expect(send('BZPOPMAX k 0', second.session)).toBe('blocked');
    send('ZADD k 1 a 2 b 3 c');
    expect(first.replies).toEqual([['k', 'a', '1']]);
    expect(second.replies).toEqual([['k', 'c', '3']]);
    expect(send('ZRANGE k 0 -1')).toEqual(['b']);
  });

  test('BZMPOP is served by ZUNIONSTORE and returns several members', () => {
    const blocked = client();
    send('ZADD from 1 a 2 b 3 c');
    expect(send('BZMPOP 0 2 x k MAX COUNT 2', blocked.session)).toBe('blocked');
    send('ZUNIONSTORE k 1 from');
    expect(blocked.replies).toEqual([
      [
        'k',
        [
          ['c', '3'],
          ['b', '2'],
        ],
      ],
    ]);
  });

  test('a key that is created and deleted in one transaction serves no client', () => {
    const blocked = client();
    send('BZPOPMIN k 0', blocked.session);
    for (const line of ['MULTI', 'ZADD k 1 a', 'DEL k', 'EXEC']) send(line);
    expect(blocked.replies).toEqual([]);
    for (const line of ['MULTI', 'ZADD k 2 b', 'ZADD k 1 a', 'EXEC']) send(line);
    expect(blocked.replies).toEqual([['k', 'a', '1']]);
  });

  test('a key of another type does not end the block', () => {
    const blocked = client();
    send('BZPOPMIN k 0', blocked.session);
    send('RPUSH k x');
    expect(blocked.replies).toEqual([]);
    send('DEL k');
    send('ZADD k 1 a');
    expect(blocked.replies).toEqual([['k', 'a', '1']]);
  });

  test('replies with null after the timeout', () => {
    const blocked = client();
    send('BZPOPMAX k 0.5', blocked.session);
    clock.advance(499);
    expect(blocked.replies).toEqual([]);
    clock.advance(1);
    expect(blocked.replies).toEqual(['*-1']);
    expect(clock.pendingTimers).toBe(0);
  });

  test('does not block in a transaction', () => {
    expectReplies([
      ['MULTI', '+OK'],
      ['BZPOPMIN k 0', '+QUEUED'],
      ['BZMPOP 0 1 k MIN', '+QUEUED'],
      ['EXEC', ['*-1', '*-1']],
    ]);
  });
});

describe('union, intersection and difference', () => {
  beforeEach(() => {
    send('ZADD x 1 a 2 b 3 c');
    send('ZADD y 10 b 20 c 30 d');
    send('SADD s a b');
  });

  test('ZUNION', () => {
    expectReplies([
      ['ZUNION 2 x y', ['a', 'b', 'c', 'd']],
      ['ZUNION 2 x y WITHSCORES', ['a', '1', 'b', '12', 'c', '23', 'd', '30']],
      ['ZUNION 2 x y WEIGHTS 2 0.5 WITHSCORES', ['a', '2', 'b', '9', 'd', '15', 'c', '16']],
      ['ZUNION 2 x y AGGREGATE MIN WITHSCORES', ['a', '1', 'b', '2', 'c', '3', 'd', '30']],
      ['ZUNION 2 x s AGGREGATE max WITHSCORES', ['a', '1', 'b', '2', 'c', '3']],
      ['ZUNION 2 x none', ['a', 'b', 'c']],
      ['ZUNION 1 none', []],
    ]);
  });

  test('ZINTER and ZINTERCARD', () => {
    expectReplies([
      ['ZINTER 2 x y WITHSCORES', ['b', '12', 'c', '23']],
      ['ZINTER 3 x y s WITHSCORES WEIGHTS 1 1 5', ['b', '17']],
      ['ZINTER 2 x x WITHSCORES', ['a', '2', 'b', '4', 'c', '6']],
      ['ZINTER 2 x none', []],
      ['ZINTERCARD 2 x y', 2],
      ['ZINTERCARD 2 x y LIMIT 1', 1],
      ['ZINTERCARD 2 x y LIMIT 0', 2],
      ['ZINTERCARD 2 x y LIMIT -1', "-ERR LIMIT can't be negative"],
      ['ZINTERCARD 2 x y WITHSCORES', SYNTAX],
    ]);
  });

  test('ZDIFF', () => {
    expectReplies([
      ['ZDIFF 2 x y WITHSCORES', ['a', '1']],
      ['ZDIFF 2 x s', ['c']],
      ['ZDIFF 2 s x WITHSCORES', []],
      ['ZDIFF 1 s WITHSCORES', ['a', '1', 'b', '1']],
      ['ZDIFF 2 x y WEIGHTS 1 1', SYNTAX],
    ]);
  });

  test('ZUNIONSTORE, ZINTERSTORE, ZDIFFSTORE', () => {
    expectReplies([
      ['ZUNIONSTORE to 2 x y', 4],
      ['PEXPIRE to 1000', 1],
      ['ZINTERSTORE to 2 x to AGGREGATE MIN', 3],
      ['PTTL to', -1],
      ['ZRANGE to 0 -1 WITHSCORES', ['a', '1', 'b', '2', 'c', '3']],
      ['ZDIFFSTORE to 2 to y', 1],
      ['ZRANGE to 0 -1', ['a']],
      ['ZINTERSTORE to 2 x none', 0],
      ['EXISTS to', 0],
      ['ZUNIONSTORE to 1 x WITHSCORES', SYNTAX],
    ]);
  });

  test('the sum of inf and -inf is 0', () => {
    expectReplies([
      ['ZADD p inf a', 1],
      ['ZADD n -inf a', 1],
      ['ZUNION 2 p n WITHSCORES', ['a', '0']],
      ['ZINTER 2 p n WITHSCORES', ['a', '0']],
      ['ZUNION 1 p WEIGHTS 0 WITHSCORES', ['a', '0']],
      ['ZINTER 2 n p WEIGHTS 1 0 AGGREGATE MAX WITHSCORES', ['a', '-inf']],
    ]);
  });

  test('errors in the order of Redis', () => {
    expectReplies([
      ['ZUNION 0 x', "-ERR at least 1 input key is needed for 'zunion' command"],
      ['ZDIFFSTORE to 0 x', "-ERR at least 1 input key is needed for 'zdiffstore' command"],
      ['ZINTER x x', NOT_AN_INTEGER],
      ['ZINTER 2 x', SYNTAX],
      ['ZUNION 1 x WEIGHTS', SYNTAX],
      ['ZUNION 1 x WEIGHTS a', '-ERR weight value is not a float'],
      ['ZUNION 1 x AGGREGATE avg', SYNTAX],
      ['SET str v', '+OK'],
      ['ZUNION 2 x str WEIGHTS a', WRONG_TYPE],
    ]);
  });
});

describe('RESP3', () => {
  beforeEach(() => {
    session.protocol = 3;
    send('ZADD k 1 a 2.5 b');
  });

  test('scores are doubles, with members in pairs', () => {
    expectReplies([
      ['ZSCORE k b', ',2.5'],
      ['ZADD k INCR 1 a', ',2'],
      ['ZINCRBY k -1 a', ',1'],
      ['ZMSCORE k a x', [',1', null]],
      ['ZRANGE k 0 -1', ['a', 'b']],
      [
        'ZRANGE k 0 -1 WITHSCORES',
        [
          ['a', ',1'],
          ['b', ',2.5'],
        ],
      ],
      ['ZREVRANGEBYSCORE k 9 0 WITHSCORES LIMIT 0 1', [['b', ',2.5']]],
      [
        'ZUNION 1 k WITHSCORES',
        [
          ['a', ',1'],
          ['b', ',2.5'],
        ],
      ],
      [
        'ZRANDMEMBER k 2 WITHSCORES',
        [
          ['b', ',2.5'],
          ['a', ',1'],
        ],
      ],
      ['ZSCAN k 0', ['0', ['a', '1', 'b', '2.5']]],
      ['ZMPOP 1 k MIN', ['k', [['a', ',1']]]],
      ['ZPOPMIN k 1', [['b', ',2.5']]],
      ['ZADD k 1 a 2 b', 2],
      ['ZPOPMAX k', ['b', ',2']],
      ['BZPOPMIN k 0', ['k', 'a', ',1']],
    ]);
  });
});

describe('keyspace events', () => {
  // The right column has the events of redis-server 7.0.15.
  test.each([
    ['ZADD k 9 z', ['zadd k']],
    ['ZADD k 1 a', []],
    ['ZADD k INCR 1 a', ['zincr k']],
    ['ZADD k INCR 0 a', []],
    ['ZINCRBY k 1 a', ['zincr k']],
    ['ZREM k a', ['zrem k']],
    ['ZREM k a b', ['zrem k', 'del k']],
    ['ZREM k x', []],
    ['ZREMRANGEBYRANK k 0 0', ['zremrangebyrank k']],
    ['ZREMRANGEBYSCORE k 0 9', ['zremrangebyscore k', 'del k']],
    ['ZREMRANGEBYLEX k - +', ['zremrangebylex k', 'del k']],
    ['ZPOPMIN k', ['zpopmin k']],
    ['ZPOPMAX k 2', ['zpopmax k', 'del k']],
    ['ZMPOP 1 k MAX', ['zpopmax k']],
    ['BZPOPMIN k 0', ['zpopmin k']],
    ['BZMPOP 0 1 k MAX', ['zpopmax k']],
    ['ZRANGESTORE to k 0 0', ['zrangestore to']],
    ['ZRANGESTORE k none 0 0', ['keymiss none', 'del k']],
    ['ZUNIONSTORE to 1 k', ['zunionstore to']],
    ['ZINTERSTORE to 1 k', ['zinterstore to']],
    ['ZDIFFSTORE to 1 k', ['zdiffstore to']],
    ['ZDIFFSTORE k 2 k k', ['del k']],
    ['ZSCORE none a', ['keymiss none']],
    ['ZADD none XX 1 a', []],
    ['ZPOPMIN none', []],
  ])('%s', (line, expected) => {
    engine.close();
    engine = createEngine({ clock, settings: { 'notify-keyspace-events': 'EAm' } });
    session = engine.session();
    send('ZADD k 1 a 2 b');
    const events: string[] = [];
    const push = (message: Reply): void => {
      const [, , channel, key] = (message as { items?: string[] }).items ?? (message as string[]);
      events.push(`${channel!.replace('__keyevent@0__:', '')} ${key}`);
    };
    execute(engine.session({ push, resume() {}, close() {} }), ['PSUBSCRIBE', '__keyevent@0__:*']);
    events.length = 0;
    send(line);
    expect(events).toEqual(expected);
  });

  test('only a command that changes the key breaks a watch', () => {
    const other = engine.session();
    send('ZADD k 1 a 2 b');
    for (const [line, outcome] of [
      ['ZADD k 1 a', ['+PONG']],
      ['ZADD k 2 a', '*-1'],
      ['ZREM k x', ['+PONG']],
      ['ZPOPMIN k', '*-1'],
    ] as const) {
      send('WATCH k');
      send(line, other);
      for (const word of ['MULTI', 'PING']) send(word);
      expect([line, send('EXEC')]).toEqual([line, outcome]);
    }
  });
});

test('every command of the group was tested', () => {
  expect(Object.keys(sortedSets).filter((name) => !exercised.has(name))).toEqual([]);
});
