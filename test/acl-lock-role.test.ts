import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { CACHE_SCRIPT, type CacheOptions, createCache } from '../src/cache/index.ts';
import { LOCK_ROLE } from '../src/cli/serve/lock-role.ts';
import { lockRight } from '../src/engine/acl/lock-role.ts';
import { createLocks, type Locks, redisStore } from '../src/index.ts';
import { LIBRARY_SCRIPTS, LOCK_SCRIPT, openSession } from '../src/stores/index.ts';
import { PAGE_SCRIPT } from '../src/stores/lists/lock-list-script.ts';
import { DISPATCHED, requestOf } from './acl-requests.ts';
import { runCli } from './cli-process.ts';
import { type RunningServer, startHoldfast } from './real-redis.ts';

/**
 * The category `lock` over a socket: a user with `+@lock` and patterns of keys can do what the library, the cache and the
 * command line need, and nothing else. docs/users.md describes it.
 */
const RULES = ['on', '>pw', '+@lock', '~lock:*', '~semaphore:*', '~rw:*', '~value:*', '~tag:*'];

let server: RunningServer;
let admin: Redis;
let app: Redis;
let url: `redis://${string}`;

beforeAll(async () => {
  server = await startHoldfast({ lockRole: LOCK_ROLE });
  url = `redis://app:pw@127.0.0.1:${server.port}`;
  admin = new Redis(server);
  await admin.call('ACL', 'SETUSER', 'app', ...RULES);
  app = new Redis({ ...server, username: 'app', password: 'pw', enableReadyCheck: false });
});

afterAll(async () => {
  admin.disconnect();
  app.disconnect();
  await server.stop();
});

beforeEach(async () => {
  await admin.flushall();
  await admin.call('SCRIPT', 'FLUSH');
  await admin.call('ACL', 'LOG', 'RESET');
});

/** The objects in ACL LOG: which commands, keys and channels were refused. */
async function refused(): Promise<string[]> {
  const entries = (await admin.call('ACL', 'LOG', '1000')) as unknown[][];
  return entries.map((entry) => String(entry[entry.indexOf('object') + 1]));
}

async function expectNothingRefused(): Promise<void> {
  expect(await refused()).toEqual([]);
}

/** Takes, extends, queues for, hands over and lists every kind of lock. */
async function useLocks(one: Locks, other: Locks): Promise<void> {
  for (const lockOf of [
    (locks: Locks) => locks.mutex('a'),
    (locks: Locks) => locks.semaphore('a', 1),
    (locks: Locks) => locks.readWrite('a').write,
  ]) {
    const lease = await lockOf(one).acquire({ lease: '30s' });
    expect(await lockOf(other).tryAcquire()).toBe(null);
    const waiting = lockOf(other).acquire({ wait: '10s' });
    while ((await lockOf(one).inspect()).waiters.length === 0) await new Promise(setImmediate);
    await lease.extend('20s');
    expect(await lease.release()).toBe('released');
    const next = await waiting;
    expect(next.fence).toBeGreaterThan(lease.fence);
    expect(await next.release()).toBe('released');
  }
}

