import { beforeEach, describe, expect, it } from 'vitest';
import { startWire, type Wire, type WireClient } from '../../../test/wire-dialogue.ts';

let wire: Wire;
let client: WireClient;

beforeEach(() => {
  wire = startWire();
  client = wire.connect();
});

describe('INFO', () => {
  const titles = (command: string) => client.say(command).match(/# \w+/g) ?? [];
  const USUAL = ['Server', 'Clients', 'Memory', 'Persistence', 'Stats', 'Replication', 'CPU'];
  const REST = ['Errorstats', 'Cluster', 'Keyspace'];
  const shown = (...names: string[]) => names.map((name) => `# ${name}`);

  it('has the sections of Redis in their order', () => {
    expect(titles('INFO')).toEqual(shown(...USUAL, 'Modules', ...REST));
    expect(titles('INFO default')).toEqual(shown(...USUAL, 'Modules', ...REST));
    expect(titles('INFO everything')).toEqual(shown(...USUAL, 'Modules', 'Commandstats', ...REST));
    expect(titles('INFO ALL')).toContain('# Commandstats');
    expect(titles('INFO keyspace nonsense CPU')).toEqual(shown('CPU', 'Keyspace'));
    expect(client.say('INFO nonsense')).toBe('$0');
  });

  it('tells versions and time', () => {
    wire.clock.advance(3 * 86_400_000 + 1000);
    const text = client.say('INFO server');
    for (const field of ['redis_version:7.0.15', 'tcp_port:6379', 'uptime_in_days:3']) {
      expect(text).toContain(field);
    }
    expect(text).toContain(`uptime_in_seconds:${3 * 86_400 + 1}`);
    expect(text).toMatch(/holdfast_version:\d/);
    expect(text).toMatch(/run_id:[0-9a-f]{40} /);
  });

  it('counts', () => {
    const other = wire.connect();
    other.say('SUBSCRIBE a b');
    for (const command of ['SET k 1 PX 50', 'GET k', 'GET nothing', 'INCR k x'])
      client.say(command);
    expect(client.say('INFO stats')).toMatch(
      /total_connections_received:2 total_commands_processed:5 .* keyspace_hits:1 keyspace_misses:1 pubsub_channels:2 .* total_error_replies:1/,
    );
    expect(client.say('INFO keyspace')).toBe('$44 # Keyspace db0:keys=1,expires=1,avg_ttl=0');
    wire.clock.advance(50);
    expect(client.say('INFO stats')).toContain('expired_keys:1');
    expect(client.say('INFO clients')).toContain('connected_clients:2');
  });

  it('counts blocked clients, but not held ones', () => {
    wire.connect().say('BLPOP nothing 0');
    client.say('CLIENT PAUSE 100 WRITE');
    wire.connect().say('SET k 1');
    expect(client.say('INFO clients')).toContain('blocked_clients:1');
  });

  it('counts commands, inside of transactions too, and errors', () => {
    for (const command of ['GET a', 'MULTI', 'GET b', 'EXEC', 'GET', 'LPUSH l x', 'GET l']) {
      client.say(command);
    }
    const text = client.say('INFO commandstats');
    expect(text).toContain(
      'cmdstat_get:calls=3,usec=0,usec_per_call=0.00,rejected_calls=1,failed_calls=1',
    );
    expect(text).not.toContain('cmdstat_set');
    expect(client.say('INFO errorstats')).toBe(
      '$66 # Errorstats errorstat_ERR:count=1 errorstat_WRONGTYPE:count=1',
    );
  });

  it('tells the rate of commands since the last look', () => {
    client.say('INFO stats');
    for (let count = 0; count < 99; count++) client.say('PING');
    wire.clock.advance(500);
    expect(client.say('INFO stats')).toContain('instantaneous_ops_per_sec:200 ');
  });

  it('is verbatim text in the newer protocol', () => {
    client.say('HELLO 3');
    expect(client.say('INFO cluster')).toBe('=34 txt:# Cluster cluster_enabled:0');
  });
});

it('TIME tells seconds and microseconds', () => {
  wire.clock.advance(1234.5);
  expect(client.say('TIME')).toBe('*2 $10 1767225601 $6 234500');
});

it('SWAPDB exchanges keys', () => {
  const dialogue = [
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
  for (const [command, reply] of dialogue) expect(client.say(command), command).toBe(reply);
});

describe('SHUTDOWN', () => {
  it('asks the server, and answers nothing', () => {
    let requests = 0;
    wire.engine.requestShutdown = () => requests++;
    expect(client.say('SHUTDOWN')).toBe('');
    expect(client.say('SHUTDOWN nosave now force')).toBe('');
    expect(requests).toBe(2);
  });

  it.each([
    ['', '-ERR SHUTDOWN needs a server: this engine runs inside of another program'],
    [' foo', '-ERR syntax error'],
    [' SAVE NOSAVE', '-ERR syntax error'],
    [' ABORT NOW', '-ERR syntax error'],
    [' ABORT', '-ERR No shutdown in progress.'],
  ])('refuses"%s" without one', (options, reply) => {
    expect(client.say(`SHUTDOWN${options}`)).toBe(reply);
  });

  it('is not for transactions', () => {
    client.say('MULTI');
    expect(client.say('SHUTDOWN')).toBe('-ERR Command not allowed inside a transaction');
  });
});

describe('WAIT and ROLE', () => {
  it('know of no replicas', () => {
    expect(client.say('ROLE')).toBe('*3 $6 master :0 *0');
    expect(client.say('WAIT 0 0')).toBe(':0');
    expect(client.say('WAIT -1 0')).toBe(':0');
  });

  it('WAIT waits for its time', () => {
    expect(client.say('WAIT 1 100')).toBe('');
    wire.clock.advance(99);
    expect(client.hears()).toBe('');
    wire.clock.advance(1);
    expect(client.hears()).toBe(':0');
  });

  it('WAIT does not wait inside of MULTI', () => {
    client.say('MULTI');
    client.say('WAIT 1 0');
    expect(client.say('EXEC')).toBe('*1 :0');
  });

  it('WAIT for ever is ended by CLIENT UNBLOCK', () => {
    client.say('WAIT 1 0');
    wire.clock.advance(1e9);
    expect(client.hears()).toBe('');
    wire.connect().say('CLIENT UNBLOCK 1');
    expect(client.hears()).toBe(':0');
  });

  it.each([
    ['WAIT a b', '-ERR value is not an integer or out of range'],
    ['WAIT 1 a', '-ERR timeout is not an integer or out of range'],
    ['WAIT 1 -1', '-ERR timeout is negative'],
  ])('%s is refused', (command, reply) => {
    expect(client.say(command)).toBe(reply);
  });
});

describe('MEMORY', () => {
  const bytes = (command: string) => Number(client.say(command).slice(1));

  it('USAGE grows with what is kept', () => {
    expect(client.say('MEMORY USAGE k')).toBe('$-1');
    client.say('SET k abc');
    const small = bytes('MEMORY USAGE k');
    client.say(`SET k ${'x'.repeat(1003)}`);
    expect(bytes('MEMORY USAGE k')).toBe(small + 1000);
  });

  it.each([
    ['RPUSH k', ''],
    ['SADD k', ''],
    ['ZADD k', '1 '],
    ['HSET k', 'f'],
  ])('USAGE counts the elements of %s', (command, extra) => {
    const add = (member: string) =>
      client.say(`${command} ${extra}${member}${extra === 'f' ? ' v' : ''}`);
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
    expect(client.say(command)).toBe(reply);
  });

  it('STATS, DOCTOR and HELP answer', () => {
    client.say('SET k 1');
    expect(client.say('MEMORY STATS')).toContain('$10 keys.count :1 ');
    expect(client.say('MEMORY DOCTOR')).toContain('nothing to report');
    expect(client.say('MEMORY HELP')).toContain('+USAGE key [SAMPLES count]');
  });
});
