import { beforeEach, describe, expect, it } from 'vitest';
import {
  type EngineClient,
  expectReplies,
  startEngineClient,
  type TestClient,
} from '../../../test/engine-client.ts';

const WRONG_TYPE = '-WRONGTYPE Operation against a key holding the wrong kind of value';
const SYNTAX_ERROR = '-ERR syntax error';
let client: EngineClient;
let waiter: TestClient;

beforeEach(() => {
  client = startEngineClient();
  waiter = client.other();
});

describe('pops', () => {
  it('LPOP and RPOP remove one or several elements', () => {
    expectReplies(client, [
      ['RPUSH l a b c d e', 5],
      ['LPOP l', 'a'],
      ['RPOP l', 'e'],
      ['LPOP l 0', []],
      ['LPOP l 2', ['b', 'c']],
      ['RPOP l 9', ['d']],
      ['EXISTS l', 0],
      ['LPOP l', null],
      ['RPOP l', null],
      ['LPOP l 2', '*-1'],
      ['LPOP l -1', '-ERR value is out of range, must be positive'],
      ['RPOP l x', '-ERR value is out of range, must be positive'],
      ['LPOP l 1 2', "-ERR wrong number of arguments for 'lpop' command"],
      ['RPOP l 1 2', "-ERR wrong number of arguments for 'rpop' command"],
    ]);
  });

  it('LMOVE moves an element, also within one list', () => {
    expectReplies(client, [
      ['RPUSH l a b c', 3],
      ['LMOVE l m LEFT RIGHT', 'a'],
      ['LMOVE l m right left', 'c'],
      ['RPOPLPUSH l m', 'b'],
      ['EXISTS l', 0],
      ['LRANGE m 0 -1', ['b', 'c', 'a']],
      ['RPOPLPUSH m m', 'a'],
      ['LMOVE m m LEFT RIGHT', 'a'],
      ['LRANGE m 0 -1', ['b', 'c', 'a']],
      ['RPUSH one a', 1],
      ['RPOPLPUSH one one', 'a'],
      ['LRANGE one 0 -1', ['a']],
      ['LMOVE nothing m LEFT LEFT', null],
      ['LMOVE m m UP LEFT', SYNTAX_ERROR],
      ['SET s 1', '+OK'],
      ['LMOVE m s LEFT LEFT', WRONG_TYPE],
      ['LMOVE s m LEFT LEFT', WRONG_TYPE],
      ['RPOPLPUSH nothing s', null],
      ['LLEN m', 3],
    ]);
  });

  it('LMPOP removes elements of the first list that is not empty', () => {
    expectReplies(client, [
      ['RPUSH l a b c', 3],
      ['LMPOP 2 nothing l LEFT', ['l', ['a']]],
      ['LMPOP 1 l RIGHT COUNT 5', ['l', ['c', 'b']]],
      ['LMPOP 1 l LEFT', '*-1'],
      ['LMPOP 0 l LEFT', '-ERR numkeys should be greater than 0'],
      ['LMPOP 2 l LEFT', SYNTAX_ERROR],
      ['LMPOP 1 l UP', SYNTAX_ERROR],
      ['LMPOP 1 l LEFT COUNT', SYNTAX_ERROR],
      ['LMPOP 1 l LEFT COUNT 0', '-ERR count should be greater than 0'],
      ['LMPOP 1 l LEFT COUNT 1 COUNT 1', SYNTAX_ERROR],
      ['SET s 1', '+OK'],
      ['LMPOP 2 s l LEFT', WRONG_TYPE],
    ]);
  });

  it('LMOVE publishes the push before the pop', () => {
    for (const command of ['RPUSH l a b', 'LMOVE l m LEFT RIGHT', 'RPOPLPUSH l m', 'LPOP m 2']) {
      client.send(command);
    }
    client.send('LPUSH m a');
    client.send('LMPOP 1 m RIGHT');
    expect(client.events()).toEqual([
      ...['rpush l', 'rpush m', 'lpop l', 'lpush m', 'rpop l', 'del l', 'lpop m', 'del m'],
      ...['lpush m', 'rpop m', 'del m'],
    ]);
  });
});

