import { beforeEach, describe, expect, it } from 'vitest';
import { startWire, type Wire, type WireClient } from '../../../test/wire-dialogue.ts';

let wire: Wire;
let listener: WireClient;
let sender: WireClient;

beforeEach(() => {
  wire = startWire();
  listener = wire.connect();
  sender = wire.connect();
});

describe('subscribing', () => {
  it('confirms every name, repeated ones too, with the number of channels and patterns', () => {
    expect(listener.say('SUBSCRIBE a b a')).toBe(
      '*3 $9 subscribe $1 a :1 *3 $9 subscribe $1 b :2 *3 $9 subscribe $1 a :2',
    );
    expect(listener.say('PSUBSCRIBE p*')).toBe('*3 $10 psubscribe $2 p* :3');
    expect(listener.say('SSUBSCRIBE s')).toBe('*3 $10 ssubscribe $1 s :1');
  });

  it('ends by name, or for all', () => {
    listener.say('SUBSCRIBE a b');
    listener.say('PSUBSCRIBE p*');
    listener.say('SSUBSCRIBE s');
    expect(listener.say('UNSUBSCRIBE x a')).toBe(
      '*3 $11 unsubscribe $1 x :3 *3 $11 unsubscribe $1 a :2',
    );
    expect(listener.say('UNSUBSCRIBE')).toBe('*3 $11 unsubscribe $1 b :1');
    expect(listener.say('PUNSUBSCRIBE')).toBe('*3 $12 punsubscribe $2 p* :0');
    expect(listener.say('SUNSUBSCRIBE s')).toBe('*3 $12 sunsubscribe $1 s :0');
    expect(listener.say('PING')).toBe('+PONG');
  });

  it('answers with nothing where nothing was subscribed', () => {
    expect(listener.say('UNSUBSCRIBE')).toBe('*3 $11 unsubscribe $-1 :0');
    expect(listener.say('PUNSUBSCRIBE')).toBe('*3 $12 punsubscribe $-1 :0');
    expect(listener.say('SUNSUBSCRIBE')).toBe('*3 $12 sunsubscribe $-1 :0');
    listener.say('HELLO 3');
    expect(listener.say('UNSUBSCRIBE')).toBe('>3 $11 unsubscribe _ :0');
  });

  it('works inside MULTI, except for shards', () => {
    for (const command of ['MULTI', 'SUBSCRIBE a b', 'SSUBSCRIBE x', 'PING']) listener.say(command);
    expect(listener.say('EXEC')).toBe(
      "*3 *3 $9 subscribe $1 a :1 *3 $9 subscribe $1 b :2 -ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client *2 $4 pong $0",
    );
  });

  it('ends with the session', () => {
    listener.say('SUBSCRIBE a');
    listener.say('PSUBSCRIBE *');
    listener.session.close();
    expect(sender.say('PUBLISH a hi')).toBe(':0');
    expect(sender.say('PUBSUB CHANNELS')).toBe('*0');
  });
});

describe('a subscribed client', () => {
  it('may do little in the older protocol', () => {
    listener.say('SUBSCRIBE a');
    expect(listener.say('GET x')).toBe(
      "-ERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context",
    );
    expect(listener.say('PING')).toBe('*2 $4 pong $0');
    expect(listener.say('PING x')).toBe('*2 $4 pong $1 x');
    expect(listener.say('RESET')).toBe('+RESET');
    expect(listener.say('GET x')).toBe('$-1');
  });

  it('may do everything in the newer one', () => {
    listener.say('HELLO 3');
    expect(listener.say('SUBSCRIBE a')).toBe('>3 $9 subscribe $1 a :1');
    expect(listener.say('PING')).toBe('+PONG');
    expect(listener.say('PUBLISH a hi')).toBe('>3 $7 message $1 a $2 hi :1');
  });
});

describe('messages', () => {
  it('reach the channel first, then patterns', () => {
    listener.say('SUBSCRIBE news');
    listener.say('PSUBSCRIBE n* x*');
    expect(sender.say('PUBLISH news hi')).toBe(':2');
    expect(listener.hears()).toBe('*3 $7 message $4 news $2 hi *4 $8 pmessage $2 n* $4 news $2 hi');
  });

  it('of shard channels are apart', () => {
    listener.say('SSUBSCRIBE s');
    expect(sender.say('PUBLISH s hi')).toBe(':0');
    expect(sender.say('SPUBLISH s hi')).toBe(':1');
    expect(listener.hears()).toBe('*3 $8 smessage $1 s $2 hi');
  });

  it('leave when the transaction is over', () => {
    listener.say('SUBSCRIBE a');
    for (const command of ['MULTI', 'PUBLISH a 1', 'PUBLISH a 2']) sender.say(command);
    expect(listener.hears()).toBe('');
    expect(sender.say('EXEC')).toBe('*2 :1 :1');
    expect(listener.hears()).toBe('*3 $7 message $1 a $1 1 *3 $7 message $1 a $1 2');
  });

  it('do not reach a client that was ended meanwhile', () => {
    listener.say('SUBSCRIBE a');
    for (const command of ['MULTI', 'PUBLISH a 1', 'CLIENT KILL ID 1', 'EXEC']) sender.say(command);
    expect(listener.hears()).toBe('');
  });

  it('of an undone script are taken back', () => {
    listener.say('SUBSCRIBE a');
    const { pubSub } = wire.engine;
    pubSub.publish('a', 'kept');
    const mark = pubSub.mark();
    pubSub.publish('a', 'lost');
    pubSub.forgetSince(mark);
    pubSub.deliver();
    expect(listener.hears()).toBe('*3 $7 message $1 a $4 kept');
  });
});

it('PUBSUB tells who listens', () => {
  listener.say('SUBSCRIBE a b');
  listener.say('PSUBSCRIBE p* q*');
  listener.say('SSUBSCRIBE s');
  const dialogue = [
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
  for (const [command, reply] of dialogue) expect(sender.say(command), command).toBe(reply);
  expect(sender.say('PUBSUB HELP')).toContain('+NUMSUB [channel [channel ...]]');
});

it('keyspace events go to the channels of the key and of the event', () => {
  sender.say('CONFIG SET notify-keyspace-events KEA');
  listener.say('PSUBSCRIBE __key*');
  sender.say('SET k 1');
  expect(listener.hears()).toBe(
    '*4 $8 pmessage $6 __key* $16 __keyspace@0__:k $3 set *4 $8 pmessage $6 __key* $18 __keyevent@0__:set $1 k',
  );
});
