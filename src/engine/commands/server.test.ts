import { beforeEach, describe, expect, it } from 'vitest';
import { startWireEngine, type WireClient, type WireEngine } from '../../../test/wire-client.ts';

let wire: WireEngine;
let client: WireClient;

beforeEach(() => {
  wire = startWireEngine();
  client = wire.connect();
});

describe('INFO', () => {
  const titles = (command: string) => client.send(command).match(/# \w+/g) ?? [];
  const USUAL = ['Server', 'Clients', 'Memory', 'Persistence', 'Stats', 'Replication', 'CPU'];
  const REST = ['Errorstats', 'Cluster', 'Keyspace'];
  const shown = (...names: string[]) => names.map((name) => `# ${name}`);

  it('has the sections of Redis in their order', () => {
    expect(titles('INFO')).toEqual(shown(...USUAL, 'Modules', ...REST));
    expect(titles('INFO default')).toEqual(shown(...USUAL, 'Modules', ...REST));
    expect(titles('INFO everything')).toEqual(
      shown(...USUAL, 'Modules', 'Commandstats', ...REST, 'Holdfast'),
    );
    expect(titles('INFO ALL')).toContain('# Commandstats');
    expect(titles('INFO keyspace nonsense CPU')).toEqual(shown('CPU', 'Keyspace'));
    expect(client.send('INFO nonsense')).toBe('$0');
  });

  it('returns versions and uptime', () => {
    wire.clock.advance(3 * 86_400_000 + 1000);
    const text = client.send('INFO server');
    for (const field of ['redis_version:7.0.15', 'tcp_port:6379', 'uptime_in_days:3']) {
      expect(text).toContain(field);
    }
    expect(text).toContain(`uptime_in_seconds:${3 * 86_400 + 1}`);
    expect(text).toMatch(/holdfast_version:\d/);
    expect(text).toMatch(/run_id:[0-9a-f]{40} /);
  });

  it('returns the numbers of clients, commands, hits and misses', () => {
    const other = wire.connect();
    other.send('SUBSCRIBE a b');
    for (const command of ['SET k 1 PX 50', 'GET k', 'GET nothing', 'INCR k x'])
      client.send(command);
    expect(client.send('INFO stats')).toMatch(
      /total_connections_received:2 total_commands_processed:5 .* keyspace_hits:1 keyspace_misses:1 pubsub_channels:2 .* total_error_replies:1/,
    );
    expect(client.send('INFO keyspace')).toBe('$44 # Keyspace db0:keys=1,expires=1,avg_ttl=0');
    wire.clock.advance(50);
    expect(client.send('INFO stats')).toContain('expired_keys:1');
    expect(client.send('INFO clients')).toContain('connected_clients:2');
  });

  it('counts blocked clients, but not clients delayed by a pause', () => {
    wire.connect().send('BLPOP nothing 0');
    client.send('CLIENT PAUSE 100 WRITE');
    wire.connect().send('SET k 1');
    expect(client.send('INFO clients')).toContain('blocked_clients:1');
  });

  it('counts errors, and commands also inside of transactions', () => {
    for (const command of ['GET a', 'MULTI', 'GET b', 'EXEC', 'GET', 'LPUSH l x', 'GET l']) {
      client.send(command);
    }
    const text = client.send('INFO commandstats');
    expect(text).toContain(
      'cmdstat_get:calls=3,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=1',
    );
    expect(text).not.toContain('cmdstat_set');
    expect(client.send('INFO errorstats')).toBe(
      '$66 # Errorstats errorstat_ERR:count=1 errorstat_WRONGTYPE:count=1',
    );
  });

  it('returns the rate of commands since the last INFO', () => {
    client.send('INFO stats');
    for (let count = 0; count < 99; count++) client.send('PING');
    wire.clock.advance(500);
    expect(client.send('INFO stats')).toContain('instantaneous_ops_per_sec:200 ');
  });

  it('returns verbatim text in RESP3', () => {
    client.send('HELLO 3');
    expect(client.send('INFO cluster')).toBe('=34 txt:# Cluster cluster_enabled:0');
  });
});

it('TIME returns seconds and microseconds', () => {
  wire.clock.advance(1234.5);
  expect(client.send('TIME')).toBe('*2 $10 1767225601 $6 234500');
});

it('SWAPDB swaps the keys of two databases', () => {
  const lines = [
    ['SET k 0', '+OK'],
    ['SWAPDB 0 1', '+OK'],
    ['GET k', '$-1'],
    ['SELECT 1', '+OK'],
    ['GET k', '$1 0'],
    ['SWAPDB 1 1', '+OK'],
    ['SWAPDB a 1', '-ERR invalid first DB index'],
    ['SWAPDB 99 a', '-ERR invalid second DB index'],
    ['SWAPDB 0 99999999999', '-ERR invalid second DB index'],
    ['SWAPDB 1 16', '-ERR DB index is out of range'],
  ] as const;
  for (const [command, reply] of lines) expect(client.send(command), command).toBe(reply);
});

describe('SHUTDOWN', () => {
  it('calls requestShutdown and sends no reply', () => {
    let requests = 0;
    wire.engine.requestShutdown = () => requests++;
    expect(client.send('SHUTDOWN')).toBe('');
    expect(client.send('SHUTDOWN nosave now force')).toBe('');
    expect(requests).toBe(2);
  });

  it.each([
    ['', '-ERR SHUTDOWN needs a server: this engine runs inside of another program'],
    [' foo', '-ERR syntax error'],
    [' SAVE NOSAVE', '-ERR syntax error'],
    [' ABORT NOW', '-ERR syntax error'],
    [' ABORT', '-ERR No shutdown in progress.'],
  ])('SHUTDOWN%s fails without a server', (options, reply) => {
    expect(client.send(`SHUTDOWN${options}`)).toBe(reply);
  });

  it('is rejected inside of MULTI', () => {
    client.send('MULTI');
    expect(client.send('SHUTDOWN')).toBe('-ERR Command not allowed inside a transaction');
  });
});

describe('WAIT and ROLE', () => {
  it('report no replicas', () => {
    expect(client.send('ROLE')).toBe('*3 $6 master :0 *0');
    expect(client.send('WAIT 0 0')).toBe(':0');
    expect(client.send('WAIT -1 0')).toBe(':0');
  });

  it('WAIT blocks until its timeout', () => {
    expect(client.send('WAIT 1 100')).toBe('');
    wire.clock.advance(99);
    expect(client.received()).toBe('');
    wire.clock.advance(1);
    expect(client.received()).toBe(':0');
  });

  it('WAIT does not block inside of MULTI', () => {
    client.send('MULTI');
    client.send('WAIT 1 0');
    expect(client.send('EXEC')).toBe('*1 :0');
  });

  it('CLIENT UNBLOCK ends a WAIT without timeout', () => {
    client.send('WAIT 1 0');
    wire.clock.advance(1e9);
    expect(client.received()).toBe('');
    wire.connect().send('CLIENT UNBLOCK 1');
    expect(client.received()).toBe(':0');
  });

  it.each([
    ['WAIT a b', '-ERR value is not an integer or out of range'],
    ['WAIT 1 a', '-ERR timeout is not an integer or out of range'],
    ['WAIT 1 -1', '-ERR timeout is negative'],
  ])('%s is refused', (command, reply) => {
    expect(client.send(command)).toBe(reply);
  });
});

describe('MEMORY', () => {
  const bytes = (command: string) => Number(client.send(command).slice(1));

  it('USAGE grows with the value', () => {
    expect(client.send('MEMORY USAGE k')).toBe('$-1');
    client.send('SET k abc');
    const small = bytes('MEMORY USAGE k');
    client.send(`SET k ${'x'.repeat(1003)}`);
    expect(bytes('MEMORY USAGE k')).toBe(small + 1000);
  });

  it.each([
    ['RPUSH k', ''],
    ['SADD k', ''],
    ['ZADD k', '1 '],
    ['HSET k', 'f'],
  ])('USAGE counts the elements of %s', (command, extra) => {
    const add = (member: string) =>
      client.send(`${command} ${extra}${member}${extra === 'f' ? ' v' : ''}`);
    add('a');
    const one = bytes('MEMORY USAGE k');
    add('b');
    const two = bytes('MEMORY USAGE k SAMPLES 0');
    add('c');
    expect(bytes('MEMORY USAGE k') - two).toBe(two - one);
    expect(two).toBeGreaterThan(one);
  });

  it.each([
    ['MEMORY USAGE', "-ERR wrong number of arguments for 'memory|usage' command"],
    ['MEMORY USAGE k SAMPLES', '-ERR syntax error'],
    ['MEMORY USAGE k SAMPLES a', '-ERR value is not an integer or out of range'],
    ['MEMORY USAGE k SAMPLES -1', '-ERR syntax error'],
    ['MEMORY USAGE k foo', '-ERR syntax error'],
    ['MEMORY USAGE k SAMPLES a foo', '-ERR value is not an integer or out of range'],
    ['MEMORY USAGE k SAMPLES 1 foo', '-ERR syntax error'],
    ['MEMORY foo', "-ERR unknown subcommand 'foo'. Try MEMORY HELP."],
  ])('%s is refused', (command, reply) => {
    expect(client.send(command)).toBe(reply);
  });

  it('STATS, DOCTOR and HELP reply', () => {
    client.send('SET k 1');
    expect(client.send('MEMORY STATS')).toContain('$10 keys.count :1 ');
    expect(client.send('MEMORY DOCTOR')).toContain('nothing to report');
    expect(client.send('MEMORY HELP')).toContain('+USAGE key [SAMPLES count]');
  });
});
