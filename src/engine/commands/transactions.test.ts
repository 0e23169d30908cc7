import { beforeEach, describe, expect, it } from 'vitest';
import {
  type EngineClient,
  expectReplies,
  startEngineClient,
  type TestClient,
} from '../../../test/engine-client.ts';

let client: EngineClient;
let other: TestClient;

beforeEach(() => {
  client = startEngineClient();
  other = client.other();
});

describe('a transaction', () => {
  it('queues commands and runs them atomically', () => {
    expectReplies(client, [
      ['MULTI', '+OK'],
      ['SETNX k 1', '+QUEUED'],
      ['EXPIRE k 10', '+QUEUED'],
    ]);
    expect(other.send('EXISTS k')).toBe(0);
    expect(client.send('EXEC')).toEqual([1, 1]);
    expect(client.send('TTL k')).toBe(10);
  });

  it('continues after a failed command', () => {
    expectReplies(client, [
      ['SET s x', '+OK'],
      ['MULTI', '+OK'],
      ['INCR s', '+QUEUED'],
      ['SET t y', '+QUEUED'],
      ['EXEC', ['-ERR value is not an integer or out of range', '+OK']],
    ]);
  });

  it('fails when a command could not be queued', () => {
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

  it('is dropped by DISCARD', () => {
    expectReplies(client, [
      ['MULTI', '+OK'],
      ['SET k v', '+QUEUED'],
      ['DISCARD', '+OK'],
      ['EXISTS k', 0],
      ['EXEC', '-ERR EXEC without MULTI'],
      ['DISCARD', '-ERR DISCARD without MULTI'],
    ]);
  });

  it('cannot be nested', () => {
    expectReplies(client, [
      ['MULTI', '+OK'],
      ['MULTI', '-ERR MULTI calls can not be nested'],
      ['WATCH k', '-ERR WATCH inside MULTI is not allowed'],
      ['SET k v', '+QUEUED'],
      ['EXEC', ['+OK']],
    ]);
  });

  it('does not block', () => {
    expectReplies(client, [
      ['MULTI', '+OK'],
      ['BLPOP nothing 0', '+QUEUED'],
      ['EXEC', ['*-1']],
    ]);
  });

  it('has one time from start to end', () => {
    client.send('SET k v PX 1');
    client.send('MULTI');
    client.send('GET k');
    client.send('PTTL k');
    expect(client.send('EXEC')).toEqual(['v', 1]);
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
    client.send('SET k v');
    client.send('WATCH k');
    other.send(command);
    expectReplies(client, [
      ['MULTI', '+OK'],
      ['SET k mine', '+QUEUED'],
      ['EXEC', '*-1'],
    ]);
  });

  it('is not broken by changes of other keys, or by failed changes', () => {
    client.send('SET k v');
    client.send('WATCH k nothing');
    other.send('SETNX k other');
    other.send('SET l other');
    other.send('DEL nothing');
    client.send('MULTI');
    client.send('GET k');
    expect(client.send('EXEC')).toEqual(['v']);
  });

  it('is broken by the expiry of the key', () => {
    client.send('SET k v PX 100');
    client.send('WATCH k');
    client.clock.advance(100);
    client.send('MULTI');
    client.send('SET k mine');
    expect(client.send('EXEC')).toBe('*-1');
  });

  it('is not broken by an expiry before WATCH', () => {
    client.send('SET k v PX 100');
    client.clock.advance(100);
    client.send('WATCH k');
    client.send('MULTI');
    client.send('PING');
    expect(client.send('EXEC')).toEqual(['+PONG']);
  });

  it('is ended by UNWATCH, DISCARD and EXEC', () => {
    for (const forget of [['UNWATCH'], ['MULTI', 'DISCARD'], ['MULTI', 'EXEC']]) {
      client.send('WATCH k');
      for (const command of forget) client.send(command);
      other.send('SET k other');
      client.send('MULTI');
      expect(client.send('EXEC')).toEqual([]);
    }
  });
});
