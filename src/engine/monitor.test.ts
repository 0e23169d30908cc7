import { beforeEach, describe, expect, it } from 'vitest';
import { startWire, type Wire, type WireClient } from '../../test/wire-dialogue.ts';

let wire: Wire;
let monitor: WireClient;
let client: WireClient;

beforeEach(() => {
  wire = startWire();
  monitor = wire.connect();
  client = wire.connect();
  monitor.say('MONITOR');
});

describe('MONITOR shows', () => {
  it('time, database, client and words', () => {
    wire.clock.advance(1500.25);
    client.say('SELECT 3');
    client.say('GET k');
    expect(monitor.hears()).toBe(
      '+1767225601.500250 [3 10.0.0.2:2] "SELECT" "3" +1767225601.500250 [3 10.0.0.2:2] "GET" "k"',
    );
  });

  it('every byte', () => {
    client.say(['ECHO', 'a\n\r\t\x07\b"\\\x01\xff~ ']);
    expect(monitor.hears()).toMatch(/"ECHO" "a\\n\\r\\t\\a\\b\\"\\\\\\x01\\xff~ "$/);
  });

  it('at most 4096 bytes of an argument', () => {
    client.say(['SET', 'k', '\0'.repeat(100_000)]);
    expect(words(monitor.hears())).toEqual([
      `"SET" "k" "${'\\x00'.repeat(4096)}... (95904 more bytes)"`,
    ]);
  });

  it('at most 64 KiB of a request', () => {
    client.say(['MGET', ...Array.from({ length: 100 }, () => '\0'.repeat(4096))]);
    const line = monitor.hears();
    expect(line).toMatch(/ "\.\.\. \(97 more arguments\)"$/);
    expect(line.length).toBeLessThan(66 * 1024);
    client.say(['MGET', ...Array.from({ length: 100_000 }, () => 'k')]);
    expect(monitor.hears()).toMatch(/"k" "\.\.\. \(\d+ more arguments\)"$/);
  });

  it('a transaction when it is run, EXEC last', () => {
    for (const command of ['MULTI', 'SET k 1', 'EXEC']) client.say(command);
    expect(words(monitor.hears())).toEqual(['"MULTI"', '"SET" "k" "1"', '"EXEC"']);
  });

  it('a script before what it calls', () => {
    client.say(['EVAL', "return redis.call('SET', 'k', '1')", '0']);
    expect(monitor.hears()).toMatch(
      /^\S+ \[0 10\.0\.0\.2:2\] "EVAL" .* \+\S+ \[0 lua\] "SET" "k" "1"$/,
    );
  });

  it('commands that fail, but not those that were refused', () => {
    client.say('SET k a');
    client.say('INCR k');
    client.say('GET');
    client.say('NONSENSE');
    expect(words(monitor.hears())).toEqual(['"SET" "k" "a"', '"INCR" "k"']);
  });

  it('no administration', () => {
    client.say('CONFIG GET timeout');
    client.say('CLIENT LIST');
    expect(monitor.hears()).toBe('');
  });

  it.each([
    ['AUTH secret', '"AUTH" "(redacted)"'],
    ['AUTH default secret', '"AUTH" "(redacted)" "(redacted)"'],
    [
      'HELLO 2 AUTH default secret SETNAME me',
      '"HELLO" "2" "AUTH" "(redacted)" "(redacted)" "SETNAME" "me"',
    ],
  ])('no secret of %s', (command, shown) => {
    client.say(command);
    expect(words(monitor.hears())).toEqual([shown]);
  });
});

it('a monitor does not use keys, and asks only once', () => {
  expect(monitor.say('MONITOR')).toBe('');
  expect(monitor.say('GET k')).toBe("-ERR Replica can't interact with the keyspace");
  client.say('MULTI');
  client.say('MONITOR');
  expect(client.say('EXEC')).toBe("*1 -ERR MONITOR isn't allowed for DENY BLOCKING client");
});

it('a monitor that closes is forgotten', () => {
  monitor.session.close();
  client.say('PING');
  expect(monitor.hears()).toBe('');
  expect(wire.engine.monitors.size).toBe(0);
});

/** The quoted words of each line. */
function words(heard: string): string[] {
  return heard
    .split(/\+\d+\.\d+ \[\d+ [^\]]+\] /)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
