import { beforeEach, describe, expect, it } from 'vitest';
import { startWireEngine, type WireClient, type WireEngine } from '../../test/wire-client.ts';
import { COMMANDS } from './commands/index.ts';

let wire: WireEngine;
let client: WireClient;

beforeEach(() => {
  wire = startWireEngine();
  client = wire.connect();
});

/** Logs a command with a duration, since the virtual clock does not move while a command runs. */
function logCommand(words: string, durationMs: number): void {
  const argv = words.split(' ');
  const command = COMMANDS.get(argv[0]!)!;
  const found = command.subcommands?.get(argv[1]!) ?? command;
  wire.engine.slowLog.add(client.session, found, argv, durationMs);
}

describe('SLOWLOG', () => {
  it('keeps commands that took at least the threshold', () => {
    client.send('CONFIG SET slowlog-log-slower-than 0');
    client.send('CLIENT SETNAME me');
    wire.clock.advance(2500);
    client.send('GET k');
    expect(client.send('SLOWLOG GET 1')).toBe(
      '*1 *6 :2 :1767225602 :0 *2 $3 GET $1 k $10 10.0.0.1:1 $2 me',
    );
    expect(client.send('SLOWLOG LEN')).toBe(':4');
    expect(client.send('SLOWLOG RESET')).toBe('+OK');
    client.send('CONFIG SET slowlog-log-slower-than -1');
    client.send('SLOWLOG RESET');
    client.send('GET k');
    expect(client.send('SLOWLOG LEN')).toBe(':0');
  });

  it('keeps no more than 4 MB, whatever slowlog-max-len allows', () => {
    client.send('CONFIG SET slowlog-max-len 10000000');
    client.session.name = 'n'.repeat(1_000_000);
    for (let count = 0; count < 20; count++) logCommand('get k', 20);
    expect(client.send('SLOWLOG LEN')).toBe(':4');
  });

  it('does not keep faster commands', () => {
    client.send('CONFIG SET slowlog-log-slower-than 1');
    client.send('GET k');
    expect(client.send('SLOWLOG LEN')).toBe(':0');
  });

  it('returns microseconds, newest first, ten by default', () => {
    for (let count = 1; count <= 12; count++) logCommand('get k', count);
    expect(client.send('SLOWLOG GET 2')).toMatch(/^\*2 \*6 :11 :\d+ :12000 .* :10 :\d+ :11000 /);
    expect(client.send('SLOWLOG GET')).toMatch(/^\*10 /);
    expect(client.send('SLOWLOG GET -1')).toMatch(/^\*12 /);
    expect(client.send('SLOWLOG GET 0')).toBe('*0');
  });

  it('drops the oldest entries', () => {
    client.send('CONFIG SET slowlog-max-len 2');
    for (let count = 1; count <= 3; count++) logCommand('get k', count);
    expect(client.send('SLOWLOG LEN')).toBe(':2');
    client.send('CONFIG SET slowlog-max-len 1');
    expect(client.send('SLOWLOG GET')).toMatch(/^\*1 \*6 :2 /);
  });

  it('shortens many and long arguments as Redis does', () => {
    const longest = 'x'.repeat(160);
    logCommand(`mget ${Array.from({ length: 35 }, (_, at) => at + 1).join(' ')}`, 1);
    logCommand(`mget ${Array.from({ length: 31 }, (_, at) => at + 1).join(' ')}`, 1);
    logCommand(`set k ${longest}`, 1);
    const [long, whole, many] = wire.engine.slowLog.entries;
    expect(many!.argv).toHaveLength(32);
    expect(many!.argv.at(-1)).toBe('... (5 more arguments)');
    expect(whole!.argv.at(-1)).toBe('31');
    expect(long!.argv[2]).toBe(`${'x'.repeat(128)}... (32 more bytes)`);
  });

  it.each([
    ['auth secret', ['auth', '(redacted)']],
    ['hello 3 auth me secret', ['hello', '3', 'auth', '(redacted)', '(redacted)']],
    [
      'config set timeout 1 requirepass secret',
      ['config', 'set', 'timeout', '1', 'requirepass', '(redacted)'],
    ],
    ['get requirepass', ['get', 'requirepass']],
  ])('redacts the secrets of %s', (words, shown) => {
    logCommand(words, 1);
    expect(wire.engine.slowLog.entries[0]!.argv).toEqual(shown);
  });

  it.each([
    ['SLOWLOG GET a', '-ERR count should be greater than or equal to -1'],
    ['SLOWLOG GET -2', '-ERR count should be greater than or equal to -1'],
    [
      'slowlog get 1 2',
      "-ERR unknown subcommand or wrong number of arguments for 'get'. Try SLOWLOG HELP.",
    ],
    ['SLOWLOG LEN x', "-ERR wrong number of arguments for 'slowlog|len' command"],
  ])('%s is rejected', (command, reply) => {
    expect(client.send(command)).toBe(reply);
  });

  it('HELP returns the subcommands', () => {
    expect(client.send('SLOWLOG HELP')).toContain('+GET [count]');
  });
});
