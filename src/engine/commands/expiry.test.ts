import { beforeEach, describe, expect, it } from 'vitest';
import {
  type EngineClient,
  expectReplies,
  startEngineClient,
} from '../../../test/engine-client.ts';

let client: EngineClient;

beforeEach(() => {
  client = startEngineClient();
});

describe('a deadline', () => {
  it('is set and returned in seconds, milliseconds and Unix time', () => {
    expectReplies(client, [
      ['SET k v', '+OK'],
      ['TTL k', -1],
      ['TTL nothing', -2],
      ['PTTL nothing', -2],
      ['EXPIRETIME k', -1],
      ['EXPIRE k 100', 1],
      ['TTL k', 100],
      ['PEXPIRE k 1499', 1],
      ['TTL k', 1],
      ['PTTL k', 1499],
      ['EXPIREAT k 1767225700', 1],
      ['EXPIRETIME k', 1_767_225_700],
      ['PEXPIREAT k 1767225700500', 1],
      ['PEXPIRETIME k', 1_767_225_700_500],
      ['EXPIRETIME k', 1_767_225_701],
      ['PERSIST k', 1],
      ['PERSIST k', 0],
      ['TTL k', -1],
      ['EXPIRE nothing 1', 0],
    ]);
  });

  it('is set with NX, XX, GT and LT', () => {
    expectReplies(client, [
      ['SET k v', '+OK'],
      ['EXPIRE k 100 XX', 0],
      ['EXPIRE k 100 GT', 0],
      ['EXPIRE k 100 NX', 1],
      ['EXPIRE k 200 NX', 0],
      ['EXPIRE k 50 GT', 0],
      ['EXPIRE k 100 GT', 0],
      ['EXPIRE k 150 XX GT', 1],
      ['EXPIRE k 200 LT', 0],
      ['EXPIRE k 20 lt', 1],
      ['TTL k', 20],
      ['PERSIST k', 1],
      ['EXPIRE k 20 LT', 1],
      ['EXPIRE k 1 NX GT', '-ERR NX and XX, GT or LT options at the same time are not compatible'],
      ['EXPIRE k 1 GT LT', '-ERR GT and LT options at the same time are not compatible'],
      ['EXPIRE k 1 QQ', '-ERR Unsupported option QQ'],
      ['EXPIRE k x', '-ERR value is not an integer or out of range'],
      ['EXPIRE k 9223372036854775807', "-ERR invalid expire time in 'expire' command"],
    ]);
  });

  it('in the past deletes the key', () => {
    expectReplies(client, [
      ['SET k v', '+OK'],
      ['EXPIRE k -1', 1],
      ['EXISTS k', 0],
    ]);
    expect(client.events()).toEqual(['set k', 'del k']);
  });
});

describe('expiry', () => {
  it('happens exactly at the deadline', () => {
    client.send('SET k v PX 1000');
    client.clock.advance(999.9);
    expect(client.send('GET k')).toBe('v');
    client.clock.advance(0.1);
    expect(client.send('GET k')).toBe(null);
  });

  it('publishes the event at the deadline without an access to the key', () => {
    client.send('SET a v PX 1000');
    client.send('SET b v PX 500');
    client.send('SET c v PX 1500');
    client.events();
    client.clock.advance(499);
    expect(client.events()).toEqual([]);
    client.clock.advance(1);
    expect(client.events()).toEqual(['expired b']);
    client.clock.advance(1000);
    expect(client.events()).toEqual(['expired a', 'expired c']);
    expect(client.send('DBSIZE')).toBe(0);
  });

  it('does not depend on jumps of the wall clock', () => {
    client.send('SET a v PX 1000');
    client.send('SET b v PXAT 1767225602000');
    client.clock.jumpWall(3_600_000);
    expect(client.send('MGET a b')).toEqual(['v', 'v']);
    expect(client.send('PTTL a')).toBe(1000);
    client.clock.jumpWall(-7_200_000);
    expect(client.send('PTTL b')).toBe(2000);
    client.clock.advance(2000);
    expect(client.send('MGET a b')).toEqual([null, null]);
  });

  it('happens in time when a shorter deadline is set later', () => {
    client.send('SET long v PX 10000');
    client.send('SET short v PX 10');
    client.events();
    client.clock.advance(10);
    expect(client.events()).toEqual(['expired short']);
  });

  it('keeps a key with a deadline of a month', () => {
    client.send('SET k v PX 2592000000');
    client.clock.advance(2_591_999_999);
    expect(client.send('GET k')).toBe('v');
    client.clock.advance(1);
    expect(client.send('GET k')).toBe(null);
  });

  it('leaves no timer when the engine closes', () => {
    client.send('SET k v PX 1000');
    expect(client.clock.pendingTimers).toBe(1);
    client.engine.close();
    client.engine.close();
    expect(client.clock.pendingTimers).toBe(0);
  });
});
