import { beforeEach, describe, expect, it } from 'vitest';
import { startWireEngine, type WireClient, type WireEngine } from '../../test/wire-client.ts';
import { seededRandom, virtualClock } from '../clock/index.ts';
import { ErrorReply, type Reply } from '../resp/index.ts';
import { BLOCKED, createEngine, execute, type Session } from './index.ts';

let wire: WireEngine;
let admin: WireClient;
let first: WireClient;
let second: WireClient;

beforeEach(() => {
  wire = startWireEngine();
  admin = wire.connect();
  first = wire.connect();
  second = wire.connect();
});

describe('a pause of writes', () => {
  it('delays them, in order, until its timeout', () => {
    expect(admin.send('CLIENT PAUSE 100 WRITE')).toBe('+OK');
    expect(second.send('APPEND k b')).toBe('');
    expect(first.send('APPEND k a')).toBe('');
    expect(admin.send('GET k')).toBe('$-1');
    wire.clock.advance(99);
    expect(second.received()).toBe('');
    wire.clock.advance(1);
    expect(second.received()).toBe(':1');
    expect(first.received()).toBe(':2');
    expect(admin.send('GET k')).toBe('$2 ba');
  });

  it('is ended by CLIENT UNPAUSE', () => {
    admin.send('CLIENT PAUSE 1000 WRITE');
    first.send('SET k 1');
    expect(admin.send('CLIENT UNPAUSE')).toBe('+OK');
    wire.clock.advance(0);
    expect(first.received()).toBe('+OK');
    expect(second.send('SET k 2')).toBe('+OK');
  });

  it('delays PUBLISH, queueing of writes and EXEC with writes', () => {
    first.send('MULTI');
    first.send('SET k 1');
    second.send('MULTI');
    second.send('GET k');
    admin.send('CLIENT PAUSE 100 WRITE');
    expect(first.send('EXEC')).toBe('');
    expect(second.send('SET k 2')).toBe('');
    expect(admin.send('PUBLISH a b')).toBe('');
    wire.clock.advance(100);
    expect(first.received()).toBe('*1 +OK');
    expect(second.received()).toBe('+QUEUED');
    expect(admin.received()).toBe(':0');
  });

  it('does not delay EXEC with reads only', () => {
    first.send('MULTI');
    first.send('GET k');
    admin.send('CLIENT PAUSE 100 WRITE');
    expect(first.send('EXEC')).toBe('*1 $-1');
  });

  it('does not delay the expiry of keys', () => {
    first.send('SET k 1 PX 50');
    admin.send('CLIENT PAUSE 100 WRITE');
    wire.clock.advance(50);
    expect(first.send('GET k')).toBe('$-1');
  });
});

describe('a pause of all commands', () => {
  it('delays reads and CLIENT UNPAUSE too', () => {
    admin.send('CLIENT PAUSE 100');
    expect(first.send('PING')).toBe('');
    expect(admin.send('CLIENT UNPAUSE')).toBe('');
    wire.clock.advance(100);
    expect(first.received()).toBe('+PONG');
    expect(admin.received()).toBe('+OK');
  });

  it('returns the errors of delayed commands', () => {
    first.send('SET k a');
    admin.send('CLIENT PAUSE 100');
    first.send('INCR k');
    wire.clock.advance(100);
    expect(first.received()).toBe('-ERR value is not an integer or out of range');
  });
});

describe('a second pause', () => {
  it('cannot shorten the first', () => {
    admin.send('CLIENT PAUSE 1000 WRITE');
    admin.send('CLIENT PAUSE 10 WRITE');
    wire.clock.advance(999);
    expect(first.send('SET k 1')).toBe('');
    wire.clock.advance(1);
    expect(first.received()).toBe('+OK');
  });

  it('can change the mode from WRITE to ALL', () => {
    admin.send('CLIENT PAUSE 100 WRITE');
    second.send('CLIENT PAUSE 10 ALL');
    expect(first.send('PING')).toBe('');
    wire.clock.advance(100);
    expect(first.received()).toBe('+PONG');
  });

  it('cannot change the mode from ALL to WRITE', () => {
    for (const command of ['MULTI', 'CLIENT PAUSE 10 ALL', 'CLIENT PAUSE 10 WRITE', 'EXEC']) {
      admin.send(command);
    }
    expect(first.send('PING')).toBe('');
  });

  it('that was delayed itself delays the commands after it', () => {
    admin.send('CLIENT PAUSE 100');
    expect(first.send('CLIENT PAUSE 50 WRITE')).toBe('');
    expect(second.send('SET k 1')).toBe('');
    wire.clock.advance(100);
    expect(first.received()).toBe('+OK');
    expect(second.received()).toBe('');
    wire.clock.advance(50);
    expect(second.received()).toBe('+OK');
  });
});

