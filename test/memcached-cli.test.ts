import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createLocks, LockArgumentError, LockUnavailableError } from '../src/index.ts';
import { runCli } from './cli-process.ts';
import { startRun } from './cli-run-process.ts';
import { BUILD } from './lock-holder-process.ts';
import { type RunningMemcached, startMemcached } from './real-memcached.ts';

let server: RunningMemcached;

beforeAll(async () => {
  server = await startMemcached();
});

afterAll(() => server.stop());
afterEach(() => server.command('flush_all'));

const WARNING = /HOLDFAST_MEMCACHED/;

describe('createLocks(memcached://…)', () => {
  it('keeps locks in memcached', async () => {
    await using locks = createLocks(`memcached://127.0.0.1:${server.port}`, { prefix: 'app:' });
    await using others = createLocks({ url: server.url, prefix: 'app:' });
    await locks.ready();
    const lease = await locks.mutex('a').acquire();
    expect(await others.mutex('a').tryAcquire()).toBe(null);
    expect(await server.command('mg app:lock:a k')).toBe('HD kapp:lock:a');
    expect(await lease.release()).toBe('released');
    expect(() => others.cache('k', { fresh: '1s' }, () => 1)).toThrow(/keeps locks only/);
  });

  it('can be closed before it is used', async () => {
    await createLocks(server.url).close();
  });

  it('reports a server that cannot be reached', async () => {
    await using locks = createLocks('memcached://127.0.0.1:1');
    await expect(locks.mutex('a').tryAcquire()).rejects.toThrow(LockUnavailableError);
  });

  it.each([
    [{ session: true }, 'session is for redis:// addresses: leave it out with memcached://'],
    [{ renewFrom: 'worker' }, 'renewFrom is for redis:// addresses'],
    [{ key: (name: string) => name }, 'key is for redis:// addresses'],
    [{ tls: {} }, 'tls is for rediss:// addresses'],
    [{ clock: { setTimer() {} } }, 'clock is for locks of this process'],
  ])('refuses %j', (options, message) => {
    const create = () => createLocks(server.url, options as object);
    expect(create).toThrow(LockArgumentError);
    expect(create).toThrow(message);
  });

  it('refuses a wrong address at once, and names the forms of addresses', () => {
    expect(() => createLocks('memcached://host:99999')).toThrow(LockArgumentError);
    expect(() => createLocks('mysql://host')).toThrow(
      /unix:\/path, postgres:\/\/.*memcached:\/\/host:port\.$/,
    );
  });

  it.each(['index.js', 'cjs/index.js'])('works in the build: %s', async (file) => {
    const path = join(dirname(fileURLToPath(BUILD)), file);
    const load = file.startsWith('cjs') ? 'createRequire(import.meta.url)' : 'await import';
    const program = `
      import { createRequire } from 'node:module';
      const { createLocks } = ${load.includes('await') ? `(await import(${JSON.stringify(path)}))` : `${load}(${JSON.stringify(path)})`};
      const locks = createLocks(${JSON.stringify(server.url)});
      process.stdout.write(String(await locks.mutex('a').run((lease) => lease.isHeld)));
      await locks.close();`;
    const args = ['--input-type=module', '-e', program];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
    expect(stdout).toBe('true');
    expect(stderr).toMatch(WARNING);
  });
});

