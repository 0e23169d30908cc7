import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Dialogue,
  expectReplies,
  type Speaker,
  startDialogue,
} from '../../../test/engine-dialogue.ts';

let client: Dialogue;
let other: Speaker;

beforeEach(() => {
  client = startDialogue();
  other = client.other();
});

describe('a transaction', () => {
  it('queues and runs as one', () => {
    expectReplies(client, [
      ['MULTI', '+OK'],
      ['SETNX k 1', '+QUEUED'],
      ['EXPIRE k 10', '+QUEUED'],
    ]);
    expect(other.say('EXISTS k')).toBe(0);
    expect(client.say('EXEC')).toEqual([1, 1]);
    expect(client.say('TTL k')).toBe(10);
  });

  it('goes on after a command that fails', () => {
    expectReplies(client, [
      ['SET s x', '+OK'],
      ['MULTI', '+OK'],
      ['INCR s', '+QUEUED'],
      ['SET t y', '+QUEUED'],
      ['EXEC', ['-ERR value is not an integer or out of range', '+OK']],
    ]);
  });

  it('is refused when a command could not be queued', () => {
    const refused = '-EXECABORT Transaction discarded because of previous errors.';
    expectReplies(client, [
      ['MULTI', '+OK'],
      ['SET k', "-ERR wrong number of arguments for 'set' command"],
      ['SET k v', '+QUEUED'],
      ['EXEC', refused],
      ['MULTI', '+OK'],
      ['NOSUCH a b', "-ERR unknown command 'NOSUCH', with args beginning with: 'a' 'b' "],
      ['EXEC', refused],
      ['EXISTS k', 0],
    ]);
  });

  it('is discarded', () => {
    expectReplies(client, [
      ['MULTI', '+OK'],
      ['SET k v', '+QUEUED'],
      ['DISCARD', '+OK'],
      ['EXISTS k', 0],
      ['EXEC', '-ERR EXEC without MULTI'],
      ['DISCARD', '-ERR DISCARD without MULTI'],
    ]);
  });

  it('is not nested', () => {
    expectReplies(client, [
      ['MULTI', '+OK'],
      ['MULTI', '-ERR MULTI calls can not be nested'],
      ['WATCH k', '-ERR WATCH inside MULTI is not allowed'],
      ['SET k v', '+QUEUED'],
      ['EXEC', ['+OK']],
    ]);
  });

  it('does not wait inside', () => {
    expectReplies(client, [
      ['MULTI', '+OK'],
      ['BLPOP nothing 0', '+QUEUED'],
      ['EXEC', ['*-1']],
    ]);
  });

  it('sees one time from start to end', () => {
    client.say('SET k v PX 1');
    client.say('MULTI');
    client.say('GET k');
    client.say('PTTL k');
    expect(client.say('EXEC')).toEqual(['v', 1]);
  });
});

describe('WATCH', () => {
  it.each([
    ['SET k other', 'another value'],
    ['DEL k', 'a deletion'],
    ['PEXPIRE k 100', 'a deadline'],
    ['FLUSHALL', 'a flush'],
    ['RENAME k l', 'a new name'],
    ['SWAPDB 0 1', 'another database'],
  ])('%s breaks it: %s', (command) => {
    client.say('SET k v');
    client.say('WATCH k');
    other.say(command);
    expectReplies(client, [
      ['MULTI', '+OK'],
      ['SET k mine', '+QUEUED'],
      ['EXEC', '*-1'],
    ]);
  });

  it('holds while others change other keys, or fail to change this one', () => {
    client.say('SET k v');
    client.say('WATCH k nothing');
    other.say('SETNX k other');
    other.say('SET l other');
    other.say('DEL nothing');
    client.say('MULTI');
    client.say('GET k');
    expect(client.say('EXEC')).toEqual(['v']);
  });

  it('sees a key end', () => {
    client.say('SET k v PX 100');
    client.say('WATCH k');
    client.clock.advance(100);
    client.say('MULTI');
    client.say('SET k mine');
    expect(client.say('EXEC')).toBe('*-1');
  });

  it('does not count what had ended before', () => {
    client.say('SET k v PX 100');
    client.clock.advance(100);
    client.say('WATCH k');
    client.say('MULTI');
    client.say('PING');
    expect(client.say('EXEC')).toEqual(['+PONG']);
  });

  it('is forgotten by UNWATCH, DISCARD and EXEC', () => {
    for (const forget of [['UNWATCH'], ['MULTI', 'DISCARD'], ['MULTI', 'EXEC']]) {
      client.say('WATCH k');
      for (const command of forget) client.say(command);
      other.say('SET k other');
      client.say('MULTI');
      expect(client.say('EXEC')).toEqual([]);
    }
  });
});