describe('blocking pops', () => {
  it('reply at once if a key has elements', () => {
    expectReplies(client, [
      ['RPUSH l a b c d e f', 6],
      ['BLPOP nothing l 0', ['l', 'a']],
      ['BRPOP nothing l 0', ['l', 'f']],
      ['BLMPOP 0 2 nothing l LEFT COUNT 2', ['l', ['b', 'c']]],
      ['BLMOVE l m LEFT LEFT 0', 'd'],
      ['BRPOPLPUSH l m 0', 'e'],
      ['LRANGE m 0 -1', ['e', 'd']],
    ]);
  });

  it.each([
    ['BLPOP k l 0', ['l', 'a']],
    ['BRPOP k l 0', ['l', 'b']],
    ['BLMPOP 0 2 k l RIGHT COUNT 3', ['l', ['b', 'a']]],
    ['BLMOVE l m RIGHT LEFT 0', 'b'],
    ['BRPOPLPUSH l m 0', 'b'],
  ])('block until there is an element: %s', (command, reply) => {
    expect(waiter.send(command)).toBe('blocked');
    client.send('SET unrelated 1');
    expect(waiter.lateReplies()).toEqual([]);
    expect(client.send('RPUSH l a b')).toBe(2);
    expect(waiter.lateReplies()).toEqual([reply]);
    expect(waiter.session.blockedCommand).toBeNull();
  });

  it.each([
    ['BLPOP k l 1.5', '*-1'],
    ['BRPOP k l 1.5', '*-1'],
    ['BLMPOP 1.5 1 l LEFT', '*-1'],
    ['BLMOVE l m LEFT LEFT 1.5', '*-1'],
    ['BRPOPLPUSH l m 1.5', '*-1'],
  ])('reply with null after the timeout: %s', (command, reply) => {
    expect(waiter.send(command)).toBe('blocked');
    client.clock.advance(1499);
    expect(waiter.lateReplies()).toEqual([]);
    client.clock.advance(1);
    expect(waiter.lateReplies()).toEqual([reply]);
    expect(client.send('RPUSH l a')).toBe(1);
    expect(client.send('LLEN l')).toBe(1);
  });

  it('are served in order of arrival, one element each', () => {
    const waiters = [waiter, client.other(), client.other()];
    for (const each of waiters) each.send('BLPOP l 0');
    client.send('RPUSH l a b');
    expect(waiters.map((each) => each.lateReplies())).toEqual([[['l', 'a']], [['l', 'b']], []]);
    client.send('RPUSH l c');
    expect(waiters[2]!.lateReplies()).toEqual([['l', 'c']]);
    expect(client.send('EXISTS l')).toBe(0);
  });

  it('are served after the whole transaction', () => {
    waiter.send('BLPOP l m 0');
    expectReplies(client, [
      ['MULTI', '+OK'],
      ['RPUSH m x', '+QUEUED'],
      ['RPUSH l a', '+QUEUED'],
      ['DEL m', '+QUEUED'],
      ['EXEC', [1, 1, 1]],
    ]);
    expect(waiter.lateReplies()).toEqual([['l', 'a']]);
  });

  it('do not block inside of a transaction', () => {
    client.send('MULTI');
    for (const command of ['BLPOP l 0', 'BLMPOP 0 1 l LEFT', 'BLMOVE l m LEFT LEFT 0']) {
      expect(client.send(command)).toBe('+QUEUED');
    }
    expect(client.send('BRPOPLPUSH l m 0')).toBe('+QUEUED');
    expect(client.send('EXEC')).toEqual(['*-1', '*-1', null, null]);
  });

  it('stay blocked when the key is created with another type', () => {
    waiter.send('BLPOP l 0');
    expectReplies(client, [
      ['SADD l a', 1],
      ['DEL l', 1],
      ['SET l a', '+OK'],
      ['DEL l', 1],
    ]);
    expect(waiter.lateReplies()).toEqual([]);
    client.send('RPUSH l b');
    expect(waiter.lateReplies()).toEqual([['l', 'b']]);
  });

  it('are served by RENAME and SORT STORE', () => {
    waiter.send('BLPOP l 0');
    client.send('RPUSH m a');
    client.send('RENAME m l');
    expect(waiter.lateReplies()).toEqual([['l', 'a']]);
    waiter.send('BLPOP l 0');
    client.send('SADD s 2 1');
    client.send('SORT s STORE l');
    expect(waiter.lateReplies()).toEqual([['l', '1']]);
  });

  it('pass an element from one blocked client to the next', () => {
    const last = client.other();
    waiter.send('BLMOVE l m LEFT RIGHT 0');
    last.send('BLPOP m 0');
    client.send('RPUSH l a');
    expect(waiter.lateReplies()).toEqual(['a']);
    expect(last.lateReplies()).toEqual([['m', 'a']]);
    expect(client.send('EXISTS l m')).toBe(0);
    expect(client.events()).toEqual([
      ...['rpush l', 'rpush m', 'lpop l', 'del l', 'lpop m', 'del m'],
    ]);
  });

  it('fail and remove nothing when the destination has another type', () => {
    const next = client.other();
    waiter.send('BLMOVE l s LEFT LEFT 0');
    next.send('BLPOP l 0');
    client.send('SET s 1');
    client.send('RPUSH l a');
    expect(waiter.lateReplies()).toEqual([WRONG_TYPE]);
    expect(next.lateReplies()).toEqual([['l', 'a']]);
  });

  it('check arguments and types before they block', () => {
    client.send('SET s 1');
    expectReplies(client, [
      ['BLPOP l x', '-ERR timeout is not a float or out of range'],
      ['BLPOP l -1', '-ERR timeout is negative'],
      ['BLPOP l s 0', WRONG_TYPE],
      ['BRPOP s 0', WRONG_TYPE],
      ['BLMOVE s l LEFT LEFT 0', WRONG_TYPE],
      ['BLMOVE l s LEFT UP x', SYNTAX_ERROR],
      ['BRPOPLPUSH s l 0', WRONG_TYPE],
      ['BRPOPLPUSH s l x', '-ERR timeout is not a float or out of range'],
      ['BLMPOP x 0 l LEFT', '-ERR numkeys should be greater than 0'],
      ['BLMPOP x 1 l LEFT', '-ERR timeout is not a float or out of range'],
      ['BLMPOP 0 1 s LEFT', WRONG_TYPE],
    ]);
  });

  it('are removed with their session', () => {
    waiter.send('BLPOP l 5');
    waiter.session.close();
    client.send('RPUSH l a');
    expect(client.send('LLEN l')).toBe(1);
    expect(client.clock.pendingTimers).toBe(0);
  });
});
