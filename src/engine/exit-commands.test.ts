import { beforeEach, describe, expect, it } from 'vitest';
import {
  type Dialogue,
  expectReplies,
  type Speaker,
  startDialogue,
} from '../../test/engine-dialogue.ts';
import { MAX_BYTES, MAX_COMMANDS } from './exit-commands.ts';

let dialogue: Dialogue;
let holder: Speaker;

beforeEach(() => {
  dialogue = startDialogue();
  holder = dialogue.other();
  expect(holder.say('HOLDFAST.SESSION s')).toBe('+OK');
});

/** The holder's connection ends, and the turn after it passes. */
function end(): void {
  holder.session.close();
  dialogue.clock.advance(0);
}

function info(name: string): string | undefined {
  const { text } = dialogue.say('INFO clients') as { text: string };
  return new RegExp(`${name}:(\\d+)`).exec(text)?.[1];
}

describe('a session', () => {
  it('has a name of its own, and a connection has one session', () => {
    expectReplies(dialogue, [
      ['HOLDFAST.SESSION s', '-INUSE There is a session of this name, or its wills are being run'],
      ['HOLDFAST.SESSION t', '+OK'],
      ['HOLDFAST.SESSION u', '-ERR This connection has a session already'],
    ]);
    expect(info('holdfast_sessions')).toBe('2');
  });

  it.each([[''], ['x'.repeat(257)]])('has a name that is neither empty nor long', (name) => {
    expect(dialogue.say(['HOLDFAST.SESSION', name])).toMatch(
      /^-ERR The name of a session has 1 to/,
    );
  });

  it('cannot begin inside a transaction', () => {
    dialogue.say('MULTI');
    expect(dialogue.say('HOLDFAST.SESSION t')).toMatch(/^-ERR Command not allowed/);
  });

  it('ends with its connection, and its name is free then', () => {
    end();
    expectReplies(dialogue, [
      ['HOLDFAST.WILL SET s a PING', '-NOSESSION There is no session of this name'],
      ['HOLDFAST.WILL DROP s a', '-NOSESSION There is no session of this name'],
      ['HOLDFAST.SESSION s', '+OK'],
    ]);
  });

  it('ends by RESET, with its wills', () => {
    dialogue.say('HOLDFAST.WILL SET s a SET x 1');
    holder.say('RESET');
    dialogue.clock.advance(0);
    expect(dialogue.say('GET x')).toBe('1');
    expect(holder.say('HOLDFAST.SESSION s')).toBe('+OK');
  });
});

