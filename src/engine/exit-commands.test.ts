import { beforeEach, describe, expect, it } from 'vitest';
import {
  type EngineClient,
  expectReplies,
  startEngineClient,
  type TestClient,
} from '../../test/engine-client.ts';
import { MAX_BYTES, MAX_COMMANDS } from './exit-commands.ts';

let client: EngineClient;
let holder: TestClient;

beforeEach(() => {
  client = startEngineClient();
  holder = client.other();
  expect(holder.send('HOLDFAST.SESSION s')).toBe('+OK');
});

/** Closes the holder's connection and runs the next turn. */
function end(): void {
  holder.session.close();
  client.clock.advance(0);
}

function info(name: string): string | undefined {
  const { text } = client.send('INFO clients') as { text: string };
  return new RegExp(`${name}:(\\d+)`).exec(text)?.[1];
}

describe('a named session', () => {
  it('has a unique name, and a connection has one session', () => {
    expectReplies(client, [
      ['HOLDFAST.SESSION s', '-INUSE There is a session of this name, or its wills are being run'],
      ['HOLDFAST.SESSION t', '+OK'],
      ['HOLDFAST.SESSION u', '-ERR This connection has a session already'],
    ]);
    expect(info('holdfast_sessions')).toBe('2');
  });

  it.each([[''], ['x'.repeat(257)]])(
    'is rejected with an empty name or one of 257 bytes',
    (name) => {
      expect(client.send(['HOLDFAST.SESSION', name])).toMatch(
        /^-ERR The name of a session has 1 to/,
      );
    },
  );

  it('cannot be opened inside of a transaction', () => {
    client.send('MULTI');
    expect(client.send('HOLDFAST.SESSION t')).toMatch(/^-ERR Command not allowed/);
  });

  it('ends with its connection, and its name can be used again', () => {
    end();
    expectReplies(client, [
      ['HOLDFAST.WILL SET s a PING', '-NOSESSION There is no session of this name'],
      ['HOLDFAST.WILL DROP s a', '-NOSESSION There is no session of this name'],
      ['HOLDFAST.SESSION s', '+OK'],
    ]);
  });

  it('ends by RESET, and its exit commands run', () => {
    client.send('HOLDFAST.WILL SET s a SET x 1');
    holder.send('RESET');
    client.clock.advance(0);
    expect(client.send('GET x')).toBe('1');
    expect(holder.send('HOLDFAST.SESSION s')).toBe('+OK');
  });
});