describe('a user with +@lock can use', () => {
  it('locks over the client of the library', async () => {
    await using one = createLocks(url);
    await using other = createLocks(url);
    await useLocks(one, other);
    await expectNothingRefused();
  });

  it('locks over ioredis', async () => {
    const options = { ...server, username: 'app', password: 'pw' };
    const clients = [new Redis(options), new Redis(options)];
    onTestFinished(() => {
      for (const client of clients) client.disconnect();
    });
    await using one = createLocks({ store: redisStore(clients[0]!) });
    await using other = createLocks({ store: redisStore(clients[1]!) });
    await useLocks(one, other);
    await expectNothingRefused();
  });

  it('locks over node-redis', async () => {
    const socket = { host: server.host, port: server.port };
    const client = createClient({ socket, username: 'app', password: 'pw' });
    await client.connect();
    onTestFinished(() => client.destroy());
    await using one = createLocks({ store: redisStore(client) });
    await using other = createLocks({ store: redisStore(client) });
    await useLocks(one, other);
    await expectNothingRefused();
  });

  it('a database that the address names', async () => {
    await using locks = createLocks(`${url}/3`);
    await locks.mutex('a').run(() => {});
    await expectNothingRefused();
  });

  it('sessions, whose exit commands release the locks', async () => {
    const session = await openSession(url);
    await using locks = createLocks(url, { session });
    await locks.mutex('a').acquire({ lease: '1h' });
    expect(await admin.exists('lock:{a}')).toBe(1);
    await session.close();
    while ((await admin.exists('lock:{a}')) === 1) await new Promise(setImmediate);
    await expectNothingRefused();
  });

  it('the cache', async () => {
    const options: CacheOptions = { fresh: '1m', tags: ['t'] };
    await using here = createLocks(url);
    await using there = createLocks(url);
    const [one, other] = [createCache({ locks: here }), createCache({ locks: there })];
    const values = await Promise.all([one, other].map((each) => each.get('k', options, () => 'v')));
    expect(values).toEqual(['v', 'v']);
    await one.set('k', 'w', options);
    expect(await other.get('k', options, () => 'x')).toBe('w');
    await one.invalidate('t');
    expect(await other.get('k', options, () => 'y')).toBe('y');
    await one.delete('k');
    await expectNothingRefused();
  });

  it.each([
    ['run', ['run', 'job', '--store', 'STORE', '--', 'true'], ''],
    ['ls', ['ls', '--store', 'STORE'], 'held'],
    ['show', ['show', 'held', '--store', 'STORE'], 'held'],
    ['release', ['release', 'held', '--store', 'STORE', '--force', '--reason', 'test'], 'held'],
    ['cli PING', ['cli', '--store', 'STORE', 'PING'], 'PONG'],
  ])('holdfast %s', async (_, words, shown) => {
    await using locks = createLocks(url);
    await locks.mutex('held').acquire({ lease: '60s' });
    const args = words.map((word) => (word === 'STORE' ? url : word));
    const { code, output, errors } = await runCli(args, {
      environment: { ...process.env } as Record<string, string>,
    });
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(output).toContain(shown);
    await expectNothingRefused();
  });
});

const FOREIGN = "return redis.call('set', KEYS[1], 'x')";
const shaOf = (text: string): string => createHash('sha1').update(text).digest('hex');
const ACQUIRE = ['acquire', 'client.1 ["host",1,""]', '3000'];

