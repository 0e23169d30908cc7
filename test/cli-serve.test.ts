import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CliProcess, MAIN, runCli } from './cli-run.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-serve-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The port that a server which was told to take any has said. */
async function portOf(server: CliProcess): Promise<string> {
  return (await server.waitFor(/listens on 127\.0\.0\.1:(\d+)[\s\S]*redis-cli -p \1/))[1]!;
}

async function ask(port: string, ...argv: string[]): Promise<string> {
  const { output, errors } = await runCli(['cli', '--store', `redis://127.0.0.1:${port}`, ...argv]);
  return output + errors;
}

function fateOf(client: Socket): Promise<'answered' | 'turned away'> {
  return new Promise((resolve) => {
    client.on('error', () => {});
    client.on('close', () => resolve('turned away'));
    client.on('data', () => resolve('answered'));
    client.write('PING\r\n');
  });
}

describe('holdfast serve', () => {
  it('says where it listens and answers there', async () => {
    await using server = CliProcess.node(['serve', '--port', '0']);
    const port = await portOf(server);
    expect(server.text).toContain(`npx holdfast cli --store redis://127.0.0.1:${port} SETNX job`);
    expect(await ask(port, 'SETNX', 'job', 'programmer')).toBe('1\n');
  });

  it('runs where neither eval nor __proto__ exist', async () => {
    const flags = ['--disallow-code-generation-from-strings', '--disable-proto=delete'];
    await using server = CliProcess.node(['serve', '--port', '0'], { flags });
    const port = await portOf(server);
    expect(await ask(port, 'SETNX', 'job', 'programmer')).toBe('1\n');
    expect(await ask(port, 'EVAL', "return redis.call('GET', KEYS[1])", '1', 'job')).toBe(
      'programmer\n',
    );
  });

  it('shows its options by CONFIG GET', async () => {
    const environment = { HOLDFAST_DATABASES: '3', HOLDFAST_MAXCLIENTS: '7' };
    const args = ['serve', '--port', '0', '--maxclients', '9', '--timeout', '60'];
    await using server = CliProcess.node(args, { environment });
    const port = await portOf(server);
    const shown = { port, bind: '127.0.0.1', databases: '3', maxclients: '9', timeout: '60' };
    for (const [name, value] of Object.entries(shown)) {
      expect(await ask(port, 'CONFIG', 'GET', name)).toBe(`${name}\n${value}\n`);
    }
  });

  it('asks for the password of HOLDFAST_PASSWORD, which holdfast cli sends', async () => {
    const environment = { HOLDFAST_PASSWORD: 'géheim' };
    await using server = CliProcess.node(['serve', '--port', '0'], { environment });
    const port = await portOf(server);
    expect(await ask(port, 'PING')).toMatch(/^NOAUTH/);
    const store = ['cli', '--store', `redis://127.0.0.1:${port}`];
    expect((await runCli([...store, 'PING'], { environment })).output).toBe('PONG\n');
    const wrong = await runCli(['cli', '--store', `redis://:wrong@127.0.0.1:${port}`, 'PING']);
    expect(wrong.errors).toMatch(/^Could not sign in: WRONGPASS/);
  });

  it('warns of a password file that other users can read, and uses it', async () => {
    const path = join(folder, 'password');
    writeFileSync(path, 'secret\n');
    chmodSync(path, 0o644);
    await using server = CliProcess.node(['serve', '--port', '0', '--password-file', path]);
    expect(await ask(await portOf(server), 'PING')).toMatch(/^NOAUTH/);
    expect(server.text).toContain(
      `holdfast: warning: the password file ${path} is open to other users (mode 0644). Use chmod 600 ${path}.\n`,
    );
  });

  it('reads the password from its standard input', async () => {
    const words = `exec '${process.execPath}' '${MAIN}' serve --port 0 --password-file /dev/stdin`;
    await using server = new CliProcess('sh', ['-c', `${words} <<END\nsecret\nEND\n`]);
    expect(await ask(await portOf(server), 'PING')).toMatch(/^NOAUTH/);
  });

  it('listens on a Unix socket alone', async () => {
    const path = join(folder, 'private', 'socket');
    await using server = CliProcess.node(['serve', '--unix', path]);
    await server.waitFor(/redis-cli -s/);
    expect(server.text).not.toContain('127.0.0.1');
    const { output } = await runCli(['cli', '--store', `unix:${path}`, 'CONFIG', 'GET', 'port']);
    expect(output).toBe('port\n0\n');
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'ends with 0 at %s, and ends its clients',
    async (signal) => {
      await using server = CliProcess.node(['serve', '--port', '0']);
      const client = connect(Number(await portOf(server)), '127.0.0.1');
      await once(client, 'connect');
      const clientEnds = once(client, 'close');
      client.resume();
      server.child.kill(signal);
      expect(await server.ended()).toBe(0);
      await clientEnds;
    },
  );

  it('ends at once at the second signal', async () => {
    const hang =
      "process.getBuiltinModule('net').Server.prototype.close = () => process.stdout.write('hangs');";
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(hang)}`];
    await using server = CliProcess.node(['serve', '--port', '0'], { flags });
    await portOf(server);
    server.child.kill('SIGINT');
    await server.waitFor(/hangs/);
    server.child.kill('SIGINT');
    expect(await server.ended()).toBe(1);
  });

  it('ends with 0 at SHUTDOWN', async () => {
    await using server = CliProcess.node(['serve', '--port', '0']);
    expect(await ask(await portOf(server), 'SHUTDOWN', 'NOSAVE')).toBe(
      'The server has shut down.\n',
    );
    expect(await server.ended()).toBe(0);
  });

  it('reports clients that it closed, with the time', async () => {
    await using server = CliProcess.node(['serve', '--port', '0']);
    const client = connect(Number(await portOf(server)), '127.0.0.1');
    client.write('POST / HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await server.waitFor(/^\d{4}-\d\d-\d\dT[\d:.]+Z closed 127\.0\.0\.1:\d+: it speaks HTTP$/m);
    client.destroy();
  });

  it('survives more clients than it has file handles for, and serves again when they left', async () => {
    await using server = new CliProcess('sh', [
      ...['-c', 'ulimit -n 90; exec "$0" "$@"', process.execPath],
      ...[MAIN, 'serve', '--port', '0'],
    ]);
    const port = await portOf(server);
    const clients = Array.from({ length: 100 }, () => connect(Number(port), '127.0.0.1'));
    const fates = await Promise.all(clients.map(fateOf));
    expect(fates).toContain('answered');
    expect(fates).toContain('turned away');
    for (const client of clients) client.destroy();
    // The server may hear of somebody new before it hears that the others left.
    while ((await ask(port, 'SETNX', 'job', 'programmer')) !== '1\n');
    expect(server.child.exitCode).toBeNull();
  });

  it('says in one line why it cannot start', async () => {
    await using server = CliProcess.node(['serve', '--port', '0']);
    await using second = CliProcess.node(['serve', '--port', await portOf(server)]);
    expect(await second.ended()).toBe(1);
    expect(second.text).toMatch(/^holdfast: cannot listen on .+ \(EADDRINUSE\)\. .+\n$/);
    await using open = CliProcess.node(['serve', '--port', '0', '--host', '0.0.0.0']);
    expect(await open.ended()).toBe(1);
    expect(open.text).toMatch(/^holdfast: refused to listen on 0\.0\.0\.0 without a password.+\n$/);
  });

  it('prints an exception that nobody caught and ends with 1', async () => {
    const bomb = 'process.on("SIGUSR2", () => { throw new Error("bang"); });';
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(bomb)}`];
    await using server = CliProcess.node(['serve', '--port', '0'], { flags });
    await portOf(server);
    server.child.kill('SIGUSR2');
    expect(await server.ended()).toBe(1);
    expect(server.text).toContain('Error: bang');
  });
});
