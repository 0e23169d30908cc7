import { beforeEach, describe, expect, it } from 'vitest';
import { startWireEngine, type WireClient, type WireEngine } from '../../../test/wire-client.ts';

let wire: WireEngine;
let client: WireClient;

beforeEach(() => {
  wire = startWireEngine();
  client = wire.connect();
});

function expectReplies(lines: readonly (readonly [command: string, reply: string])[]): void {
  for (const [command, reply] of lines) expect(client.send(command), command).toBe(reply);
}

describe('CLIENT LIST', () => {
  it('returns one line per client with the fields of Redis', () => {
    client.send('CLIENT SETNAME me');
    wire.clock.advance(2500);
    expect(client.send('CLIENT INFO')).toMatch(
      / id=1 addr=10\.0\.0\.1:1 laddr=10\.0\.0\.9:6379 fd=0 name=me age=2 idle=0 flags=N db=0 sub=0 psub=0 ssub=0 multi=-1 qbuf=0 qbuf-free=0 argv-mem=0 multi-mem=0 rbs=0 rbp=0 obl=0 oll=0 omem=0 tot-mem=6144 events=r cmd=client\|info user=default redir=-1 resp=2 lib-name= lib-ver=$/,
    );
  });

  it('shows flags, database, protocol and library of other clients', () => {
    const states = [
      ['SUBSCRIBE a', 'flags=P db=0 sub=1'],
      ['MULTI', 'multi=0'],
      ['MONITOR', 'flags=O'],
      ['BLPOP nothing 0', 'flags=b'],
      ['HELLO 3', 'resp=3'],
      ['SELECT 4', 'db=4'],
      ['CLIENT NO-EVICT ON', 'flags=e'],
      ['CLIENT NO-TOUCH ON', 'flags=T'],
      ['CLIENT SETINFO LIB-NAME x', 'lib-name=x'],
      ['CLIENT SETINFO lib-ver 1.2', 'lib-ver=1.2'],
    ] as const;
    for (const [command, shown] of states) {
      const other = wire.connect();
      other.send(command);
      expect(client.send(`CLIENT LIST ID ${other.session.id}`), command).toContain(shown);
    }
  });

  it('filters by TYPE and ID', () => {
    const listener = wire.connect();
    listener.send('SUBSCRIBE a');
    const shown = (command: string) => client.send(command).match(/\bid=\d+/g) ?? [];
    expect(shown('CLIENT LIST')).toEqual(['id=1', 'id=2']);
    expect(shown('CLIENT LIST TYPE normal')).toEqual(['id=1']);
    expect(shown('CLIENT LIST TYPE PUBSUB')).toEqual(['id=2']);
    expect(shown('CLIENT LIST TYPE replica')).toEqual([]);
    expect(shown('CLIENT LIST ID 2 9 1')).toEqual(['id=2', 'id=1']);
  });

  it('returns verbatim text in RESP3', () => {
    client.send('HELLO 3');
    expect(client.send('CLIENT LIST')).toMatch(/^=\d+ txt:id=1 /);
  });

  it('rejects invalid arguments', () => {
    expectReplies([
      ['CLIENT LIST foo', '-ERR syntax error'],
      ['CLIENT LIST TYPE foo', "-ERR Unknown client type 'foo'"],
      ['CLIENT LIST TYPE normal x', '-ERR syntax error'],
      ['CLIENT LIST ID', '-ERR syntax error'],
      ['CLIENT LIST ID a', '-ERR Invalid client ID'],
      ['CLIENT LIST ID 0', '$0'],
    ]);
  });
});

describe('CLIENT KILL', () => {
  it('ends the client with the address', () => {
    const other = wire.connect();
    expect(client.send('CLIENT KILL 10.0.0.2:2')).toBe('+OK');
    expect(other.isClosed).toBe(true);
    expect(other.session.closed).toBe(true);
    expect(client.send('CLIENT KILL 10.0.0.2:2')).toBe('-ERR No such client');
  });

  it.each([
    ['ID 2', 1],
    ['ID 9', 0],
    ['TYPE pubsub', 1],
    ['TYPE master', 0],
    ['ADDR 10.0.0.3:3', 1],
    ['LADDR 10.0.0.9:6379', 2],
    ['USER default', 2],
    ['USER default SKIPME no', 3],
    ['TYPE normal ADDR 10.0.0.2:2', 0],
    ['SKIPME yes ID 1', 0],
    ['ID 1 SKIPME NO', 1],
  ])('%s ends %d', (filters, count) => {
    wire.connect().send('SUBSCRIBE a');
    wire.connect();
    expect(client.send(`CLIENT KILL ${filters}`)).toBe(`:${count}`);
  });

  it('ends the own client after the reply', () => {
    expect(client.send('CLIENT KILL ID 1 SKIPME no')).toBe(':1');
    expect(client.session).toMatchObject({ closing: true, closed: false });
    expect(client.isClosed).toBe(false);
  });

  it('ends a blocked client', () => {
    const other = wire.connect();
    other.send('BLPOP list 0');
    client.send('CLIENT KILL ID 2');
    client.send('RPUSH list x');
    expect(client.send('LLEN list')).toBe(':1');
  });

  it('rejects invalid arguments', () => {
    expectReplies([
      ['CLIENT KILL ID a', '-ERR client-id should be greater than 0'],
      ['CLIENT KILL ID 0', '-ERR client-id should be greater than 0'],
      ['CLIENT KILL TYPE foo', "-ERR Unknown client type 'foo'"],
      ['CLIENT KILL USER foo', "-ERR No such user 'foo'"],
      ['CLIENT KILL ID 9 SKIPME foo', '-ERR syntax error'],
      ['CLIENT KILL foo bar', '-ERR syntax error'],
      ['CLIENT KILL ID 1 USER', '-ERR syntax error'],
      ['CLIENT KILL ID', '-ERR No such client'],
      ['CLIENT KILL', "-ERR wrong number of arguments for 'client|kill' command"],
    ]);
  });
});