describe('a delayed command', () => {
  it('that throws an exception ends neither the process nor the commands after it', () => {
    const random = seededRandom(1);
    const clock = virtualClock();
    const engine = createEngine({ clock, random });
    const logged: string[] = [];
    engine.log = (_level, message) => logged.push(message);
    const replies: Reply[] = [];
    const held = (): Session =>
      engine.session({ push() {}, resume: (reply) => replies.push(reply), close() {} });
    execute(engine.session(), ['SADD', 'set', 'a', 'b']);
    execute(engine.session(), ['CLIENT', 'PAUSE', '10', 'ALL']);
    random.next = () => {
      throw new Error('no chance');
    };
    expect(execute(held(), ['SPOP', 'set'])).toBe(BLOCKED);
    expect(execute(held(), ['SCARD', 'set'])).toBe(BLOCKED);
    clock.advance(10);
    expect(replies).toEqual([new ErrorReply('ERR internal error'), 2]);
    expect(logged[0]).toContain('no chance');
  });
});

describe('a client with a delayed command', () => {
  it('that closes leaves no entry in the engine', () => {
    admin.send('CLIENT PAUSE 100 WRITE');
    first.send('SET k 1');
    first.session.close();
    wire.clock.advance(100);
    expect(admin.send('GET k')).toBe('$-1');
  });

  it('that is killed by an earlier delayed command does not run its own', () => {
    admin.send('CLIENT PAUSE 100 ALL');
    first.send(`CLIENT KILL ID ${second.session.id}`);
    second.send('SET k 1');
    wire.clock.advance(100);
    expect(first.received()).toBe(':1');
    expect(admin.send('GET k')).toBe('$-1');
  });

  it('is not unblocked by CLIENT UNBLOCK, but has the flag b', () => {
    admin.send('CLIENT PAUSE 100 WRITE');
    first.send('SET k 1');
    expect(admin.send(`CLIENT UNBLOCK ${first.session.id}`)).toBe(':0');
    expect(admin.send(`CLIENT LIST ID ${first.session.id}`)).toContain(' flags=b ');
    wire.clock.advance(100);
    expect(first.received()).toBe('+OK');
  });

  it('may block after the pause', () => {
    admin.send('CLIENT PAUSE 100 ALL');
    first.send('BLPOP list 0');
    wire.clock.advance(100);
    expect(first.received()).toBe('');
    admin.send('RPUSH list x');
    expect(first.received()).toBe('*2 $4 list $1 x');
  });
});

it('closing the engine cancels the timer of the pause', () => {
  admin.send('CLIENT PAUSE 100');
  first.send('PING');
  wire.engine.close();
  expect(wire.clock.pendingTimers).toBe(0);
});

it('CLIENT PAUSE rejects more than an hour', () => {
  expect(admin.send('CLIENT PAUSE 3600000')).toBe('+OK');
  expect(first.send('PING')).toBe('');
  wire.clock.advance(3_600_000);
  expect(first.received()).toBe('+PONG');
});

it('CLIENT PAUSE parses its arguments as Redis does', () => {
  const client = [
    ['CLIENT PAUSE', "-ERR wrong number of arguments for 'client|pause' command"],
    ['CLIENT PAUSE a', '-ERR timeout is not an integer or out of range'],
    ['CLIENT PAUSE -1', '-ERR timeout is negative'],
    ['CLIENT PAUSE 3600001', '-ERR timeout is out of range'],
    ['CLIENT PAUSE 9223372036854775807', '-ERR timeout is out of range'],
    ['CLIENT PAUSE a foo', '-ERR CLIENT PAUSE mode must be WRITE or ALL'],
    [
      'client pause 1 all x',
      "-ERR unknown subcommand or wrong number of arguments for 'pause'. Try CLIENT HELP.",
    ],
    ['CLIENT UNPAUSE', '+OK'],
  ] as const;
  for (const [command, reply] of client) expect(admin.send(command), command).toBe(reply);
});
