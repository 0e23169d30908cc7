import { beforeEach, describe, expect, it } from 'vitest';
import { startWireEngine, type WireClient, type WireEngine } from '../../../test/wire-client.ts';

let wire: WireEngine;
let listener: WireClient;
let sender: WireClient;

beforeEach(() => {
  wire = startWireEngine();
  listener = wire.connect();
  sender = wire.connect();
});

describe('subscribing', () => {
  it('returns a confirmation per name with the number of subscriptions', () => {
    expect(listener.send('SUBSCRIBE a b a')).toBe(
      '*3 $9 subscribe $1 a :1 *3 $9 subscribe $1 b :2 *3 $9 subscribe $1 a :2',
    );
    expect(listener.send('PSUBSCRIBE p*')).toBe('*3 $10 psubscribe $2 p* :3');
    expect(listener.send('SSUBSCRIBE s')).toBe('*3 $10 ssubscribe $1 s :1');
  });

  it('UNSUBSCRIBE ends subscriptions by name, or all', () => {
    listener.send('SUBSCRIBE a b');
    listener.send('PSUBSCRIBE p*');
    listener.send('SSUBSCRIBE s');
    expect(listener.send('UNSUBSCRIBE x a')).toBe(
      '*3 $11 unsubscribe $1 x :3 *3 $11 unsubscribe $1 a :2',
    );
    expect(listener.send('UNSUBSCRIBE')).toBe('*3 $11 unsubscribe $1 b :1');
    expect(listener.send('PUNSUBSCRIBE')).toBe('*3 $12 punsubscribe $2 p* :0');
    expect(listener.send('SUNSUBSCRIBE s')).toBe('*3 $12 sunsubscribe $1 s :0');
    expect(listener.send('PING')).toBe('+PONG');
  });

  it('UNSUBSCRIBE without subscriptions confirms a null name', () => {
    expect(listener.send('UNSUBSCRIBE')).toBe('*3 $11 unsubscribe $-1 :0');
    expect(listener.send('PUNSUBSCRIBE')).toBe('*3 $12 punsubscribe $-1 :0');
    expect(listener.send('SUNSUBSCRIBE')).toBe('*3 $12 sunsubscribe $-1 :0');
    listener.send('HELLO 3');
    expect(listener.send('UNSUBSCRIBE')).toBe('>3 $11 unsubscribe _ :0');
  });

  it('is allowed inside of MULTI, except for SSUBSCRIBE', () => {
    for (const command of ['MULTI', 'SUBSCRIBE a b', 'SSUBSCRIBE x', 'PING'])
      listener.send(command);
    expect(listener.send('EXEC')).toBe(
      "*3 *3 $9 subscribe $1 a :1 *3 $9 subscribe $1 b :2 -ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client *2 $4 pong $0",
    );
  });

  it('ends with the session', () => {
    listener.send('SUBSCRIBE a');
    listener.send('PSUBSCRIBE *');
    listener.session.close();
    expect(sender.send('PUBLISH a hi')).toBe(':0');
    expect(sender.send('PUBSUB CHANNELS')).toBe('*0');
  });
});

describe('a subscribed client', () => {
  it('may run only a few commands in RESP2', () => {
    listener.send('SUBSCRIBE a');
    expect(listener.send('GET x')).toBe(
      "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
    );
    expect(listener.send('PING')).toBe('*2 $4 pong $0');
    expect(listener.send('PING x')).toBe('*2 $4 pong $1 x');
    expect(listener.send('RESET')).toBe('+RESET');
    expect(listener.send('GET x')).toBe('$-1');
  });

  it('may run all commands in RESP3', () => {
    listener.send('HELLO 3');
    expect(listener.send('SUBSCRIBE a')).toBe('>3 $9 subscribe $1 a :1');
    expect(listener.send('PING')).toBe('+PONG');
    expect(listener.send('PUBLISH a hi')).toBe('>3 $7 message $1 a $2 hi :1');
  });
});

describe('messages', () => {
  it('reach subscribers of the channel first, then of patterns', () => {
    listener.send('SUBSCRIBE news');
    listener.send('PSUBSCRIBE n* x*');
    expect(sender.send('PUBLISH news hi')).toBe(':2');
    expect(listener.received()).toBe(
      '*3 $7 message $4 news $2 hi *4 $8 pmessage $2 n* $4 news $2 hi',
    );
  });

  it('of shard channels do not reach other channels', () => {
    listener.send('SSUBSCRIBE s');
    expect(sender.send('PUBLISH s hi')).toBe(':0');
    expect(sender.send('SPUBLISH s hi')).toBe(':1');
    expect(listener.received()).toBe('*3 $8 smessage $1 s $2 hi');
  });

  it('are delivered after the transaction', () => {
    listener.send('SUBSCRIBE a');
    for (const command of ['MULTI', 'PUBLISH a 1', 'PUBLISH a 2']) sender.send(command);
    expect(listener.received()).toBe('');
    expect(sender.send('EXEC')).toBe('*2 :1 :1');
    expect(listener.received()).toBe('*3 $7 message $1 a $1 1 *3 $7 message $1 a $1 2');
  });

  it('do not reach a client that was killed in the same transaction', () => {
    listener.send('SUBSCRIBE a');
    for (const command of ['MULTI', 'PUBLISH a 1', 'CLIENT KILL ID 1', 'EXEC'])
      sender.send(command);
    expect(listener.received()).toBe('');
  });

  it('of a script that is rolled back are dropped', () => {
    listener.send('SUBSCRIBE a');
    const { pubSub } = wire.engine;
    pubSub.publish('a', 'kept');
    const mark = pubSub.mark();
    pubSub.publish('a', 'lost');
    pubSub.forgetSince(mark);
    pubSub.deliver();
    expect(listener.received()).toBe('*3 $7 message $1 a $4 kept');
  });
});

it('PUBSUB returns channels and numbers of subscribers', () => {
  listener.send('SUBSCRIBE a b');
  listener.send('PSUBSCRIBE p* q*');
  listener.send('SSUBSCRIBE s');
  const client = [
    ['PUBSUB CHANNELS', '*2 $1 a $1 b'],
    ['PUBSUB CHANNELS b*', '*1 $1 b'],
    ['PUBSUB NUMSUB', '*0'],
    ['PUBSUB NUMSUB a x', '*4 $1 a :1 $1 x :0'],
    ['PUBSUB NUMPAT', ':2'],
    ['PUBSUB NUMPAT x', "-ERR wrong number of arguments for 'pubsub|numpat' command"],
    ['PUBSUB SHARDCHANNELS', '*1 $1 s'],
    ['PUBSUB SHARDNUMSUB s x', '*4 $1 s :1 $1 x :0'],
    ['PUBSUB', "-ERR wrong number of arguments for 'pubsub' command"],
    ['PUBSUB FOO', "-ERR unknown subcommand 'FOO'. Try PUBSUB HELP."],
  ] as const;
  for (const [command, reply] of client) expect(sender.send(command), command).toBe(reply);
  expect(sender.send('PUBSUB HELP')).toContain('+NUMSUB [channel [channel ...]]');
});

it('keyspace events are published to the channels of the key and of the event', () => {
  sender.send('CONFIG SET notify-keyspace-events KEA');
  listener.send('PSUBSCRIBE __key*');
  sender.send('SET k 1');
  expect(listener.received()).toBe(
    '*4 $8 pmessage $6 __key* $16 __keyspace@0__:k $3 set *4 $8 pmessage $6 __key* $18 __keyevent@0__:set $1 k',
  );
});
