import { describe, expect, it } from 'vitest';
import { startWire, type WireClient } from '../../../test/wire-dialogue.ts';

const HELLO_2 =
  '*14 $6 server $5 redis $7 version $6 7.0.15 $5 proto :2 $2 id :1 $4 mode $10 standalone $4 role $6 master $7 modules *0';
const HELLO_3 = HELLO_2.replace('*14', '%7').replace('proto :2', 'proto :3');
const WRONG_PASSWORD = '-WRONGPASS invalid username-password pair or user is disabled.';

function expectDialogue(
  client: WireClient,
  lines: readonly (readonly [command: string, reply: string])[],
): void {
  for (const [command, reply] of lines) expect(client.say(command), command).toBe(reply);
}

describe('without a password', () => {
  it('AUTH takes any for the default user, and no other user', () => {
    expectDialogue(startWire().connect(), [
      [
        'AUTH x',
        '-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?',
      ],
      ['AUTH default x', '+OK'],
      ['AUTH somebody x', WRONG_PASSWORD],
      ['AUTH a b c', '-ERR syntax error'],
    ]);
  });

  it('HELLO chooses the protocol', () => {
    expectDialogue(startWire().connect(), [
      ['HELLO', HELLO_2],
      ['HELLO 3', HELLO_3],
      ['HELLO', HELLO_3],
      ['HELLO 3 AUTH default x SETNAME me', HELLO_3],
      ['CLIENT GETNAME', '$2 me'],
      ['HELLO 2', HELLO_2],
      ['HELLO 4', '-NOPROTO unsupported protocol version'],
      ['HELLO abc', '-ERR Protocol version is not an integer or out of range'],
      ['HELLO 3 foo', "-ERR Syntax error in HELLO option 'foo'"],
      ['HELLO 3 AUTH x', "-ERR Syntax error in HELLO option 'AUTH'"],
      ['HELLO 3 SETNAME', "-ERR Syntax error in HELLO option 'SETNAME'"],
      ['GET x', '$-1'],
    ]);
  });

  it('HELLO keeps what it did before an error, as Redis does', () => {
    const client = startWire().connect();
    client.say('HELLO 3 SETNAME me foo');
    expect(client.session).toMatchObject({ name: 'me', protocol: 2 });
  });

  it('HELLO takes no name with spaces', () => {
    const client = startWire().connect();
    expect(client.say(['HELLO', '3', 'SETNAME', 'a b'])).toBe(
      '-ERR Client names cannot contain spaces, newlines or special characters.',
    );
    expect(client.session.protocol).toBe(2);
  });
});

describe('with a password', () => {
  it('nothing goes before signing in', () => {
    expectDialogue(startWire({ requirepass: 'secret' }).connect(), [
      ['PING', '-NOAUTH Authentication required.'],
      [
        'HELLO 3',
        '-NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time',
      ],
      ['AUTH wrong', WRONG_PASSWORD],
      ['AUTH secrets', WRONG_PASSWORD],
      ['AUTH somebody secret', WRONG_PASSWORD],
      ['HELLO 3 AUTH default wrong', WRONG_PASSWORD],
      ['PING', '-NOAUTH Authentication required.'],
      ['AUTH secret', '+OK'],
      ['PING', '+PONG'],
    ]);
  });

  it('both forms and HELLO sign in', () => {
    const wire = startWire({ requirepass: 'secret' });
    const client = wire.connect();
    expect(client.say('AUTH default secret')).toBe('+OK');
    expect(client.say('PING')).toBe('+PONG');
    expect(wire.connect().say('HELLO 2 AUTH default secret')).toContain('proto :2');
  });

  it('a failed attempt does not sign out', () => {
    const client = startWire({ requirepass: 'secret' }).connect();
    client.say('AUTH secret');
    expect(client.say('AUTH wrong')).toBe(WRONG_PASSWORD);
    expect(client.say('PING')).toBe('+PONG');
  });

  it('those who are connected stay when it is set, and all are free when it is removed', () => {
    const wire = startWire();
    const early = wire.connect();
    early.say('CONFIG SET requirepass secret');
    const late = wire.connect();
    expect(early.say('PING')).toBe('+PONG');
    expect(late.say('PING')).toBe('-NOAUTH Authentication required.');
    early.say(['CONFIG', 'SET', 'requirepass', '']);
    expect(late.say('PING')).toBe('+PONG');
  });
});

it('PING and ECHO answer', () => {
  expectDialogue(startWire().connect(), [
    ['PING', '+PONG'],
    ['PING x', '$1 x'],
    ['PING x y', "-ERR wrong number of arguments for 'ping' command"],
    ['ECHO hi', '$2 hi'],
  ]);
});

it('QUIT asks for the end of the connection, inside MULTI too', () => {
  const wire = startWire({ requirepass: 'secret' });
  const stranger = wire.connect();
  expect(stranger.session.closing).toBe(false);
  expect(stranger.say('QUIT 1 2')).toBe('+OK');
  expect(stranger.session.closing).toBe(true);
  const client = wire.connect();
  client.say('AUTH secret');
  client.say('MULTI');
  expect(client.say('QUIT')).toBe('+OK');
});

it('SELECT changes the database', () => {
  expectDialogue(startWire().connect(), [
    ['SET k 0', '+OK'],
    ['SELECT 15', '+OK'],
    ['GET k', '$-1'],
    ['SELECT 16', '-ERR DB index is out of range'],
    ['SELECT -1', '-ERR DB index is out of range'],
    ['SELECT abc', '-ERR value is not an integer or out of range'],
    [
      'SELECT 99999999999',
      '-ERR value is out of range, value must between -2147483648 and 2147483647',
    ],
    ['SELECT 0', '+OK'],
    ['GET k', '$1 0'],
  ]);
});

it('RESET brings back the first state', () => {
  const wire = startWire();
  const client = wire.connect();
  const { session } = client;
  for (const command of ['HELLO 3 SETNAME me', 'SELECT 3', 'SUBSCRIBE a', 'CLIENT REPLY OFF']) {
    client.say(command);
  }
  for (const command of ['CLIENT NO-TOUCH ON', 'WATCH k', 'MULTI', 'SET k 1']) client.say(command);
  wire.connect().say('CONFIG SET requirepass secret');
  expect(client.say('RESET')).toBe('+RESET');
  expect(session).toMatchObject({
    protocol: 2,
    name: '',
    queue: null,
    replies: 'on',
    noTouch: false,
    authenticated: false,
    subscriptionCount: 0,
  });
  expect(session.database.number).toBe(0);
  expect(session.watched.size).toBe(0);
  expect(client.say('RESET 1')).toBe("-ERR wrong number of arguments for 'reset' command");
});

it('RESET ends MONITOR', () => {
  const wire = startWire();
  const client = wire.connect();
  client.say('MONITOR');
  client.say('RESET');
  wire.connect().say('PING');
  expect(client.hears()).toBe('');
  expect(client.say('GET k')).toBe('$-1');
});
