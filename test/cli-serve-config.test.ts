import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { foreignSetting } from '../src/cli/serve/redis-settings.ts';
import { readServeOptions } from '../src/cli/serve-options.ts';
import { createEngine } from '../src/engine/index.ts';
import { CliProcess, runCli } from './cli-process.ts';
import { startRealRedis } from './real-redis.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-config-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

function configFile(...lines: string[]): string {
  const own = join(folder, String(files++));
  mkdirSync(own);
  const path = join(own, 'holdfast.conf');
  writeFileSync(path, `${lines.join('\n')}\n`);
  return path;
}

async function portOf(server: CliProcess): Promise<string> {
  return (await server.waitFor(/listens on 127\.0\.0\.1:(\d+)[\s\S]*Try/))[1]!;
}

async function ask(port: string | number, ...argv: string[]): Promise<string> {
  const { output, errors } = await runCli(['cli', '--store', `redis://127.0.0.1:${port}`, ...argv]);
  return output + errors;
}

describe('holdfast serve with a configuration file', () => {
  it.each([
    ['as the first argument', (path: string) => [path]],
    ['by --config', (path: string) => ['--config', path]],
  ])('named %s uses its settings', async (_, args) => {
    const path = configFile(
      '# test',
      'port 0',
      'maxclients 77',
      'tcp-keepalive 5',
      'maxmemory 64mb',
      'daemonize no',
    );
    await using server = CliProcess.node(['serve', ...args(path)]);
    const port = await portOf(server);
    const { output } = await runCli([
      'cli',
      '--store',
      `redis://127.0.0.1:${port}`,
      'CONFIG',
      'GET',
      'maxclients',
      'tcp-keepalive',
      'maxmemory',
    ]);
    expect(output).toBe('maxclients\n77\ntcp-keepalive\n5\nmaxmemory\n67108864\n');
    expect(server.text).toContain(`${path}, line 6: daemonize has no effect here: `);
  });

  it('is overridden by variables, and these by flags', () => {
    const path = configFile(
      'port 1',
      'maxclients 1',
      'timeout 1',
      'bind 127.0.0.2',
      'protected-mode no',
    );
    const environment = { HOLDFAST_CONFIG: path, HOLDFAST_MAXCLIENTS: '2', HOLDFAST_TIMEOUT: '2' };
    const { values, config } = readServeOptions(['--timeout', '3'], environment);
    expect(values).toMatchObject({
      port: '1',
      maxclients: '2',
      timeout: '3',
      host: '127.0.0.2',
      unprotected: true,
    });
    expect(config?.lines).toEqual({ port: 1, host: 4, unprotected: 5 });
  });

  it('has a password that flags and variables override as a pair with the password file', () => {
    const path = configFile('requirepass "from file"');
    const secret = join(folder, 'secret');
    writeFileSync(secret, 'secret\n', { mode: 0o600 });
    expect(readServeOptions([path], {}).values.password).toBe('from file');
    expect(readServeOptions([path], { HOLDFAST_PASSWORD: 'variable' }).values.password).toBe(
      'variable',
    );
    expect(readServeOptions([path, '--password-file', secret], {}).values.password).toBe('secret');
    const named = configFile(`password-file ${secret}`);
    expect(readServeOptions([named], {}).values.password).toBe('secret');
    const both = configFile('requirepass x', `password-file ${secret}`);
    expect(() => readServeOptions([both], {})).toThrow('not both');
  });

  it('may begin with a byte order mark', () => {
    const path = configFile('\ufeff# a comment', 'timeout 7');
    expect(readServeOptions([path], {}).values.timeout).toBe('7');
  });

  it.each([
    ['a flag', () => ['--password', 'secret'.repeat(200)]],
    ['a line', () => [configFile(`requirepass ${'secret'.repeat(200)}`)]],
  ])('does not print a password that %s has and that is too long', async (_, args) => {
    await using server = CliProcess.node(['serve', '--port', '0', ...args()]);
    expect(await server.ended()).toBe(2);
    expect(server.text).toMatch(
      /cannot be used \(requirepass: argument must have at most \d+ bytes\)/,
    );
    expect(server.text).not.toContain('secret');
  });

  it('names every line that it cannot use, and exits with 2', async () => {
    const path = configFile(
      'prt 7001',
      'port 0',
      'replicaof 10.0.0.1 6379',
      '',
      'notify-keyspace-event Ex',
    );
    await using server = CliProcess.node(['serve', path]);
    expect(await server.ended()).toBe(2);
    expect(server.text.split('\n')).toEqual([
      `holdfast: ${path}, line 1: there is no setting 'prt'; did you mean port?`,
      `holdfast: ${path}, line 3: replicaof cannot be used: there is no replication`,
      `holdfast: ${path}, line 5: there is no setting 'notify-keyspace-event'; did you mean notify-keyspace-events?`,
      `holdfast: ${path} has 3 errors. See holdfast serve --help.`,
      '',
    ]);
  });

  it.each([
    ['port 65536', /holdfast\.conf:1: port cannot be '65536' \(/],
    ['bind 127.0.0.1 -::1', /holdfast\.conf:1: bind takes one value/],
    ['port "1', /holdfast\.conf:1: the quotes are not balanced\./],
    ['protected-mode perhaps', /holdfast\.conf:1: protected-mode is yes or no\./],
  ])('refuses %j and names the line', async (line, message) => {
    await using server = CliProcess.node(['serve', configFile(line)]);
    expect(await server.ended()).toBe(2);
    expect(server.text).toMatch(message);
  });

  it('that does not exist is named', async () => {
    const { code, errors } = await runCli(['serve', '/nowhere.conf']);
    expect(errors).toMatch(
      /^holdfast: cannot read the configuration file \/nowhere.conf \(ENOENT\)\./,
    );
    expect(code).toBe(2);
    expect((await runCli(['serve', 'a', '--config', 'b'])).errors).toContain(
      "Name one configuration file: 'a' or 'b'.",
    );
  });

  it('knows every setting of redis-server, or why it has no place here', async () => {
    const redis = await startRealRedis();
    try {
      const lines = (await ask(redis.port, 'CONFIG', 'GET', '*')).split('\n');
      const { settings } = createEngine();
      const names = lines.filter((_, index) => index % 2 === 0 && index < lines.length - 1);
      const missing = names.filter((name) => !settings.nameOf(name) && !foreignSetting(name));
      expect(names.length).toBeGreaterThan(100);
      expect(missing).toEqual([]);
    } finally {
      await redis.stop();
    }
  });
});

describe('CONFIG REWRITE', () => {
  it('writes changed settings into the file, with its mode, through a link, and the next server uses them', async () => {
    const path = configFile('# keep me', 'port 0', 'timeout 5', 'maxclients 50');
    chmodSync(path, 0o640);
    const link = join(folder, 'link.conf');
    symlinkSync(path, link);
    const changed = ['timeout', '60', 'slowlog-max-len', '9'];
    {
      await using server = CliProcess.node(['serve', link, '--maxclients', '70']);
      const port = await portOf(server);
      expect(await ask(port, 'CONFIG', 'SET', ...changed)).toBe('OK\n');
      expect(await ask(port, 'CONFIG', 'REWRITE')).toBe('OK\n');
    }
    expect(readFileSync(path, 'utf8')).toBe(
      '# keep me\nport 0\ntimeout 60\nmaxclients 50\n# Generated by CONFIG REWRITE\nslowlog-max-len 9\n',
    );
    expect(statSync(path).mode & 0o777).toBe(0o640);
    expect(readdirSync(join(path, '..'))).toEqual(['holdfast.conf']);
    await using next = CliProcess.node(['serve', link]);
    const port = await portOf(next);
    expect(await ask(port, 'CONFIG', 'GET', 'timeout', 'slowlog-max-len')).toBe(
      'timeout\n60\nslowlog-max-len\n9\n',
    );
  });

  it('fails without a file, and says why if the file is gone', async () => {
    const path = configFile('port 0');
    await using server = CliProcess.node(['serve', path]);
    const port = await portOf(server);
    rmSync(path);
    expect(await ask(port, 'CONFIG', 'REWRITE')).toMatch(/^ERR Rewriting config file: ENOENT/);
    await using other = CliProcess.node(['serve', '--port', '0']);
    expect(await ask(await portOf(other), 'CONFIG', 'REWRITE')).toBe(
      'ERR The server is running without a config file\n\n',
    );
  });
});

describe('the log of holdfast serve', () => {
  it('has JSON lines with --log-format json, the banner too', async () => {
    const args = ['serve', '--port', '0', '--log-format', 'json'];
    await using server = CliProcess.node(args);
    const [, port] = await server.waitFor(/listens on 127\.0\.0\.1:(\d+)"/);
    await ask(port!, 'EVAL', "redis.log(redis.LOG_WARNING, 'from a script')", '0');
    await server.waitFor(/from a script.*\n/);
    const lines = server.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(lines).toEqual([
      {
        time: expect.stringMatching(/^\d{4}-.*Z$/),
        level: 'notice',
        event: 'listening',
        message: expect.stringMatching(/^holdfast .* listens on /),
        fields: {
          version: expect.any(String),
          addresses: `127.0.0.1:${port}`,
          durability: expect.any(String),
          access: 'programs on this machine, without TLS; no password is needed',
        },
      },
      {
        time: expect.any(String),
        level: 'warning',
        event: 'engine',
        message: 'from a script',
        fields: {},
      },
    ]);
  });

  it('has the lines from --loglevel on, which CONFIG SET changes', async () => {
    await using server = CliProcess.node(['serve', '--port', '0', '--loglevel', 'warning']);
    const port = await portOf(server);
    const log = (level: string): Promise<string> =>
      ask(port, 'EVAL', `redis.log(redis.LOG_${level}, '${level}')`, '0');
    for (const level of ['DEBUG', 'VERBOSE', 'NOTICE', 'WARNING']) await log(level);
    await server.waitFor(/WARNING/);
    expect(server.text).not.toMatch(/DEBUG|VERBOSE|NOTICE/);
    await ask(port, 'CONFIG', 'SET', 'loglevel', 'debug');
    await log('DEBUG');
    await server.waitFor(/DEBUG/);
    await ask(port, 'CONFIG', 'SET', 'loglevel', 'verbose');
    await ask(port, 'PING');
    await server.waitFor(/Z accepted 127\.0\.0\.1:\d+\n/);
  });
});

describe('holdfast serve as a service of systemd', () => {
  function fakeNotify(script: string): string {
    const path = join(folder, `bin-${files++}`);
    mkdirSync(path);
    writeFileSync(join(path, 'systemd-notify'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return `${path}:${process.env['PATH']}`;
  }

  it('reports READY=1 when it listens and STOPPING=1 when it ends', async () => {
    const log = join(folder, 'notify');
    const environment = {
      NOTIFY_SOCKET: '/run/x',
      PATH: fakeNotify(`echo "$@" >> ${log}; echo "$1" >&2`),
    };
    await using server = CliProcess.node(['serve', '--port', '0'], { environment });
    await portOf(server);
    const read = (): string => {
      try {
        return readFileSync(log, 'utf8');
      } catch {
        return '';
      }
    };
    while (read() !== 'READY=1\n') await ask(await portOf(server), 'PING');
    server.child.kill('SIGTERM');
    expect(await server.ended()).toBe(0);
    await vi.waitFor(() => expect(read()).toBe('READY=1\nSTOPPING=1\n'));
  });

  it('logs that systemd-notify fails, and serves', async () => {
    const environment = { NOTIFY_SOCKET: '/run/x', PATH: fakeNotify('exit 3') };
    await using server = CliProcess.node(['serve', '--port', '0'], { environment });
    await server.waitFor(/systemd-notify ended with 3\n/);
    expect(await ask(await portOf(server), 'PING')).toBe('PONG\n');
  });

  it('runs no program without NOTIFY_SOCKET', async () => {
    const environment = { NOTIFY_SOCKET: '', PATH: fakeNotify('exit 3') };
    await using server = CliProcess.node(['serve', '--port', '0'], { environment });
    await portOf(server);
    server.child.kill('SIGTERM');
    expect(await server.ended()).toBe(0);
    expect(server.text).not.toContain('systemd-notify');
  });
});
