import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { CliProcess, MAIN, runCli } from './cli-process.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-serve-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The port from the log of a server with --port 0. */
async function portOf(server: CliProcess): Promise<string> {
  return (await server.waitFor(/listens on 127\.0\.0\.1:(\d+)[\s\S]*redis-cli -p \1/))[1]!;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
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

  it('requires the password of HOLDFAST_PASSWORD, which holdfast cli sends', async () => {
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
    await server.waitFor(
      /^\d{4}-\d\d-\d\dT[\d:.]+Z closed 127\.0\.0\.1:\d+: it sent an HTTP request$/m,
    );
    client.destroy();
  });

  it('survives more clients than it has file handles for, and serves again when they left', async () => {
    await using server = new CliProcess('sh', [
      ...['-c', 'ulimit -n 140; exec "$0" "$@"', process.execPath],
      ...[MAIN, 'serve', '--port', '0'],
    ]);
    const port = await portOf(server);
    const clients = Array.from({ length: 150 }, () => connect(Number(port), '127.0.0.1'));
    const fates = await Promise.all(clients.map(fateOf));
    expect(fates).toContain('answered');
    expect(fates).toContain('turned away');
    for (const client of clients) client.destroy();
    // The server may accept a new connection before it notices that others are closed.
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

  it('prints an uncaught exception and exits with 1', async () => {
    const bomb = 'process.on("SIGUSR2", () => { throw new Error("bang"); });';
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(bomb)}`];
    await using server = CliProcess.node(['serve', '--port', '0'], { flags });
    await portOf(server);
    server.child.kill('SIGUSR2');
    expect(await server.ended()).toBe(1);
    expect(server.text).toContain('Error: bang');
  });

  it('ends in order after an exception in the thread that serves, and says in which command', async () => {
    const bomb = `import { isMainThread } from 'node:worker_threads';
      if (!isMainThread) setTimeout(() => { throw new Error('bang'); }, 1500);`;
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(bomb)}`];
    await using server = CliProcess.node(['serve', '--port', '0'], { flags });
    const port = await portOf(server);
    const client = connect(Number(port), '127.0.0.1');
    client.resume().write('PING\r\n');
    await once(client, 'close');
    expect(await server.ended()).toBe(1);
    expect(server.text).toMatch(/ends after an internal error in (ping|NULL): Error: bang/);
  });

  it('opens nothing at SIGUSR1, and takes the new password of its file at SIGHUP', async () => {
    const path = join(folder, 'password');
    writeFileSync(path, 'first\n', { mode: 0o600 });
    const args = ['serve', '--port', '0', '--password-file', path];
    await using server = CliProcess.node(args);
    const port = await portOf(server);
    writeFileSync(path, 'second\n');
    server.child.kill('SIGUSR1');
    server.child.kill('SIGHUP');
    await server.waitFor(/reloaded the password/);
    expect(await askAs('second', port)).toBe('PONG\n');
    expect(await askAs('first', port)).toContain('Could not sign in: WRONGPASS');
    writeFileSync(path, '');
    server.child.kill('SIGHUP');
    await server.waitFor(/kept the password before: /);
    expect(await askAs('second', port)).toBe('PONG\n');
    expect(server.text).not.toContain('Debugger');
  });

  it('keeps a password of CONFIG SET at SIGHUP if there is no password file', async () => {
    await using server = CliProcess.node(['serve', '--port', '0'], {
      environment: { HOLDFAST_PASSWORD: 'first' },
    });
    const port = await portOf(server);
    const store = `redis://:first@127.0.0.1:${port}`;
    await runCli(['cli', '--store', store, 'CONFIG', 'SET', 'requirepass', 'second']);
    server.child.kill('SIGHUP');
    await server.waitFor(/SIGHUP: nothing to reload/);
    expect(await askAs('second', port)).toBe('PONG\n');
  });
});

async function askAs(password: string, port: string): Promise<string> {
  const store = `redis://:${password}@127.0.0.1:${port}`;
  const { output, errors } = await runCli(['cli', '--store', store, 'PING']);
  return output + errors;
}

