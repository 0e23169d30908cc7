import { beforeEach, describe, expect, it } from 'vitest';
import { startWireEngine, type WireClient, type WireEngine } from '../../test/wire-client.ts';

let wire: WireEngine;
let monitor: WireClient;
let client: WireClient;

beforeEach(() => {
  wire = startWireEngine();
  monitor = wire.connect();
  client = wire.connect();
  monitor.send('MONITOR');
});

describe('MONITOR shows', () => {
  it('time, database, client and arguments', () => {
    wire.clock.advance(1500.25);
    client.send('SELECT 3');
    client.send('GET k');
    expect(monitor.received()).toBe(
      '+1767225601.500250 [3 10.0.0.2:2] "SELECT" "3" +1767225601.500250 [3 10.0.0.2:2] "GET" "k"',
    );
  });

  it('every byte, escaped', () => {
    client.send(['ECHO', 'a\n\r\t\x07\b"\\\x01\xff~ ']);
    expect(monitor.received()).toMatch(/"ECHO" "a\\n\\r\\t\\a\\b\\"\\\\\\x01\\xff~ "$/);
  });

  it('at most 4096 bytes of an argument', () => {
    client.send(['SET', 'k', '\0'.repeat(100_000)]);
    expect(args(monitor.received())).toEqual([
      `"SET" "k" "${'\\x00'.repeat(4096)}... (95904 more bytes)"`,
    ]);
  });

  it('at most 64 KiB of a request', () => {
    client.send(['MGET', ...Array.from({ length: 100 }, () => '\0'.repeat(4096))]);
    const line = monitor.received();
    expect(line).toMatch(/ "\.\.\. \(97 more arguments\)"$/);
    expect(line.length).toBeLessThan(66 * 1024);
    client.send(['MGET', ...Array.from({ length: 100_000 }, () => 'k')]);
    expect(monitor.received()).toMatch(/"k" "\.\.\. \(\d+ more arguments\)"$/);
  });

  it('a transaction when it is run, EXEC last', () => {
    for (const command of ['MULTI', 'SET k 1', 'EXEC']) client.send(command);
    expect(args(monitor.received())).toEqual(['"MULTI"', '"SET" "k" "1"', '"EXEC"']);
  });

  it('a script before its commands', () => {
    client.send(['EVAL', "return redis.call('SET', 'k', '1')", '0']);
    expect(monitor.received()).toMatch(
      /^\S+ \[0 10\.0\.0\.2:2\] "EVAL" .* \+\S+ \[0 lua\] "SET" "k" "1"$/,
    );
  });

  it('commands that fail, but not rejected ones', () => {
    client.send('SET k a');
    client.send('INCR k');
    client.send('GET');
    client.send('NONSENSE');
    expect(args(monitor.received())).toEqual(['"SET" "k" "a"', '"INCR" "k"']);
  });

  it('no admin commands', () => {
    client.send('CONFIG GET timeout');
    client.send('CLIENT LIST');
    expect(monitor.received()).toBe('');
  });

  it.each([
    ['AUTH secret', '"AUTH" "(redacted)"'],
    ['AUTH default secret', '"AUTH" "(redacted)" "(redacted)"'],
    [
      'HELLO 2 AUTH default secret SETNAME me',
      '"HELLO" "2" "AUTH" "(redacted)" "(redacted)" "SETNAME" "me"',
    ],
  ])('no secret of %s', (command, shown) => {
    client.send(command);
    expect(args(monitor.received())).toEqual([shown]);
  });
});

it('a monitor cannot access keys, and a second MONITOR has no reply', () => {
  expect(monitor.send('MONITOR')).toBe('');
  expect(monitor.send('GET k')).toBe("-ERR Replica can't interact with the keyspace");
  client.send('MULTI');
  client.send('MONITOR');
  expect(client.send('EXEC')).toBe("*1 -ERR MONITOR isn't allowed for DENY BLOCKING client");
});

it('a monitor that closes is removed', () => {
  monitor.session.close();
  client.send('PING');
  expect(monitor.received()).toBe('');
  expect(wire.engine.monitors.size).toBe(0);
});

/** The quoted arguments of each line. */
function args(received: string): string[] {
  return received
    .split(/\+\d+\.\d+ \[\d+ [^\]]+\] /)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
