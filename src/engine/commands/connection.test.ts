import { describe, expect, it } from 'vitest';
import { startWireEngine, type WireClient } from '../../../test/wire-client.ts';

const HELLO_2 =
  '*14 $6 server $5 redis $7 version $6 7.0.15 $5 proto :2 $2 id :1 $4 mode $10 standalone $4 role $6 master $7 modules *0';
const HELLO_3 = HELLO_2.replace('*14', '%7').replace('proto :2', 'proto :3');
const WRONG_PASSWORD = '-WRONGPASS invalid username-password pair or user is disabled.';

function expectReplies(
  client: WireClient,
  lines: readonly (readonly [command: string, reply: string])[],
): void {
  for (const [command, reply] of lines) expect(client.send(command), command).toBe(reply);
}

describe('without a password', () => {
  it('AUTH accepts any password for the default user, and no other user', () => {
    expectReplies(startWireEngine().connect(), [
      [
        'AUTH x',
        '-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?',
      ],
      ['AUTH default x', '+OK'],
      ['AUTH somebody x', WRONG_PASSWORD],
      ['AUTH a b c', '-ERR syntax error'],
    ]);
  });

  it('HELLO sets the protocol', () => {
    expectReplies(startWireEngine().connect(), [
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

  it('HELLO keeps the effect of options before an invalid one, as in Redis', () => {
    const client = startWireEngine().connect();
    client.send('HELLO 3 SETNAME me foo');
    expect(client.session).toMatchObject({ name: 'me', protocol: 2 });
  });

  it('HELLO rejects a name with spaces', () => {
    const client = startWireEngine().connect();
    expect(client.send(['HELLO', '3', 'SETNAME', 'a b'])).toBe(
      '-ERR Client names cannot contain spaces, newlines or special characters.',
    );
    expect(client.session.protocol).toBe(2);
  });
});

describe('with a password', () => {
  it('commands fail with NOAUTH before sign-in', () => {
    expectReplies(startWireEngine({ requirepass: 'secret' }).connect(), [
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

  it('AUTH password, AUTH user password and HELLO AUTH sign in', () => {
    const wire = startWireEngine({ requirepass: 'secret' });
    const client = wire.connect();
    expect(client.send('AUTH default secret')).toBe('+OK');
    expect(client.send('PING')).toBe('+PONG');
    expect(wire.connect().send('HELLO 2 AUTH default secret')).toContain('proto :2');
  });

  it('a wrong password does not sign out', () => {
    const client = startWireEngine({ requirepass: 'secret' }).connect();
    client.send('AUTH secret');
    expect(client.send('AUTH wrong')).toBe(WRONG_PASSWORD);
    expect(client.send('PING')).toBe('+PONG');
  });

  it('setting it keeps sessions signed in, removing it signs all in', () => {
    const wire = startWireEngine();
    const early = wire.connect();
    early.send('CONFIG SET requirepass secret');
    const late = wire.connect();
    expect(early.send('PING')).toBe('+PONG');
    expect(late.send('PING')).toBe('-NOAUTH Authentication required.');
    early.send(['CONFIG', 'SET', 'requirepass', '']);
    expect(late.send('PING')).toBe('+PONG');
  });
});

it('PING returns PONG and ECHO its argument', () => {
  expectReplies(startWireEngine().connect(), [
    ['PING', '+PONG'],
    ['PING x', '$1 x'],
    ['PING x y', "-ERR wrong number of arguments for 'ping' command"],
    ['ECHO hi', '$2 hi'],
  ]);
});

it('QUIT replies OK and closes, also inside of MULTI', () => {
  const wire = startWireEngine({ requirepass: 'secret' });
  const stranger = wire.connect();
  expect(stranger.session.closing).toBe(false);
  expect(stranger.send('QUIT 1 2')).toBe('+OK');
  expect(stranger.session.closing).toBe(true);
  const client = wire.connect();
  client.send('AUTH secret');
  client.send('MULTI');
  expect(client.send('QUIT')).toBe('+OK');
});

it('SELECT changes the database, and rejects an invalid index', () => {
  expectReplies(startWireEngine().connect(), [
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

it('RESET restores the state of a new connection', () => {
  const wire = startWireEngine();
  const client = wire.connect();
  const { session } = client;
  for (const command of ['HELLO 3 SETNAME me', 'SELECT 3', 'SUBSCRIBE a', 'CLIENT REPLY OFF']) {
    client.send(command);
  }
  for (const command of ['CLIENT NO-TOUCH ON', 'WATCH k', 'MULTI', 'SET k 1']) client.send(command);
  wire.connect().send('CONFIG SET requirepass secret');
  expect(client.send('RESET')).toBe('+RESET');
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
  expect(client.send('RESET 1')).toBe("-ERR wrong number of arguments for 'reset' command");
});

it('RESET ends MONITOR', () => {
  const wire = startWireEngine();
  const client = wire.connect();
  client.send('MONITOR');
  client.send('RESET');
  wire.connect().send('PING');
  expect(client.received()).toBe('');
  expect(client.send('GET k')).toBe('$-1');
});