describe('the memory of holdfast serve', () => {
  async function figures(port: string): Promise<Record<string, number>> {
    const info = await ask(port, 'INFO', 'memory');
    const fields = [...info.matchAll(/^(\w+):(\d+)\r?$/gm)];
    return Object.fromEntries(fields.map(([, name, value]) => [name, Number(value)]));
  }

  it('has a limit, and a heap that can hold as much', async () => {
    await using server = CliProcess.node(['serve', '--port', '0', '--maxmemory', '2gb']);
    const { maxmemory, holdfast_heap_limit: heap } = await figures(await portOf(server));
    expect(maxmemory).toBe(2 * 1024 ** 3);
    expect(heap).toBeGreaterThan(3 * 1024 ** 3);
  });

  it('is limited by the heap size of NODE_OPTIONS', async () => {
    const flags = ['--max-old-space-size=128'];
    await using server = CliProcess.node(['serve', '--port', '0'], { flags });
    const { maxmemory } = await figures(await portOf(server));
    expect(maxmemory).toBeGreaterThan(30 * 1024 ** 2);
    expect(maxmemory).toBeLessThan(90 * 1024 ** 2);
    const port = await portOf(server);
    expect(await ask(port, 'CONFIG', 'SET', 'maxmemory', '1gb')).toMatch(
      /the heap of this process/,
    );
  });

  it('is not promised where the heap is too small for it', async () => {
    const flags = ['--max-old-space-size=128'];
    const args = ['serve', '--port', '0', '--maxmemory', '1gb'];
    await using server = CliProcess.node(args, { flags });
    expect(await server.ended()).toBe(1);
    expect(server.text).toMatch(/^holdfast: refused to start: the heap of this process holds/);
  });
});

describe('holdfast serve when its thread crashes', () => {
  it('prints one line with the reason, and exits with 1', async () => {
    const code = `import { isMainThread } from 'node:worker_threads'; if (!isMainThread) throw new Error('fault');`;
    const flags = ['--import', `data:text/javascript,${encodeURIComponent(code)}`];
    await using server = CliProcess.node(['serve', '--port', '0'], { flags });
    expect(await server.ended()).toBe(1);
    expect(server.text).toMatch(/^\S+ the server crashed: Error: fault[^\n]*\n$/);
  });
});

describe('holdfast serve after a server that lost its data', () => {
  const environment = { HOLDFAST_RUNTIME_DIR: join(folder, 'run') };
  const start = (port: string, graceSeconds: string): CliProcess =>
    CliProcess.node(['serve', '--port', port, '--restart-grace', graceSeconds], { environment });

  it('takes no writes while its locks may be held', async () => {
    const port = String(await freePort());
    await using killed = start(port, '2');
    await portOf(killed);
    expect(await ask(port, 'SET', 'k', 'v')).toBe('OK\n');
    killed.child.kill('SIGKILL');
    await killed.ended();
    await using server = start(port, '2');
    await portOf(server);
    expect(server.text).toContain('for 2 s this one takes no writes');
    expect(await ask(port, 'SET', 'k', 'v')).toMatch(
      /^LOADING Holdfast has restarted without its data/,
    );
    expect(await ask(port, 'EVAL', 'return 1', '0')).toMatch(/^LOADING/);
    expect(await ask(port, 'EXISTS', 'k')).toBe('0\n');
    while ((await ask(port, 'SET', 'k', 'v')) !== 'OK\n');
  });

  it('takes no writes for the rest of the time after a restart in order meanwhile', async () => {
    const port = String(await freePort());
    await using killed = start(port, '30');
    await portOf(killed);
    killed.child.kill('SIGKILL');
    await killed.ended();
    await using second = start(port, '30');
    await portOf(second);
    second.child.kill('SIGTERM');
    expect(await second.ended()).toBe(0);
    await using third = start(port, '30');
    await portOf(third);
    expect(await ask(port, 'SET', 'k', 'v')).toMatch(/^LOADING/);
  });

  it.each([
    ['with a lease', ['SET', 'k', 'v', 'PX', '60000'], true],
    ['without one', ['SET', 'k', 'v'], false],
  ])('knows whether that ended in order %s', async (_how, command, waits) => {
    const port = String(await freePort());
    await using first = start(port, '5');
    await portOf(first);
    await ask(port, ...command);
    first.child.kill('SIGTERM');
    expect(await first.ended()).toBe(0);
    await using second = start(port, '5');
    await portOf(second);
    expect((await ask(port, 'SET', 'k', 'v')).startsWith('LOADING')).toBe(waits);
  });
});
