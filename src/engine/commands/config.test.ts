import { beforeEach, describe, expect, it } from 'vitest';
import { startWireEngine, type WireClient, type WireEngine } from '../../../test/wire-client.ts';

let wire: WireEngine;
let client: WireClient;

beforeEach(() => {
  wire = startWireEngine();
  client = wire.connect();
});

function refusal(name: string, reason: string): string {
  return `-ERR CONFIG SET failed (possibly related to argument '${name}') - ${reason}`;
}

describe('CONFIG GET', () => {
  it.each([
    ['timeout', '*2 $7 timeout $1 0'],
    ['TIMEOUT timeout', '*2 $7 TIMEOUT $1 0'],
    ['nonsense', '*0'],
    [
      'maxmemory*',
      '*6 $9 maxmemory $1 0 $17 maxmemory-clients $3 25% $16 maxmemory-policy $10 noeviction',
    ],
    ['MAXMEMORY-P* timeout', '*4 $16 maxmemory-policy $10 noeviction $7 timeout $1 0'],
    ['lua-time-limit', '*2 $14 lua-time-limit $4 5000'],
    ['hash-max-ziplist-v*', '*2 $22 hash-max-ziplist-value $2 64'],
  ])('%s', (patterns, reply) => {
    expect(client.send(`CONFIG GET ${patterns}`)).toBe(reply);
  });

  it('returns a map in RESP3', () => {
    client.send('HELLO 3');
    expect(client.send('CONFIG GET timeout')).toBe('%1 $7 timeout $1 0');
  });
});

describe('CONFIG SET', () => {
  it('changes several settings', () => {
    expect(client.send('CONFIG SET timeout 5 tcp-keepalive 60')).toBe('+OK');
    expect(client.send('CONFIG GET timeout tcp-keepalive')).toBe(
      '*4 $7 timeout $1 5 $13 tcp-keepalive $2 60',
    );
  });

  it('changes no setting if one value is invalid', () => {
    expect(client.send('CONFIG SET timeout 5 tcp-keepalive x')).toBe(
      refusal('tcp-keepalive', "argument couldn't be parsed into an integer"),
    );
    expect(client.send('CONFIG GET timeout')).toBe('*2 $7 timeout $1 0');
  });

  it.each([
    ['nonsense 1', "-ERR Unknown option or number of arguments for CONFIG SET - 'nonsense'"],
    ['timeout 1 x', '-ERR syntax error'],
    ['timeout 1 TIMEOUT 2', refusal('TIMEOUT', 'duplicate parameter')],
    ['databases 3', refusal('databases', "can't set immutable config")],
    ['port 1', refusal('port', "can't set immutable config")],
    ['timeout -1', refusal('timeout', 'argument must be between 0 and 2147483647 inclusive')],
    ['maxclients 0', refusal('maxclients', 'argument must be between 1 and 4294967295 inclusive')],
    [
      'slowlog-log-slower-than -5',
      refusal(
        'slowlog-log-slower-than',
        'argument must be between -1 and 9223372036854775807 inclusive',
      ),
    ],
    ['maxmemory 1x', refusal('maxmemory', 'argument must be a memory value')],
    [
      'maxmemory-clients 101%',
      refusal('maxmemory-clients', 'argument must be between 0 and 100 inclusive'),
    ],
    [
      'maxmemory-policy allkeys-lru',
      refusal(
        'maxmemory-policy',
        'keys are never evicted here, because an evicted lock would be granted twice',
      ),
    ],
    [
      'proto-max-bulk-len 1',
      refusal(
        'proto-max-bulk-len',
        'argument must be between 1048576 and 9223372036854775807 inclusive',
      ),
    ],
    [
      'appendfsync foo',
      refusal('appendfsync', 'argument(s) must be one of the following: everysec, always, no'),
    ],
    [
      'notify-keyspace-events KEAq',
      refusal('notify-keyspace-events', "Invalid event class character. Use 'Ag$lshzxeKEtmdn'."),
    ],
  ])('%s is refused', (words, reply) => {
    expect(client.send(`CONFIG SET ${words}`)).toBe(reply);
  });

  it.each([
    ['1048576', '1048576'],
    ['2m', '2000000'],
    ['2MB', '2097152'],
    ['1g', '1000000000'],
    ['1gb', '1073741824'],
    ['2097152b', '2097152'],
    ['2000k', '2000000'],
    ['2000kb', '2048000'],
  ])('reads the memory size %s as %s', (text, bytes) => {
    expect(client.send(`CONFIG SET proto-max-bulk-len ${text}`)).toBe('+OK');
    expect(wire.engine.settings.text('proto-max-bulk-len')).toBe(bytes);
  });

  it('returns notify-keyspace-events in the order of Redis', () => {
    client.send('CONFIG SET notify-keyspace-events KEA');
    expect(client.send('CONFIG GET notify-keyspace-events')).toBe(
      '*2 $22 notify-keyspace-events $3 AKE',
    );
  });
});

it('CONFIG RESETSTAT sets the counters to zero', () => {
  client.send('GET k');
  client.send('CONFIG RESETSTAT');
  expect(wire.engine.stats.keyspaceMisses).toBe(0);
  expect(client.send('INFO commandstats')).not.toContain('cmdstat_get');
});

it('CONFIG REWRITE fails without a file, and CONFIG HELP returns the subcommands', () => {
  expect(client.send('CONFIG REWRITE')).toBe('-ERR The server is running without a config file');
  expect(client.send('CONFIG HELP')).toContain('+SET parameter value [parameter value ...]');
  expect(client.send('CONFIG')).toBe("-ERR wrong number of arguments for 'config' command");
});
