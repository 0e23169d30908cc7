import { beforeEach, describe, expect, it } from 'vitest';
import { startWireEngine, type WireClient, type WireEngine } from '../../test/wire-client.ts';
import { hostOf } from './sign-in.ts';

const WRONG = '-WRONGPASS invalid username-password pair or user is disabled.';

let wire: WireEngine;
let logged: string[];

beforeEach(() => {
  wire = startWireEngine({ requirepass: 'secret' });
  logged = [];
  wire.engine.log = (level, message) => logged.push(`${level} ${message}`);
});

function connectFrom(address: string): WireClient {
  const client = wire.connect();
  client.session.address = address;
  return client;
}

/** Fails `count` times and waits for each reply. */
function fail(client: WireClient, count: number): void {
  for (let left = count; left > 0; left--) {
    if (client.send('AUTH wrong') === WRONG) continue;
    wire.clock.advance(1000);
    expect(client.received()).toBe(WRONG);
  }
}

describe('after five wrong passwords from an address', () => {
  it('AUTH is evaluated after a delay that doubles from 10 ms to a second', () => {
    const client = connectFrom('10.1.1.1:1');
    fail(client, 5);
    for (const delayMs of [10, 20, 40, 80, 160, 320, 640, 1000, 1000]) {
      expect(client.send('AUTH wrong')).toBe('');
      wire.clock.advance(delayMs - 1);
      expect(client.received()).toBe('');
      wire.clock.advance(1);
      expect(client.received()).toBe(WRONG);
    }
  });

  it('the right password is delayed as long as a wrong one', () => {
    const client = connectFrom('10.1.1.1:1');
    fail(client, 6);
    expect(client.send('AUTH secret')).toBe('');
    wire.clock.advance(19);
    expect(client.session.authenticated).toBe(false);
    wire.clock.advance(1);
    expect(client.received()).toBe('+OK');
    expect(client.send('PING')).toBe('+PONG');
  });

  it('HELLO with AUTH is delayed as a whole', () => {
    fail(connectFrom('10.1.1.1:1'), 5);
    const client = connectFrom('10.1.1.1:2');
    expect(client.send('HELLO 3 SETNAME me AUTH default secret')).toBe('');
    expect(client.session).toMatchObject({ name: '', protocol: 2 });
    wire.clock.advance(10);
    expect(client.received()).toContain('proto :3');
    expect(client.send('HELLO 3')).toContain('proto :3');
  });

  it('other addresses and other commands are not delayed', () => {
    const signedIn = connectFrom('10.1.1.1:9');
    signedIn.send('AUTH secret');
    fail(connectFrom('10.1.1.1:1'), 9);
    expect(connectFrom('10.1.1.2:1').send('AUTH secret')).toBe('+OK');
    expect(signedIn.send('SET k 1')).toBe('+OK');
  });

  it('a success does not end the delay, a minute without a failure does', () => {
    const client = connectFrom('10.1.1.1:1');
    fail(client, 5);
    client.send('AUTH secret');
    wire.clock.advance(10);
    expect(client.received()).toBe('+OK');
    expect(client.send('AUTH secret')).toBe('');
    wire.clock.advance(60_000);
    expect(client.received()).toBe('+OK');
    expect(client.send('AUTH wrong')).toBe(WRONG);
  });

  it('a client that closes during the delay leaves no timer', () => {
    const client = connectFrom('10.1.1.1:1');
    fail(client, 5);
    client.send('AUTH secret');
    client.session.close();
    expect(wire.clock.pendingTimers).toBe(0);
    wire.clock.advance(10);
    expect(client.received()).toBe('');
  });

  it('CLIENT UNBLOCK does not end the delay', () => {
    const admin = connectFrom('10.1.1.2:1');
    admin.send('AUTH secret');
    const client = connectFrom('10.1.1.1:1');
    fail(client, 5);
    client.send('AUTH secret');
    expect(admin.send(`CLIENT UNBLOCK ${client.session.id}`)).toBe(':0');
    wire.clock.advance(10);
    expect(client.received()).toBe('+OK');
  });

  it('rejects more than 64 delayed requests', () => {
    fail(connectFrom('10.1.1.1:1'), 5);
    const clients = Array.from({ length: 65 }, (_, at) => connectFrom(`10.1.1.1:${at}`));
    const replies = clients.map((client) => client.send('AUTH secret'));
    expect(replies.slice(0, 64)).toEqual(new Array(64).fill(''));
    expect(replies[64]).toBe('-ERR too many sign-ins from this address failed, try again later');
    wire.clock.advance(10);
    expect(clients[0]!.received()).toBe('+OK');
    expect(clients[64]!.send('AUTH secret')).toBe('');
  });

  it('AUTH and HELLO inside MULTI are refused, right or wrong, while they would be delayed', () => {
    const client = connectFrom('10.1.1.1:1');
    const inMulti = (): string => {
      client.send('MULTI');
      client.send('AUTH wrong');
      client.send('AUTH secret');
      client.send('HELLO 2 AUTH default secret');
      return client.send('EXEC');
    };
    client.send('AUTH secret');
    fail(client, 4);
    expect(inMulti()).toMatch(new RegExp(`^\\*3 ${WRONG}( -ERR too many sign-ins .*){2}$`));
    wire.clock.advance(60_000);
    expect(inMulti()).toMatch(new RegExp(`^\\*3 ${WRONG} \\+OK`));
  });
});

