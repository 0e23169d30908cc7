import { describe, expect, it } from 'vitest';
import { createEngine } from '../../engine/index.ts';
import { bytesOf } from '../bytes.ts';
import { readDirective } from './config-file.ts';
import { applyDirectives, type ConfigFindings } from './config-settings.ts';
import { rewriteConfig } from './rewrite-config.ts';

describe('a line of a configuration file', () => {
  it.each([
    ['port 7001', 'port', ['7001']],
    ['  PORT\t7001\r', 'port', ['7001']],
    ['requirepass "a b\\n\\x41\\""', 'requirepass', ['a b\nA"']],
    ["requirepass 'it\\'s'", 'requirepass', ["it's"]],
    ['save ""', 'save', ['']],
    ['save 900 1 300 10', 'save', ['900', '1', '300', '10']],
    [bytesOf('requirepass géheim'), 'requirepass', ['géheim']],
    ['dir a#b', 'dir', ['a#b']],
  ])('%j', (text, name, args) => {
    expect(readDirective(text, 3)).toEqual({ line: 3, name, args });
  });

  it.each(['', '  ', '# port 1', '\t#', '\r'])('%j sets nothing', (text) => {
    expect(readDirective(text, 1)).toBeUndefined();
  });

  it.each([
    ['port', "'port' has no value"],
    ['requirepass "a', 'the quotes are not balanced'],
    ['requirepass "a"b', 'the quotes are not balanced'],
    ['requirepass "\\xff"', 'the value is not UTF-8'],
  ])('%j is an error', (text, message) => {
    expect(() => readDirective(text, 1)).toThrow(message);
  });
});

describe('the settings of a configuration file', () => {
  function apply(...lines: string[]): ConfigFindings & { value(name: string): string | undefined } {
    const { settings } = createEngine();
    const directives = lines.flatMap((text, index) => readDirective(text, index + 1) ?? []);
    const found = applyDirectives(directives, settings, ['restart-grace']);
    return { ...found, value: (name) => settings.matching([name]).get(name) };
  }

  it('are set by name and alias, with units of memory; of repeated lines the last counts', () => {
    const found = apply(
      'tcp-keepalive 1',
      'lua-time-limit 7',
      'proto-max-bulk-len 2mb',
      'tcp-keepalive 9',
    );
    expect(found).toMatchObject({ errors: [], notices: [] });
    expect(found.value('tcp-keepalive')).toBe('9');
    expect(found.value('busy-reply-threshold')).toBe('7');
    expect(found.value('proto-max-bulk-len')).toBe('2097152');
  });

  it('are all named if they are wrong, with line and suggestion', () => {
    const { errors } = apply(
      'tcp-keepaliv 1',
      'xyzzyxyzzy 1',
      'restartgrace 3',
      'hz 1 2',
      'timeout x',
    );
    expect(errors).toEqual([
      "line 1: there is no setting 'tcp-keepaliv'; did you mean tcp-keepalive?",
      "line 2: there is no setting 'xyzzyxyzzy'",
      "line 3: there is no setting 'restartgrace'; did you mean restart-grace?",
      'line 4: hz takes one value; put it into quotes if it has blanks',
      "line 5: timeout: argument couldn't be parsed into an integer",
    ]);
  });

  it.each([
    [
      'include other.conf',
      'line 1: include cannot be used: a configuration is one file; join the files',
    ],
    ['replicaof 10.0.0.1 6379', 'line 1: replicaof cannot be used: there is no replication'],
    [
      'rename-command FLUSHALL ""',
      'line 1: rename-command cannot be used: commands are not renamed',
    ],
    ['maxmemory-policy allkeys-lru', 'line 1: maxmemory-policy: keys are never evicted here'],
    ['save 900 1', 'line 1: save: there are no snapshots here'],
    ['cluster-enabled yes', 'line 1: cluster-enabled: this server is a single node'],
  ])('refuse %j with the reason', (line, message) => {
    expect(apply(line).errors).toEqual([expect.stringContaining(message)]);
  });

  it('of Redis that change nothing are listed, and are no errors', () => {
    const { errors, notices } = apply('daemonize yes', 'io-threads 4', 'repl-backlog-size 1mb');
    expect(errors).toEqual([]);
    expect(notices).toEqual([
      'line 1: daemonize has no effect here: the server runs in the foreground; the service manager does this',
      'line 2: io-threads has no effect here: commands run in one thread, on the cores that the system chooses',
      'line 3: repl-backlog-size has no effect here: there is no replication',
    ]);
  });
});

describe('CONFIG REWRITE', () => {
  const { settings } = createEngine();
  const rewrite = (text: string, changed: Record<string, string>): string =>
    rewriteConfig(text, new Map(Object.entries(changed)), (word) => settings.nameOf(word));

  it('refuses a value that a file cannot have', () => {
    expect(() => rewrite('port 1\n', { requirepass: '\xff' })).toThrow('requirepass is not UTF-8');
  });

  it('changes the lines of changed settings, and no other byte', () => {
    const text = '# mine\n\n  Timeout   5   \nport 7001\n# timeout 9\nmaxclients "7"\n';
    expect(rewrite(text, { timeout: '60' })).toBe(
      '# mine\n\ntimeout 60\nport 7001\n# timeout 9\nmaxclients "7"\n',
    );
  });

  it('removes further lines of the setting, also under its other name', () => {
    const text = 'lua-time-limit 1\nhz 10\nbusy-reply-threshold 2\n';
    expect(rewrite(text, { 'busy-reply-threshold': '3' })).toBe('busy-reply-threshold 3\nhz 10\n');
  });

  it('adds settings without a line at the end, under one comment', () => {
    const once = rewrite('port 1', { timeout: '60' });
    expect(once).toBe('port 1\n# Generated by CONFIG REWRITE\ntimeout 60\n');
    expect(rewrite(once, { maxclients: '5' })).toBe(`${once}maxclients 5\n`);
    expect(rewrite('', { timeout: '60' })).toBe('# Generated by CONFIG REWRITE\ntimeout 60\n');
  });

  it('changes nothing without changed settings', () => {
    expect(rewrite('port 1\r\n# x\n', {})).toBe('port 1\r\n# x\n');
  });

  it.each(['', 'a b', '#x', '"', "'", '\\', 'a\nb\0', bytesOf('géheim'), '$x{}'])(
    'quotes %j so that it is read back',
    (value) => {
      const [, line = ''] = rewrite('', { requirepass: value }).split('\n');
      expect(bytesOf(readDirective(line, 1)!.args[0]!)).toBe(value);
    },
  );
});