describe('exit commands', () => {
  it('run when the session ends, in order, each once', () => {
    expectReplies(client, [
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
    expect(client.send('LRANGE log 0 -1')).toEqual(['again', 'c']);
    expect(info('holdfast_wills')).toBe('0');
  });

  it('run in the database in which they were added', () => {
    client.send('SELECT 3');
    client.send('HOLDFAST.WILL SET s a SET x 3');
    client.send('SELECT 0');
    client.send('HOLDFAST.WILL SET s b SET x 0');
    end();
    expect(client.send('GET x')).toBe('0');
    client.send('SELECT 3');
    expect(client.send('GET x')).toBe('3');
  });

  it('do not run inside of the transaction that ends the session', () => {
    client.send('HOLDFAST.WILL SET s a SET x will');
    const { id } = holder.session;
    expectReplies(client, [
      ['MULTI', '+OK'],
      [`CLIENT KILL ID ${id}`, '+QUEUED'],
      ['GET x', '+QUEUED'],
      ['EXEC', [1, null]],
    ]);
    client.clock.advance(0);
    expect(client.send('GET x')).toBe('will');
  });

  it('can be added inside of a transaction', () => {
    expectReplies(client, [
      ['MULTI', '+OK'],
      ['HOLDFAST.WILL SET s a SET x 1', '+QUEUED'],
      ['EXEC', ['+OK']],
    ]);
    end();
    expect(client.send('GET x')).toBe('1');
  });

  it('serve blocked clients and publish keyspace events', () => {
    const waiter = client.other();
    expect(waiter.send('BLPOP list 0')).toBe('blocked');
    client.send('HOLDFAST.WILL SET s a RPUSH list x');
    client.events();
    end();
    expect(waiter.lateReplies()).toEqual([['list', 'x']]);
    expect(client.events()).toEqual(['rpush list', 'lpop list', 'del list']);
  });

  it('continue after a failed one, which is logged', () => {
    const log: string[] = [];
    client.engine.log = (_level, message) => log.push(message);
    client.send('SET text x');
    client.send('HOLDFAST.WILL SET s a RPUSH text x');
    client.send('HOLDFAST.WILL SET s b SET after 1');
    end();
    expect(client.send('GET after')).toBe('1');
    expect(log).toEqual([
      expect.stringMatching(/^exit command RPUSH of session .* failed: WRONGTYPE/),
    ]);
  });

  it('run after a pause, and the name of the session stays in use until then', () => {
    client.send('HOLDFAST.WILL SET s a RPUSH log a');
    client.send('HOLDFAST.WILL SET s b RPUSH log b');
    client.send('CLIENT PAUSE 1000 WRITE');
    end();
    expect(client.send('EXISTS log')).toBe(0);
    expect(client.send('HOLDFAST.SESSION s')).toMatch(/^-INUSE/);
    client.clock.advance(1000);
    expect(client.send('LRANGE log 0 -1')).toEqual(['a', 'b']);
    expect(client.send('HOLDFAST.SESSION s')).toBe('+OK');
  });

  it.each(['a', 'b'])('can be dropped while a pause delays them (%s)', (willId) => {
    client.send('HOLDFAST.WILL SET s a RPUSH log a');
    client.send('HOLDFAST.WILL SET s b RPUSH log b');
    client.send('CLIENT PAUSE 1000 WRITE');
    end();
    expect(client.send(`HOLDFAST.WILL DROP s ${willId}`)).toBe(1);
    expect(client.send('HOLDFAST.WILL SET s c PING')).toMatch(/^-NOSESSION/);
    client.clock.advance(1000);
    expect(client.send('LRANGE log 0 -1')).toEqual([willId === 'a' ? 'b' : 'a']);
    expect(client.send('HOLDFAST.SESSION s')).toBe('+OK');
  });

  it('let other clients run between many of them', () => {
    for (let count = 0; count < 100; count++) {
      client.send(['HOLDFAST.WILL', 'SET', 's', `${count}`, 'INCR', 'count']);
    }
    // Each reading of the clock advances it by a millisecond.
    let nowMs = client.clock.monotonicMs();
    Object.assign(client.clock, { monotonicMs: () => nowMs++ });
    holder.session.close();
    let between = 0;
    client.clock.defer(() => {
      between = Number(client.send('GET count'));
    });
    client.clock.advance(0);
    expect(between).toBeGreaterThan(0);
    expect(between).toBeLessThan(10);
    expect(client.send('GET count')).toBe('100');
  });

  it('let other clients run between those of two sessions', () => {
    const second = client.other();
    client.send(['HOLDFAST.WILL', 'SET', 's', 'a', 'INCR', 'count']);
    second.send('HOLDFAST.SESSION t');
    second.send('HOLDFAST.WILL SET t a INCR count');
    // Each reading of the clock advances it by ten milliseconds.
    let nowMs = client.clock.monotonicMs();
    Object.assign(client.clock, { monotonicMs: () => (nowMs += 10) });
    holder.session.close();
    second.session.close();
    let between = '';
    client.clock.defer(() => {
      between = String(client.send('GET count'));
    });
    client.clock.advance(0);
    expect(between).toBe('1');
    expect(client.send('GET count')).toBe('2');
  });

  it.each([
    [3, '3'],
    [2000, '1000'],
  ])('run again while they reply AGAIN, up to 1000 times (%s)', (least, runs) => {
    const script = `return redis.status_reply(redis.call('INCR', 'count') < ${least} and 'AGAIN' or 'OK')`;
    client.send(['HOLDFAST.WILL', 'SET', 's', 'a', 'EVAL', script, '0']);
    end();
    expect(client.send('GET count')).toBe(runs);
    expect(client.send('HOLDFAST.SESSION s')).toBe('+OK');
  });

  it('keep their script after SCRIPT FLUSH', () => {
    const sha = client.send(['SCRIPT', 'LOAD', "return redis.call('SET', KEYS[1], ARGV[1])"]);
    expect(client.send(`HOLDFAST.WILL SET s a EVALSHA ${sha} 1 x will`)).toBe('+OK');
    client.send('SCRIPT FLUSH');
    expect(client.send(`HOLDFAST.WILL SET s b EVALSHA ${sha} 1 x will`)).toMatch(/^-NOSCRIPT/);
    end();
    expect(client.send('GET x')).toBe('will');
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
    expect(client.send(`HOLDFAST.WILL SET s a ${words}`)).toBe(`-ERR ${reason}`);
    expect(info('holdfast_wills')).toBe('0');
  });

  it.each(['DEL a', 'PUBLISH a b', 'EVAL return 0', 'DELIFEQ key value', 'LPUSH a b'])(
    'can be %s',
    (words) => {
      expect(client.send(`HOLDFAST.WILL SET s a ${words}`)).toBe('+OK');
    },
  );

  it('are limited to 100,000 per session', () => {
    for (let count = 0; count < MAX_COMMANDS; count++) {
      client.send(['HOLDFAST.WILL', 'SET', 's', `${count}`, 'PING']);
    }
    expectReplies(client, [
      ['HOLDFAST.WILL SET s more PING', '-ERR A session cannot have more than 100000 wills'],
      ['HOLDFAST.WILL SET s 1 PING', '+OK'],
      ['HOLDFAST.WILL DROP s 1', 1],
      ['HOLDFAST.WILL SET s more PING', '+OK'],
    ]);
  });

  it('are limited to 32 MB per session, without shared scripts', () => {
    const half = 'x'.repeat(MAX_BYTES / 2);
    expectReplies(client, [
      [['HOLDFAST.WILL', 'SET', 's', 'a', 'SET', 'k', half], '+OK'],
      [
        ['HOLDFAST.WILL', 'SET', 's', 'b', 'SET', 'k', half],
        '-ERR The wills of a session cannot have more than 33554432 bytes',
      ],
      [['HOLDFAST.WILL', 'SET', 's', 'a', 'SET', 'k', half], '+OK'],
      ['HOLDFAST.WILL DROP s a', 1],
      [['HOLDFAST.WILL', 'SET', 's', 'b', 'SET', 'k', half], '+OK'],
    ]);
    client.send(['HOLDFAST.WILL', 'SET', 's', 'd', 'SET', 'k', half.slice(2000)]);
    const sha = client.send(['SCRIPT', 'LOAD', `return '${half.slice(0, 10_000)}'`]);
    expect(client.send(`HOLDFAST.WILL SET s c EVALSHA ${sha} 0`)).toBe('+OK');
  });

  it('HELP returns the subcommands', () => {
    expect(client.send('HOLDFAST.WILL HELP')).toContain(
      '+SET session will command [argument [argument ...]]',
    );
  });

  it('leave no timer when the engine closes', () => {
    client.send('HOLDFAST.WILL SET s a SET x 1');
    client.engine.close();
    expect(client.clock.pendingTimers).toBe(0);
  });
});