it('logs failures once in ten seconds for each address, without the password', () => {
  fail(connectFrom('10.1.1.1:1'), 3);
  fail(connectFrom('10.1.1.2:1'), 1);
  expect(logged).toEqual([
    '3 failed sign-ins from 10.1.1.1: 1 (1 in all)',
    '3 failed sign-ins from 10.1.1.2: 1 (1 in all)',
  ]);
  wire.clock.advance(10_000);
  fail(connectFrom('10.1.1.1:1'), 1);
  expect(logged.slice(2)).toEqual(['3 failed sign-ins from 10.1.1.1: 3 (4 in all)']);
});

it('remembers the 4096 addresses that failed last', () => {
  fail(connectFrom('10.1.1.1:1'), 5);
  const client = wire.connect();
  for (let at = 0; at < 4096; at++) {
    client.session.address = `10.${2 + (at >> 8)}.0.${at & 255}:1`;
    client.send('AUTH wrong');
  }
  expect(connectFrom('10.1.1.1:1').send('AUTH secret')).toBe('+OK');
});

it('rejects a password of more than 1024 bytes', () => {
  const client = wire.connect();
  expect(client.send(['AUTH', 'a'.repeat(1025)])).toBe(WRONG);
  client.send('AUTH secret');
  expect(client.send(['CONFIG', 'SET', 'requirepass', 'a'.repeat(1025)])).toBe(
    "-ERR CONFIG SET failed (possibly related to argument 'requirepass') - argument must have at most 1024 bytes",
  );
  expect(client.send(['CONFIG', 'SET', 'requirepass', 'a'.repeat(1024)])).toBe('+OK');
  expect(wire.connect().send(['AUTH', 'a'.repeat(1024)])).toBe('+OK');
});

it('does not count failures when the server has no password', () => {
  wire = startWireEngine();
  const client = wire.connect();
  for (let count = 0; count < 10; count++) expect(client.send('AUTH me x')).toBe(WRONG);
});

it.each([
  ['10.0.0.1:6379', '10.0.0.1'],
  ['', ''],
  ['[::1]:6379', '0:0:0:0::/64'],
  ['[::ffff:10.0.0.1]:6379', '10.0.0.1'],
  ['[2001:db8:1:2:3:4:5:6]:1', '2001:db8:1:2::/64'],
  ['[2001:db8::6]:1', '2001:db8:0:0::/64'],
  ['[fe80::1:2:3:4:5]:1', 'fe80:0:0:1::/64'],
])('the host of %j is %j', (address, host) => {
  expect(hostOf(address)).toBe(host);
});
