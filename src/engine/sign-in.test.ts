import { beforeEach, describe, expect, it } from 'vitest';
import { startWire, type Wire, type WireClient } from '../../test/wire-dialogue.ts';
import { hostOf } from './sign-in.ts';

const WRONG = '-WRONGPASS invalid username-password pair or user is disabled.';

let wire: Wire;
let logged: string[];

beforeEach(() => {
  wire = startWire({ requirepass: 'secret' });
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
    if (client.say('AUTH wrong') === WRONG) continue;
    wire.clock.advance(1000);
    expect(client.hears()).toBe(WRONG);
  }
}

describe('after five wrong passwords from an address', () => {
  it('AUTH is evaluated after a delay that doubles from 10 ms to a second', () => {
    const client = connectFrom('10.1.1.1:1');
    fail(client, 5);
    for (const delayMs of [10, 20, 40, 80, 160, 320, 640, 1000, 1000]) {
      expect(client.say('AUTH wrong')).toBe('');
      wire.clock.advance(delayMs - 1);
      expect(client.hears()).toBe('');
      wire.clock.advance(1);
      expect(client.hears()).toBe(WRONG);
    }
  });

  it('the right password waits as long as a wrong one', () => {
    const client = connectFrom('10.1.1.1:1');
    fail(client, 6);
    expect(client.say('AUTH secret')).toBe('');
    wire.clock.advance(19);
    expect(client.session.authenticated).toBe(false);
    wire.clock.advance(1);
    expect(client.hears()).toBe('+OK');
    expect(client.say('PING')).toBe('+PONG');
  });

  it('HELLO with AUTH waits as a whole', () => {
    fail(connectFrom('10.1.1.1:1'), 5);
    const client = connectFrom('10.1.1.1:2');
    expect(client.say('HELLO 3 SETNAME me AUTH default secret')).toBe('');
    expect(client.session).toMatchObject({ name: '', protocol: 2 });
    wire.clock.advance(10);
    expect(client.hears()).toContain('proto :3');
    expect(client.say('HELLO 3')).toContain('proto :3');
  });

  it('other addresses and other commands do not wait', () => {
    const signedIn = connectFrom('10.1.1.1:9');
    signedIn.say('AUTH secret');
    fail(connectFrom('10.1.1.1:1'), 9);
    expect(connectFrom('10.1.1.2:1').say('AUTH secret')).toBe('+OK');
    expect(signedIn.say('SET k 1')).toBe('+OK');
  });

  it('a success does not end the delay, a minute without a failure does', () => {
    const client = connectFrom('10.1.1.1:1');
    fail(client, 5);
    client.say('AUTH secret');
    wire.clock.advance(10);
    expect(client.hears()).toBe('+OK');
    expect(client.say('AUTH secret')).toBe('');
    wire.clock.advance(60_000);
    expect(client.hears()).toBe('+OK');
    expect(client.say('AUTH wrong')).toBe(WRONG);
  });

  it('a client that leaves while it waits leaves no timer', () => {
    const client = connectFrom('10.1.1.1:1');
    fail(client, 5);
    client.say('AUTH secret');
    client.session.close();
    expect(wire.clock.pendingTimers).toBe(0);
    wire.clock.advance(10);
    expect(client.hears()).toBe('');
  });

  it('CLIENT UNBLOCK does not end the wait', () => {
    const admin = connectFrom('10.1.1.2:1');
    admin.say('AUTH secret');
    const client = connectFrom('10.1.1.1:1');
    fail(client, 5);
    client.say('AUTH secret');
    expect(admin.say(`CLIENT UNBLOCK ${client.session.id}`)).toBe(':0');
    wire.clock.advance(10);
    expect(client.hears()).toBe('+OK');
  });

  it('refuses more than 64 requests that wait', () => {
    fail(connectFrom('10.1.1.1:1'), 5);
    const clients = Array.from({ length: 65 }, (_, at) => connectFrom(`10.1.1.1:${at}`));
    const replies = clients.map((client) => client.say('AUTH secret'));
    expect(replies.slice(0, 64)).toEqual(new Array(64).fill(''));
    expect(replies[64]).toBe('-ERR too many sign-ins from this address failed, try again later');
    wire.clock.advance(10);
    expect(clients[0]!.hears()).toBe('+OK');
    expect(clients[64]!.say('AUTH secret')).toBe('');
  });

  it('AUTH inside MULTI is evaluated at once', () => {
    const client = connectFrom('10.1.1.1:1');
    client.say('AUTH secret');
    fail(client, 5);
    client.say('MULTI');
    client.say('AUTH wrong');
    expect(client.say('EXEC')).toBe(`*1 ${WRONG}`);
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
    client.say('AUTH wrong');
  }
  expect(connectFrom('10.1.1.1:1').say('AUTH secret')).toBe('+OK');
});

it('takes no password of more than 1024 bytes', () => {
  const client = wire.connect();
  expect(client.say(['AUTH', 'a'.repeat(1025)])).toBe(WRONG);
  client.say('AUTH secret');
  expect(client.say(['CONFIG', 'SET', 'requirepass', 'a'.repeat(1025)])).toBe(
    "-ERR CONFIG SET failed (possibly related to argument 'requirepass') - argument must have at most 1024 bytes",
  );
  expect(client.say(['CONFIG', 'SET', 'requirepass', 'a'.repeat(1024)])).toBe('+OK');
  expect(wire.connect().say(['AUTH', 'a'.repeat(1024)])).toBe('+OK');
});

it('counts nothing while there is no password', () => {
  wire = startWire();
  const client = wire.connect();
  for (let count = 0; count < 10; count++) expect(client.say('AUTH me x')).toBe(WRONG);
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
