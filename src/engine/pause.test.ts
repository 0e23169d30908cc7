import { beforeEach, describe, expect, it } from 'vitest';
import { startWire, type Wire, type WireClient } from '../../test/wire-dialogue.ts';
import { seededRandom, virtualClock } from '../clock/index.ts';
import { ErrorReply, type Reply } from '../resp/index.ts';
import { BLOCKED, createEngine, execute, type Session } from './index.ts';

let wire: Wire;
let admin: WireClient;
let first: WireClient;
let second: WireClient;

beforeEach(() => {
  wire = startWire();
  admin = wire.connect();
  first = wire.connect();
  second = wire.connect();
});

describe('a pause of writes', () => {
  it('holds them, in order, until its time is up', () => {
    expect(admin.say('CLIENT PAUSE 100 WRITE')).toBe('+OK');
    expect(second.say('APPEND k b')).toBe('');
    expect(first.say('APPEND k a')).toBe('');
    expect(admin.say('GET k')).toBe('$-1');
    wire.clock.advance(99);
    expect(second.hears()).toBe('');
    wire.clock.advance(1);
    expect(second.hears()).toBe(':1');
    expect(first.hears()).toBe(':2');
    expect(admin.say('GET k')).toBe('$2 ba');
  });

  it('ends early by CLIENT UNPAUSE', () => {
    admin.say('CLIENT PAUSE 1000 WRITE');
    first.say('SET k 1');
    expect(admin.say('CLIENT UNPAUSE')).toBe('+OK');
    wire.clock.advance(0);
    expect(first.hears()).toBe('+OK');
    expect(second.say('SET k 2')).toBe('+OK');
  });

  it('holds messages, writes that would be queued and EXEC of writes', () => {
    first.say('MULTI');
    first.say('SET k 1');
    second.say('MULTI');
    second.say('GET k');
    admin.say('CLIENT PAUSE 100 WRITE');
    expect(first.say('EXEC')).toBe('');
    expect(second.say('SET k 2')).toBe('');
    expect(admin.say('PUBLISH a b')).toBe('');
    wire.clock.advance(100);
    expect(first.hears()).toBe('*1 +OK');
    expect(second.hears()).toBe('+QUEUED');
    expect(admin.hears()).toBe(':0');
  });

  it('lets EXEC of reads pass', () => {
    first.say('MULTI');
    first.say('GET k');
    admin.say('CLIENT PAUSE 100 WRITE');
    expect(first.say('EXEC')).toBe('*1 $-1');
  });

  it('does not stop the time of keys', () => {
    first.say('SET k 1 PX 50');
    admin.say('CLIENT PAUSE 100 WRITE');
    wire.clock.advance(50);
    expect(first.say('GET k')).toBe('$-1');
  });
});

describe('a pause of everything', () => {
  it('holds reads and CLIENT UNPAUSE too', () => {
    admin.say('CLIENT PAUSE 100');
    expect(first.say('PING')).toBe('');
    expect(admin.say('CLIENT UNPAUSE')).toBe('');
    wire.clock.advance(100);
    expect(first.hears()).toBe('+PONG');
    expect(admin.hears()).toBe('+OK');
  });

  it('gives the errors of held commands', () => {
    first.say('SET k a');
    admin.say('CLIENT PAUSE 100');
    first.say('INCR k');
    wire.clock.advance(100);
    expect(first.hears()).toBe('-ERR value is not an integer or out of range');
  });
});

describe('a second pause', () => {
  it('cannot shorten the first', () => {
    admin.say('CLIENT PAUSE 1000 WRITE');
    admin.say('CLIENT PAUSE 10 WRITE');
    wire.clock.advance(999);
    expect(first.say('SET k 1')).toBe('');
    wire.clock.advance(1);
    expect(first.hears()).toBe('+OK');
  });

  it('can make it stricter', () => {
    admin.say('CLIENT PAUSE 100 WRITE');
    second.say('CLIENT PAUSE 10 ALL');
    expect(first.say('PING')).toBe('');
    wire.clock.advance(100);
    expect(first.hears()).toBe('+PONG');
  });

  it('cannot make it looser', () => {
    for (const command of ['MULTI', 'CLIENT PAUSE 10 ALL', 'CLIENT PAUSE 10 WRITE', 'EXEC']) {
      admin.say(command);
    }
    expect(first.say('PING')).toBe('');
  });

  it('that was held itself holds those behind it', () => {
    admin.say('CLIENT PAUSE 100');
    expect(first.say('CLIENT PAUSE 50 WRITE')).toBe('');
    expect(second.say('SET k 1')).toBe('');
    wire.clock.advance(100);
    expect(first.hears()).toBe('+OK');
    expect(second.hears()).toBe('');
    wire.clock.advance(50);
    expect(second.hears()).toBe('+OK');
  });
});

describe('a held command', () => {
  it('that fails by a fault of ours ends neither the process nor those behind it', () => {
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

describe('a held client', () => {
  it('that closes leaves nothing behind', () => {
    admin.say('CLIENT PAUSE 100 WRITE');
    first.say('SET k 1');
    first.session.close();
    wire.clock.advance(100);
    expect(admin.say('GET k')).toBe('$-1');
  });

  it('that is killed by one before it does not run', () => {
    admin.say('CLIENT PAUSE 100 ALL');
    first.say(`CLIENT KILL ID ${second.session.id}`);
    second.say('SET k 1');
    wire.clock.advance(100);
    expect(first.hears()).toBe(':1');
    expect(admin.say('GET k')).toBe('$-1');
  });

  it('is not unblocked by CLIENT UNBLOCK, though it is shown as waiting', () => {
    admin.say('CLIENT PAUSE 100 WRITE');
    first.say('SET k 1');
    expect(admin.say(`CLIENT UNBLOCK ${first.session.id}`)).toBe(':0');
    expect(admin.say(`CLIENT LIST ID ${first.session.id}`)).toContain(' flags=b ');
    wire.clock.advance(100);
    expect(first.hears()).toBe('+OK');
  });

  it('may block when its turn comes', () => {
    admin.say('CLIENT PAUSE 100 ALL');
    first.say('BLPOP list 0');
    wire.clock.advance(100);
    expect(first.hears()).toBe('');
    admin.say('RPUSH list x');
    expect(first.hears()).toBe('*2 $4 list $1 x');
  });
});

it('no timer is left when the engine closes', () => {
  admin.say('CLIENT PAUSE 100');
  first.say('PING');
  wire.engine.close();
  expect(wire.clock.pendingTimers).toBe(0);
});

it('CLIENT PAUSE lasts at most an hour', () => {
  expect(admin.say('CLIENT PAUSE 3600000')).toBe('+OK');
  expect(first.say('PING')).toBe('');
  wire.clock.advance(3_600_000);
  expect(first.hears()).toBe('+PONG');
});

it('CLIENT PAUSE reads its arguments as Redis does', () => {
  const dialogue = [
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
  for (const [command, reply] of dialogue) expect(admin.say(command), command).toBe(reply);
});