describe('a user with +@lock cannot', () => {
  const OUTSIDE = DISPATCHED.filter(
    (command) => lockRight(command) === undefined && !command.has('no_auth'),
  );

  it.each(OUTSIDE.map((command) => [command.name, requestOf(command, 'lock:')] as const))(
    'run %s',
    async (name, [word, ...args]) => {
      await expect(app.call(word!, ...args)).rejects.toThrow(
        `NOPERM this user has no permissions to run the '${name}' command`,
      );
    },
  );

  it.each([
    ['EVAL with a foreign script', ['EVAL', FOREIGN, '1', 'lock:a']],
    ['EVAL with a script of the library and a space', ['EVAL', `${LOCK_SCRIPT} `, '0']],
    ['EVALSHA with a foreign script', ['EVALSHA', shaOf(FOREIGN), '1', 'lock:a']],
    ['SCRIPT LOAD with a foreign script', ['SCRIPT', 'LOAD', FOREIGN]],
    ['an exit command that is no script', ['HOLDFAST.WILL', 'SET', 's', 'w', 'FLUSHALL']],
    [
      'an exit command with a foreign script',
      ['HOLDFAST.WILL', 'SET', 's', 'w', 'EVAL', FOREIGN, '0'],
    ],
  ])('send %s', async (_, [word, ...args]) => {
    await admin.call('SCRIPT', 'LOAD', FOREIGN);
    await expect(app.call(word!, ...args)).rejects.toThrow(/NOPERM.* to run the '/);
    expect(await admin.dbsize()).toBe(0);
  });

  it('use a lock with other keys', async () => {
    await app.call('EVAL', LOCK_SCRIPT, '1', 'lock:{a}', ...ACQUIRE);
    await expect(app.call('EVAL', LOCK_SCRIPT, '1', 'other:{a}', ...ACQUIRE)).rejects.toThrow(
      'NOPERM this user has no permissions to access one of the keys',
    );
    expect(await admin.exists('other:{a}')).toBe(0);
  });

  it('reach other keys by a script that derives them', async () => {
    await admin.call('ACL', 'SETUSER', 'narrow', 'on', '>pw', '+@lock', '~lock:{a}');
    const narrow = new Redis({ ...server, username: 'narrow', password: 'pw' });
    onTestFinished(() => narrow.disconnect());
    const acquiring = narrow.call('EVAL', LOCK_SCRIPT, '1', 'lock:{a}', ...ACQUIRE);
    await expect(acquiring).rejects.toThrow("can't access at least one of the keys");
    expect(await refused()).toContain('lock:{a}:queue');
  });

  it('acquire a lock without the right to its helper keys, which is reported at once', async () => {
    await admin.call('ACL', 'SETUSER', 'narrow', 'on', '>pw', '+@lock', '~lock:{a}');
    await using locks = createLocks(`redis://narrow:pw@127.0.0.1:${server.port}`);
    await expect(locks.mutex('a').acquire({ wait: '60s' })).rejects.toThrow(
      /^the store of lock 'a' refused it: .*can't access.* Check the client's user, its password and its rights\.$/,
    );
  });

  it('notify another channel by a script that takes its name', async () => {
    const send = (...args: string[]): Promise<unknown> =>
      app.call('EVAL', CACHE_SCRIPT, '1', 'value:{cache:k}', ...args);
    await send('wait', '3', '1000', 'version', 'secret:channel name');
    await expect(send('wake', '0')).rejects.toThrow("can't publish to the channel");
    expect(await refused()).toContain('secret:channel');
  });

  it.each([
    ['SUBSCRIBE', 'secret'],
    ['SUBSCRIBE', '__keyspace@0__:x'],
  ])('%s %s', async (word, channel) => {
    await expect(app.call(word, channel)).rejects.toThrow(
      'NOPERM this user has no permissions to access one of the channels',
    );
  });

  it.each([
    ['ls --foreign', ['ls', '--foreign']],
    ['check', ['check']],
  ])('run holdfast %s', async (_, words) => {
    const { code, errors } = await runCli([...words, '--store', url]);
    expect(code).not.toBe(0);
    expect(errors).toContain("NOPERM this user has no permissions to run the 'eval' command");
  });

  it('list the locks of others', async () => {
    await using all = createLocks(`redis://127.0.0.1:${server.port}`);
    await all.mutex('visible').acquire();
    await all.mutex('hidden').acquire();
    const only = ['~lock:{visible}*', '~semaphore:*'];
    await admin.call('ACL', 'SETUSER', 'part', 'on', '>pw', '+@lock', ...only);
    const store = `redis://part:pw@127.0.0.1:${server.port}`;
    const { output, errors } = await runCli(['ls', '--store', store]);
    expect(output).toContain('visible');
    expect(output + errors).not.toContain('hidden');
  });
});

it('a user with +@lock learns nothing about the locks of others by the patterns of the script of ls', async () => {
  await admin.set('lock:{own}', 'token');
  await admin.set('bank:lock:{secret}', 'token');
  await admin.zadd('bank:rw:{secret}:queue', 1, 'waiter');
  const list = (pattern: string, prefix: string): Promise<unknown> =>
    app.call('EVAL', PAGE_SCRIPT, '0', '0', pattern, '1000', '10', prefix);
  expect(await list('bank:*', 'bank:')).toEqual(await list('none:*', 'bank:'));
  expect(await list('lock:*', '')).toMatchObject(['0', [{ 0: 'lock:{own}' }], '0', '']);
  await expectNothingRefused();
});

it('a user with -@lock after +@all cannot run scripts', async () => {
  await admin.call('ACL', 'SETUSER', 'less', '+@all', '~*', '&*', '-@lock');
  for (const argv of [['EVAL', LOCK_SCRIPT, '0'], ['EVAL', FOREIGN, '0'], ['PING']]) {
    expect(await admin.call('ACL', 'DRYRUN', 'less', ...argv)).toMatch(/no permissions to run/);
  }
  expect(await admin.call('ACL', 'DRYRUN', 'less', 'GET', 'x')).toBe('OK');
});

it('ACL LIST shows +@lock, so that ACL SAVE and ACL LOAD keep it', async () => {
  expect((await admin.call('ACL', 'LIST')) as string[]).toContainEqual(
    expect.stringMatching(/^user app on #\S+ ~lock:\* .* resetchannels -@all \+@lock$/),
  );
});

it('every script of the library is one that the role knows', () => {
  expect(LOCK_ROLE.scripts).toEqual([...LIBRARY_SCRIPTS, CACHE_SCRIPT]);
});