describe('CLIENT UNBLOCK', () => {
  it('replies with the timeout reply or an error to the blocked client', () => {
    const other = wire.connect();
    other.send('BLPOP list 0');
    expect(client.send('CLIENT UNBLOCK 2')).toBe(':1');
    expect(other.received()).toBe('*-1');
    other.send('BLPOP list 0');
    expect(client.send('CLIENT UNBLOCK 2 error')).toBe(':1');
    expect(other.received()).toBe('-UNBLOCKED client unblocked via CLIENT UNBLOCK');
    expect(client.send('CLIENT UNBLOCK 2')).toBe(':0');
  });

  it('rejects invalid arguments', () => {
    expectReplies([
      ['CLIENT UNBLOCK 99', ':0'],
      ['CLIENT UNBLOCK a', '-ERR value is not an integer or out of range'],
      ['CLIENT UNBLOCK a foo', '-ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR'],
      [
        'CLIENT UNBLOCK 9 TIMEOUT x',
        "-ERR unknown subcommand or wrong number of arguments for 'UNBLOCK'. Try CLIENT HELP.",
      ],
    ]);
  });
});

describe('CLIENT REPLY', () => {
  it('sets the reply mode of the session', () => {
    const states = [
      ['OFF', '', 'off'],
      ['SKIP', '', 'off'],
      ['ON', '+OK', 'on'],
      ['skip', '', 'skip-next'],
      ['foo', '-ERR syntax error', 'skip-next'],
    ] as const;
    for (const [word, reply, state] of states) {
      expect(client.send(`CLIENT REPLY ${word}`), word).toBe(reply);
      expect(client.session.replies, word).toBe(state);
    }
  });
});

it('CLIENT SETNAME rejects special characters and removes the name when it is empty', () => {
  expectReplies([
    ['CLIENT GETNAME', '$-1'],
    ['CLIENT SETNAME me', '+OK'],
    ['CLIENT GETNAME', '$2 me'],
    ['CLIENT SETNAME ', '+OK'],
    ['CLIENT GETNAME', '$-1'],
    [
      'CLIENT SETNAME caf\xe9',
      '-ERR Client names cannot contain spaces, newlines or special characters.',
    ],
    ['CLIENT SETINFO foo x', "-ERR Unrecognized option 'foo'"],
  ]);
});

it('CLIENT ID, GETREDIR, TRACKINGINFO and HELP reply, invalid options fail', () => {
  expectReplies([
    ['CLIENT ID', ':1'],
    ['CLIENT GETREDIR', ':-1'],
    ['CLIENT TRACKINGINFO', '*6 $5 flags *1 $3 off $8 redirect :-1 $8 prefixes *0'],
    ['CLIENT NO-EVICT x', '-ERR syntax error'],
    ['CLIENT NO-TOUCH x', '-ERR syntax error'],
    ['CLIENT', "-ERR wrong number of arguments for 'client' command"],
    ['CLIENT foo', "-ERR unknown subcommand 'foo'. Try CLIENT HELP."],
  ]);
  expect(client.send('CLIENT HELP')).toContain('+PAUSE timeout [WRITE|ALL]');
});

it('CLIENT NO-TOUCH keeps the idle time of keys that are read', () => {
  client.send('SET k 1');
  wire.clock.advance(10_000);
  client.send('CLIENT NO-TOUCH ON');
  client.send('GET k');
  expect(client.send('OBJECT IDLETIME k')).toBe(':10');
  client.send('CLIENT NO-TOUCH OFF');
  client.send('GET k');
  expect(client.send('OBJECT IDLETIME k')).toBe(':0');
});