describe('holdfast run --store memcached://…', () => {
  it('runs a command with the lock and without a fence', async () => {
    await using run = startRun(
      ['a', '--store', server.url, '-c', 'echo "$HOLDFAST_LOCK [$HOLDFAST_FENCE]"; exit 3'],
      { HOLDFAST_FENCE: '7' },
    );
    expect(await run.ended()).toBe(3);
    expect(run.text).toBe('a []\n');
    expect(await server.command('mg lock:a v')).toBe('EN');
  });

  it('returns 75 while another client holds the lock', async () => {
    await using locks = createLocks(server.url);
    await locks.mutex('a').acquire({ label: 'nightly' });
    await using run = startRun(['a', '-n', '--', 'true'], { HOLDFAST_STORE: server.url });
    expect(await run.ended()).toBe(75);
    expect(run.text).toContain("lock 'a' is busy");
    expect(run.text).toContain('nightly');
  });

  it('ends the command when the lock is lost', async () => {
    await using run = startRun([
      'a',
      '--store',
      server.url,
      '--lease',
      '1s',
      '-c',
      'echo begun; sleep 30',
    ]);
    await run.waitFor(/begun/);
    await server.command('delete lock:a');
    expect(await run.ended()).toBe(79);
  });

  it('returns 69 if the server cannot be reached', async () => {
    await using run = startRun(['a', '--store', 'memcached://127.0.0.1:1', '--', 'true']);
    expect(await run.ended()).toBe(69);
    expect(run.text).toContain('no connection to memcached://127.0.0.1:1: ECONNREFUSED');
  });

  it.each([
    [['--shared'], '--shared does not work with memcached://, which has mutexes only.'],
    [['--permits', '2'], '--permits does not work with memcached://, which has mutexes only.'],
    [['--session'], '--session needs a store at redis://'],
    [['--ca', 'file'], '--ca needs a store at rediss://'],
    [['--store', 'memcached://host:99999'], 'the address of memcached must be'],
  ])('refuses %j', async (options, message) => {
    const { code, errors } = await runCli([
      'run',
      'a',
      '--store',
      server.url,
      ...options,
      '--',
      'true',
    ]);
    expect(code).toBe(2);
    expect(errors).toContain(message);
  });
});

describe('holdfast ls, show and release --store memcached://…', () => {
  const cli = (...args: string[]) => runCli([...args, '--store', server.url]);

  it('shows the holder, and takes the lock from it', async () => {
    await using locks = createLocks(server.url);
    const lease = await locks.mutex('a').acquire({ label: 'nightly' });
    expect(await cli('show', 'b')).toMatchObject({ code: 1, output: 'b is free.\n' });
    const shown = await cli('show', 'a');
    expect(shown.code).toBe(0);
    expect(shown.output).toMatch(/^a \(mutex\): held by 1\n {2}holds .*pid \d+/);
    expect(shown.output).not.toContain('fence');
    const refused = await cli('release', 'a');
    expect(refused.code).toBe(2);
    const released = await cli('release', 'a', '--force', '--reason', 'test');
    expect(released).toMatchObject({
      code: 0,
      errors: expect.stringContaining('does not keep the reason'),
    });
    expect(released.output).toContain('It is free now.');
    expect(await lease.release()).toBe('not-held');
    expect((await cli('release', 'a', '--force', '--reason', 'test')).code).toBe(1);
  });

  it('shows the value of another program, and JSON', async () => {
    await server.command('add lock:a 0 60 5\r\ntoken');
    expect((await cli('show', 'a')).output).toContain('another program, value token');
    const { locks } = JSON.parse((await cli('show', 'a', '--json')).output);
    expect(locks).toMatchObject([
      { name: 'a', holders: [{ foreign: true, fence: null, type: 'string' }] },
    ]);
  });

  it('says that memcached cannot list', async () => {
    const { code, errors } = await cli('ls');
    expect(code).toBe(69);
    expect(errors).toBe(
      `holdfast: ${server.url} cannot list its locks. Name one: holdfast show <name> or holdfast release <name>.\n`,
    );
  });

  it('reports a server that cannot be reached', async () => {
    const { code, errors } = await runCli(['show', 'a', '--store', 'memcached://127.0.0.1:1']);
    expect(code).toBe(69);
    expect(errors).toContain(
      'does not answer: no connection to memcached://127.0.0.1:1: ECONNREFUSED.',
    );
  });

  it.each([
    [['ls', '--foreign'], "'memcached:' is not known"],
    [['check'], "'memcached:' is not known"],
    [['show', 'a', '--prefix', 'a b'], 'prefix must be at most 200 ASCII characters'],
  ])('refuses %j', async (args, message) => {
    const { code, errors } = await cli(...args);
    expect(code).toBe(2);
    expect(errors).toContain(message);
  });
});