describe('wills', () => {
  it('are run when the session ends, in order, each once', () => {
    expectReplies(dialogue, [
      ['HOLDFAST.WILL SET s a RPUSH log a', '+OK'],
      ['HOLDFAST.WILL SET s b RPUSH log b', '+OK'],
      ['HOLDFAST.WILL SET s c RPUSH log c', '+OK'],
      ['HOLDFAST.WILL SET s a RPUSH log again', '+OK'],
      ['HOLDFAST.WILL DROP s b', 1],
      ['HOLDFAST.WILL DROP s b', 0],
    ]);
    expect(info('holdfast_wills')).toBe('2');
    end();
    end();
    expect(dialogue.say('LRANGE log 0 -1')).toEqual(['again', 'c']);
    expect(info('holdfast_wills')).toBe('0');
  });

  it('run in the database in which they were left', () => {
    dialogue.say('SELECT 3');
    dialogue.say('HOLDFAST.WILL SET s a SET x 3');
    dialogue.say('SELECT 0');
    dialogue.say('HOLDFAST.WILL SET s b SET x 0');
    end();
    expect(dialogue.say('GET x')).toBe('0');
    dialogue.say('SELECT 3');
    expect(dialogue.say('GET x')).toBe('3');
  });

  it('are not run inside the unit that ends the session', () => {
    dialogue.say('HOLDFAST.WILL SET s a SET x will');
    const { id } = holder.session;
    expectReplies(dialogue, [
      ['MULTI', '+OK'],
      [`CLIENT KILL ID ${id}`, '+QUEUED'],
      ['GET x', '+QUEUED'],
      ['EXEC', [1, null]],
    ]);
    dialogue.clock.advance(0);
    expect(dialogue.say('GET x')).toBe('will');
  });

  it('may be left inside a transaction', () => {
    expectReplies(dialogue, [
      ['MULTI', '+OK'],
      ['HOLDFAST.WILL SET s a SET x 1', '+QUEUED'],
      ['EXEC', ['+OK']],
    ]);
    end();
    expect(dialogue.say('GET x')).toBe('1');
  });

  it('serve those who wait, and are announced', () => {
    const waiter = dialogue.other();
    expect(waiter.say('BLPOP list 0')).toBe('waits');
    dialogue.say('HOLDFAST.WILL SET s a RPUSH list x');
    dialogue.events();
    end();
    expect(waiter.late()).toEqual([['list', 'x']]);
    expect(dialogue.events()).toEqual(['rpush list', 'lpop list', 'del list']);
  });

  it('go on when one of them fails, and the log tells of it', () => {
    const log: string[] = [];
    dialogue.engine.log = (_level, message) => log.push(message);
    dialogue.say('SET text x');
    dialogue.say('HOLDFAST.WILL SET s a RPUSH text x');
    dialogue.say('HOLDFAST.WILL SET s b SET after 1');
    end();
    expect(dialogue.say('GET after')).toBe('1');
    expect(log).toEqual([expect.stringMatching(/^exit command RPUSH of session .* failed: WRONGTYPE/)]);
  });

  it('wait for the end of a pause, and keep the name of the session until then', () => {
    dialogue.say('HOLDFAST.WILL SET s a RPUSH log a');
    dialogue.say('HOLDFAST.WILL SET s b RPUSH log b');
    dialogue.say('CLIENT PAUSE 1000 WRITE');
    end();
    expect(dialogue.say('EXISTS log')).toBe(0);
    expect(dialogue.say('HOLDFAST.SESSION s')).toMatch(/^-INUSE/);
    dialogue.clock.advance(1000);
    expect(dialogue.say('LRANGE log 0 -1')).toEqual(['a', 'b']);
    expect(dialogue.say('HOLDFAST.SESSION s')).toBe('+OK');
  });

  it.each(['a', 'b'])('can be taken back while they are held up (%s)', (willId) => {
    dialogue.say('HOLDFAST.WILL SET s a RPUSH log a');
    dialogue.say('HOLDFAST.WILL SET s b RPUSH log b');
    dialogue.say('CLIENT PAUSE 1000 WRITE');
    end();
    expect(dialogue.say(`HOLDFAST.WILL DROP s ${willId}`)).toBe(1);
    expect(dialogue.say('HOLDFAST.WILL SET s c PING')).toMatch(/^-NOSESSION/);
    dialogue.clock.advance(1000);
    expect(dialogue.say('LRANGE log 0 -1')).toEqual([willId === 'a' ? 'b' : 'a']);
    expect(dialogue.say('HOLDFAST.SESSION s')).toBe('+OK');
  });

  it('give others a turn when they are many', () => {
    for (let count = 0; count < 100; count++) {
      dialogue.say(['HOLDFAST.WILL', 'SET', 's', `${count}`, 'INCR', 'count']);
    }
    // Each look at the clock takes a millisecond.
    let nowMs = dialogue.clock.monotonicMs();
    Object.assign(dialogue.clock, { monotonicMs: () => nowMs++ });
    holder.session.close();
    let between = 0;
    dialogue.clock.defer(() => {
      between = Number(dialogue.say('GET count'));
    });
    dialogue.clock.advance(0);
    expect(between).toBeGreaterThan(0);
    expect(between).toBeLessThan(10);
    expect(dialogue.say('GET count')).toBe('100');
  });

  it('give others a turn between those of two sessions', () => {
    const second = dialogue.other();
    dialogue.say(['HOLDFAST.WILL', 'SET', 's', 'a', 'INCR', 'count']);
    second.say('HOLDFAST.SESSION t');
    second.say('HOLDFAST.WILL SET t a INCR count');
    // Each look at the clock takes ten milliseconds.
    let nowMs = dialogue.clock.monotonicMs();
    Object.assign(dialogue.clock, { monotonicMs: () => (nowMs += 10) });
    holder.session.close();
    second.session.close();
    let between = '';
    dialogue.clock.defer(() => {
      between = String(dialogue.say('GET count'));
    });
    dialogue.clock.advance(0);
    expect(between).toBe('1');
    expect(dialogue.say('GET count')).toBe('2');
  });

  it.each([
    [3, '3'],
    [2000, '1000'],
  ])('are run again while they reply AGAIN, up to 1000 times (%s)', (least, runs) => {
    const script = `return redis.status_reply(redis.call('INCR', 'count') < ${least} and 'AGAIN' or 'OK')`;
    dialogue.say(['HOLDFAST.WILL', 'SET', 's', 'a', 'EVAL', script, '0']);
    end();
    expect(dialogue.say('GET count')).toBe(runs);
    expect(dialogue.say('HOLDFAST.SESSION s')).toBe('+OK');
  });

  it('keep their script, whatever becomes of it', () => {
    const sha = dialogue.say(['SCRIPT', 'LOAD', "return redis.call('SET', KEYS[1], ARGV[1])"]);
    expect(dialogue.say(`HOLDFAST.WILL SET s a EVALSHA ${sha} 1 x will`)).toBe('+OK');
    dialogue.say('SCRIPT FLUSH');
    expect(dialogue.say(`HOLDFAST.WILL SET s b EVALSHA ${sha} 1 x will`)).toMatch(/^-NOSCRIPT/);
    end();
    expect(dialogue.say('GET x')).toBe('will');
  });

  it.each([
    ['SUBSCRIBE a', 'SUBSCRIBE cannot be a will'],
    ['MULTI', 'MULTI cannot be a will'],
    ['WATCH a', 'WATCH cannot be a will'],
    ['BLPOP a 0', 'BLPOP cannot be a will'],
    ['MONITOR', 'MONITOR cannot be a will'],
    ['QUIT', 'QUIT cannot be a will'],
    ['RESET', 'RESET cannot be a will'],
    ['AUTH secret', 'AUTH cannot be a will'],
    ['SHUTDOWN', 'SHUTDOWN cannot be a will'],
    ['SCRIPT FLUSH', 'SCRIPT|FLUSH cannot be a will'],
    ['CLIENT PAUSE 10', 'CLIENT|PAUSE cannot be a will'],
    ['HOLDFAST.SESSION x', 'HOLDFAST.SESSION cannot be a will'],
    ['HOLDFAST.WILL DROP s a', 'HOLDFAST.WILL|DROP cannot be a will'],
    ['GET', "wrong number of arguments for 'get' command"],
    ['NONSENSE x', "unknown command 'NONSENSE', with args beginning with: 'x' "],
  ])('cannot be %s', (words, reason) => {
    expect(dialogue.say(`HOLDFAST.WILL SET s a ${words}`)).toBe(`-ERR ${reason}`);
    expect(info('holdfast_wills')).toBe('0');
  });

  it.each(['DEL a', 'PUBLISH a b', 'EVAL return 0', 'DELIFEQ key value', 'LPUSH a b'])(
    'can be %s',
    (words) => {
      expect(dialogue.say(`HOLDFAST.WILL SET s a ${words}`)).toBe('+OK');
    },
  );

  it('are limited in number', () => {
    for (let count = 0; count < MAX_COMMANDS; count++) {
      dialogue.say(['HOLDFAST.WILL', 'SET', 's', `${count}`, 'PING']);
    }
    expectReplies(dialogue, [
      ['HOLDFAST.WILL SET s more PING', '-ERR A session cannot have more than 100000 wills'],
      ['HOLDFAST.WILL SET s 1 PING', '+OK'],
      ['HOLDFAST.WILL DROP s 1', 1],
      ['HOLDFAST.WILL SET s more PING', '+OK'],
    ]);
  });

  it('are limited in bytes, of which a script that is shared costs none', () => {
    const half = 'x'.repeat(MAX_BYTES / 2);
    expectReplies(dialogue, [
      [['HOLDFAST.WILL', 'SET', 's', 'a', 'SET', 'k', half], '+OK'],
      [
        ['HOLDFAST.WILL', 'SET', 's', 'b', 'SET', 'k', half],
        '-ERR The wills of a session cannot have more than 33554432 bytes',
      ],
      [['HOLDFAST.WILL', 'SET', 's', 'a', 'SET', 'k', half], '+OK'],
      ['HOLDFAST.WILL DROP s a', 1],
      [['HOLDFAST.WILL', 'SET', 's', 'b', 'SET', 'k', half], '+OK'],
    ]);
    dialogue.say(['HOLDFAST.WILL', 'SET', 's', 'd', 'SET', 'k', half.slice(2000)]);
    const sha = dialogue.say(['SCRIPT', 'LOAD', `return '${half.slice(0, 10_000)}'`]);
    expect(dialogue.say(`HOLDFAST.WILL SET s c EVALSHA ${sha} 0`)).toBe('+OK');
  });

  it('helps', () => {
    expect(dialogue.say('HOLDFAST.WILL HELP')).toContain(
      '+SET session will command [argument [argument ...]]',
    );
  });

  it('leaves nothing behind when the engine closes', () => {
    dialogue.say('HOLDFAST.WILL SET s a SET x 1');
    dialogue.engine.close();
    expect(dialogue.clock.pendingTimers).toBe(0);
  });
});
