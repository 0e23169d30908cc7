import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { systemClock } from '../src/clock/index.ts';
import { createEngine } from '../src/engine/index.ts';
import {
  createLocks,
  LockError,
  type Locks,
  LockUnavailableError,
  redisStore,
} from '../src/index.ts';
import { startServer } from '../src/server/index.ts';
import { type Certificate, issueCertificate } from './certificate.ts';
import { BUILD } from './lock-holder-process.ts';
import {
  freePort,
  type RunningServer,
  spawnRealRedis,
  startRealRedis,
  stopProcess,
} from './real-redis.ts';
import { withinMs } from './within.ts';

describe('createLocks', () => {
  it('keeps locks in this process by default', async () => {
    await using locks = createLocks();
    await using lease = await locks.mutex('order:42').acquire({ wait: '5s', lease: '30s' });
    expect(lease.fence).toBeGreaterThan(0);
    expect(await locks.mutex('order:42').tryAcquire()).toBe(null);
  });

  it('refuses an address that is not set, which would give locks of this process alone', () => {
    for (const given of [[undefined], [undefined, {}], [{ url: undefined }]]) {
      expect(() => createLocks(...(given as []))).toThrow(/environment variable not set/);
    }
  });

  it('refuses a store, or a client, that is not named as such', async () => {
    const client = new Redis({ lazyConnect: true });
    for (const where of [client, redisStore(client), createClient()]) {
      expect(() => createLocks(where as object)).toThrow(
        'createLocks({ store: redisStore(client) })',
      );
    }
  });

  it('refuses what is named as a store and is none', () => {
    for (const store of [undefined, null, {}, createClient()]) {
      expect(() => createLocks({ store: store as never })).toThrow('redisStore(client)');
    }
  });

  it('keeps them in a Redis, for several programs at once', async () => {
    const { port } = await realRedis();
    await using here = createLocks(`redis://127.0.0.1:${port}`);
    await using there = createLocks(`redis://127.0.0.1:${port}`);
    const lease = await here.mutex('a').acquire();
    const waiting = there.mutex('a').acquire({ wait: '5s' });
    while ((await here.mutex('a').inspect()).waiters.length === 0);
    await lease.release();
    expect((await waiting).fence).toBeGreaterThan(lease.fence);
  });

  it.each(['unix:', 'unix://'])('keeps them behind a Unix socket (%s)', async (scheme) => {
    const unix = join(folder(), 'socket');
    const redis = await spawnRealRedis('--port', '0', '--unixsocket', unix);
    onTestFinished(() => stopProcess(redis));
    await using locks = createLocks(`${scheme}${unix}` as `unix:${string}`);
    await locks.mutex('a').run((lease) => expect(lease.isHeld).toBe(true));
  });

  it('keeps them behind a Unix socket of our own server', async () => {
    const unix = join(folder(), 'socket');
    const engine = createEngine();
    const server = await startServer({ engine, unix });
    const locks = createLocks(`unix:${unix}`);
    await locks.mutex('a').run((lease) => expect(lease.isHeld).toBe(true));
    await locks.close();
    await server.close();
    engine.close();
  });

  it('signs in and chooses a database as the address says', async () => {
    const { port } = await realRedis('--requirepass', 'secret');
    await using locks = createLocks(`redis://:secret@127.0.0.1:${port}/5`);
    await locks.mutex('a').acquire();
    const client = new Redis({ port, password: 'secret', db: 5 });
    expect(await client.get('lock:{a}')).not.toBe(null);
    client.disconnect();
    await using stranger = createLocks(`redis://:wrong@127.0.0.1:${port}`);
    await expect(stranger.mutex('a').tryAcquire()).rejects.toThrow(/WRONGPASS/);
  });

  it('uses no other database than the one that the address says', async () => {
    const { port } = await realRedis();
    const client = new Redis({ port });
    onTestFinished(() => client.disconnect());
    const rights = ['~*', '&*', '+@scripting', '+@read', '+@write', '+@pubsub', '+time', '+info'];
    await client.acl('SETUSER', 'locks', 'on', '>secret', ...rights);
    for (const [where, reason] of [
      [`127.0.0.1:${port}/99`, 'DB index is out of range'],
      [`locks:secret@127.0.0.1:${port}/3`, 'NOPERM'],
    ]) {
      await using locks = createLocks(`redis://${where}`);
      await expect(locks.mutex('a').tryAcquire()).rejects.toThrow(reason);
    }
    expect(await client.dbsize()).toBe(0);
  });

  it('goes to no other database when it connects again', async () => {
    const { port } = await realRedis();
    const client = new Redis({ port });
    onTestFinished(() => client.disconnect());
    await client.acl('SETUSER', 'locks', 'on', '>secret', '~*', '&*', '+@all');
    await using locks = createLocks(`redis://locks:secret@127.0.0.1:${port}/3`);
    await locks.mutex('a').run(() => {});
    await client.acl('SETUSER', 'locks', '-select');
    await client.client('KILL', 'USER', 'locks');
    const asking = locks.mutex('a').acquire({ wait: '500ms' });
    await expect(asking).rejects.toBeInstanceOf(LockUnavailableError);
    expect(await client.dbsize()).toBe(0);
    await client.acl('SETUSER', 'locks', '+select');
    await locks.mutex('a').run(() => {});
    expect(await client.dbsize()).toBe(0);
  });

  it('uses a client that it was given, and does not close it', async () => {
    const { port } = await realRedis();
    const client = new Redis({ port });
    const locks = createLocks({ store: redisStore(client) });
    await locks.mutex('a').run(() => {});
    await locks.close();
    expect(await client.ping()).toBe('PONG');
    client.disconnect();
  });

  it('refuses an address that it does not know', () => {
    expect(() => createLocks('http://localhost' as never)).toThrow(/redis:\/\/host:port/);
    expect(() => createLocks('redis://localhost:port')).toThrow(/redis:\/\/host:port/);
  });

  it('does not tell the password of an address that it does not know', () => {
    const create = (): unknown => createLocks(' redis://user:pass@word@localhost' as never);
    expect(create).toThrow("'…' is not an address");
  });

  it.each([
    'redis:user:secret@host',
    'redis://host/a?password=secret',
    'redis://a:sec\nsecret@h/x',
    'secret@h',
  ])('does not tell the password of %j', (url) => {
    for (const given of [[url], [{}, url]]) {
      const told = (): unknown => createLocks(...(given as never[]));
      expect(told).toThrow(LockError);
      expect(told).not.toThrow(/secret/);
    }
  });

  it.each(['first', '-1', '1.5', '1/2'])('refuses the database %s', (database) => {
    expect(() => createLocks(`redis://localhost/${database}`)).toThrow('host:port/database');
    expect(() => createLocks(`redis://localhost?db=${database}`)).toThrow('host:port/database');
  });

  it.each([
    new URL('redis://localhost'),
    { host: 'localhost', port: 6379 },
    { sotre: {} },
    null,
    6379,
  ])('does not take %o for locks in this process', (where) => {
    expect(() => createLocks(where as never)).toThrow(/createLocks does not know .* Use/);
  });

  it.each([
    ['prefix needs an address', { prefix: 'shop:' }],
    ['key needs an address', { key: String }],
    ['tls needs an address', { tls: {} }],
    ['session needs an address', { session: true }],
    [
      'redisStore(client, { prefix })',
      { prefix: 'shop:', store: redisStore(new Redis({ lazyConnect: true })) },
    ],
    ['use url or store', { url: 'redis://a', store: redisStore(new Redis({ lazyConnect: true })) }],
    ['clock is for locks of this process', { url: 'redis://a', clock: systemClock }],
    ['use prefix or key', { url: 'redis://a', prefix: 'a:', key: String }],
    ["prefix is a string without '{'", { url: 'redis://a', prefix: 'a{' }],
    ['key is a function', { url: 'redis://a', key: 'mutex:' }],
    ['Leave out key', { url: 'redis://a', key: String, renewFrom: 'worker' }],
    ['defaults are { wait, lease, label }', { defaults: { retry: 3 } }],
    ['tls is for rediss://', { url: 'redis://u:p@a', tls: {} }],
    ['tls must be an object', { url: 'rediss://a', tls: 'yes' }],
    ['clock must be a Clock', { clock: null }],
    ['telemetry must be true or false', { telemetry: 1 }],
    ['defaults must be an object', { url: 'redis://a', defaults: null }],
    ['session must be', { url: 'redis://a', session: null }],
    ['does not know a Promise', Promise.resolve('redis://a')],
    ['does not know a Map', new Map([['url', 'redis://a']])],
    ['does not know an array', ['redis://a']],
    ["'redis://…' is not an address", { url: 'redis://:secret' }],
    ['lease must be a duration', { defaults: { lease: 'soon' } }],
  ])('says "%s" to options that cannot be right', (message, options) => {
    expect(() => createLocks(options as never)).toThrow(message);
  });

  it('takes an address among its options, and defaults for all locks', async () => {
    const { port } = await realRedis();
    const url: string = `redis://127.0.0.1:${port}`;
    await using locks = createLocks({ url, defaults: { wait: 0, lease: '5s', label: 'nightly' } });
    await locks.ready();
    await using lease = await locks.mutex('a').acquire();
    expect(lease.expiresInMs).toBeLessThan(5000);
    const error = await locks
      .mutex('a')
      .acquire()
      .catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: 'timeout', holders: [{ label: 'nightly' }] });
    expect(String(error)).toContain(`pid ${process.pid} (nightly) for`);
  });

  it('begins every key of a lock with the prefix', async () => {
    const { port } = await realRedis();
    const client = new Redis({ port });
    onTestFinished(() => client.disconnect());
    await using locks = createLocks({ url: `redis://127.0.0.1:${port}`, prefix: 'shop:' });
    await using plain = createLocks(`redis://127.0.0.1:${port}`);
    await locks.mutex('a').acquire();
    await locks.semaphore('a', 2).acquire();
    expect(await locks.mutex('a').tryAcquire()).toBe(null);
    expect((await client.keys('*')).filter((key) => !key.startsWith('shop:'))).toEqual([]);
    expect(await plain.mutex('a').tryAcquire()).not.toBe(null);
  });

  it('does not count connecting as waiting', async () => {
    const { port } = await realRedis();
    const proxy = createServer((socket) => {
      const target = connect(port, '127.0.0.1');
      socket.on('error', () => {});
      target.on('error', () => {});
      // The first bytes arrive late, as with a slow handshake.
      setTimeout(() => socket.pipe(target).pipe(socket), 300);
    });
    proxy.listen(0, '127.0.0.1');
    await once(proxy, 'listening');
    onTestFinished(() => void proxy.close());
    const { port: slowPort } = proxy.address() as AddressInfo;
    await using locks = createLocks(`redis://127.0.0.1:${slowPort}`);
    const lease = await locks.mutex('a').acquire({ wait: '50ms' });
    expect(lease.isHeld).toBe(true);
    await using all = createLocks(`redis://127.0.0.1:${slowPort}`);
    expect((await all.all(['b', 'c']).acquire({ wait: '50ms' })).isHeld).toBe(true);
  });

  it(
    'fails ready() if the store cannot be reached',
    async () => {
      await using locks = createLocks(`redis://127.0.0.1:${await freePort()}`);
      await expect(locks.ready()).rejects.toThrow(LockUnavailableError);
    },
    withinMs(15_000),
  );

  it('leaves out options that are undefined', async () => {
    const unset = { session: undefined, renewFrom: undefined } as object;
    await createLocks(unset).close();
  });

  it.each(['false', 1, {}, Promise.resolve()])('does not take %o for a session', (session) => {
    const options = { session: session as never };
    expect(() => createLocks('redis://localhost', options)).toThrow('session is true');
    const client = new Redis({ lazyConnect: true });
    expect(() => redisStore(client, options)).toThrow('session is true');
  });

  it.each(['sesion', 'requestTimeOut'])('refuses %s as an option of a store', (name) => {
    const client = new Redis({ lazyConnect: true });
    const options = { [name]: true } as object;
    expect(() => redisStore(client, options)).toThrow(`redisStore does not know '${name}'`);
  });

  it('refuses an option of an address that it does not know', () => {
    expect(() => createLocks('redis://localhost', { renewform: 'worker' } as never)).toThrow(
      "createLocks does not know 'renewform'",
    );
  });
});

describe('an encrypted connection', () => {
  let secure: SecureRedis;
  beforeAll(async () => {
    secure = await startSecureRedis();
  });
  afterAll(() => secure.stop());

  it('is refused if nobody vouches for the server', async () => {
    await using locks = createLocks(`rediss://127.0.0.1:${secure.port}`);
    const error = await locks
      .mutex('a')
      .tryAcquire()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LockUnavailableError);
    expect(error).toMatchObject({ message: expect.stringMatching(/self[- ]signed certificate/) });
  });

  it('is used if the process trusts the server', async () => {
    // Node reads NODE_EXTRA_CA_CERTS only when it starts; this it reads at each connection.
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    await using here = createLocks(`rediss://127.0.0.1:${secure.port}`);
    await using there = createLocks(`rediss://127.0.0.1:${secure.port}`);
    await handsOver(here, there);
  });

  it('is used with the certificate of its authority', async () => {
    const options = { tls: { ca: secure.certificate.text } };
    await using here = createLocks(`rediss://127.0.0.1:${secure.port}`, options);
    await using there = createLocks(`rediss://127.0.0.1:${secure.port}`, options);
    await handsOver(here, there);
  });

  it('of a client that trusts the server is also used to be called on', async () => {
    const tls = { ca: secure.certificate.text };
    const ioredis = new Redis({ port: secure.port, host: '127.0.0.1', tls });
    const nodeRedis = createClient({
      socket: { port: secure.port, host: '127.0.0.1', tls: true, ca: tls.ca },
    });
    await nodeRedis.connect();
    for (const client of [ioredis, nodeRedis]) {
      await using here = createLocks({ store: redisStore(client) });
      await using there = createLocks({ store: redisStore(client) });
      await handsOver(here, there);
    }
    ioredis.disconnect();
    nodeRedis.destroy();
  });
});

describe('a store at an address', () => {
  it('that is down is not called busy, and the next request tries again', async () => {
    const port = await freePort();
    await using locks = createLocks(`redis://127.0.0.1:${port}`);
    for (let turn = 0; turn < 2; turn++) {
      const error = await locks
        .mutex('a')
        .tryAcquire()
        .catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(LockUnavailableError);
      expect(error).toMatchObject({ message: expect.stringContaining('ECONNREFUSED') });
    }
    const redis = await spawnRealRedis('--port', `${port}`, '--bind', '127.0.0.1');
    onTestFinished(() => stopProcess(redis));
    expect(await locks.mutex('a').tryAcquire()).not.toBe(null);
  });

  it('that goes down later is said to be so, and used again when it is back', async () => {
    const port = await freePort();
    const start = (): Promise<ChildProcess> =>
      spawnRealRedis('--port', `${port}`, '--bind', '127.0.0.1');
    const first = await start();
    await using locks = createLocks(`redis://127.0.0.1:${port}`);
    await locks.mutex('a').run(() => {});
    await stopProcess(first);
    // The end of the first connection may arrive after the request was written.
    const unreachable = /ECONNREFUSED|the server closed it/;
    await expect(locks.mutex('a').tryAcquire()).rejects.toThrow(unreachable);
    const second = await start();
    onTestFinished(() => stopProcess(second));
    expect(await locks.mutex('a').acquire({ wait: '10s' })).not.toBe(null);
  });

  it('that never answers is let go by close(), which may come twice', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const locks = createLocks(`redis://127.0.0.1:${port}`);
    const asking = locks
      .mutex('a')
      .tryAcquire()
      .catch((reason: unknown) => reason);
    const [socket] = (await once(silent, 'connection')) as [Socket];
    const ended = once(socket.resume(), 'close');
    await Promise.all([locks.close(), locks.close()]);
    await ended;
    expect(await asking).toBeInstanceOf(LockError);
    silent.close();
  });

  it('has confirmed a hand-over before the program goes on, which may block', async () => {
    const { port } = await realRedis();
    const url = `redis://127.0.0.1:${port}` as const;
    await using locks = createLocks(url);
    const client = new Redis({ port });
    onTestFinished(() => client.disconnect());
    const lease = await locks.mutex('a').acquire();
    const child = fork(join(import.meta.dirname, 'lock-blocked.child.js'), [url], {
      env: { ...process.env, HOLDFAST_BUILD_URL: BUILD },
    });
    onTestFinished(() => stopProcess(child));
    let isBlocked = true;
    child.on('message', () => {
      isBlocked = false;
    });
    while ((await locks.mutex('a').inspect()).waiters.length === 0);
    await lease.release();
    // A lock that was handed over is reserved for 2 s, and for its lease of 30 s once that is confirmed.
    while ((await client.pttl('lock:{a}')) < 10_000) expect(isBlocked).toBe(true);
    expect(isBlocked).toBe(true);
  });

  it('is not connected to before the first request, nor after close()', async () => {
    const { port } = await realRedis();
    const locks = createLocks(`redis://127.0.0.1:${port}`);
    const client = new Redis({ port });
    const connections = async (): Promise<number> =>
      String(await client.client('LIST'))
        .trim()
        .split('\n').length;
    expect(await connections()).toBe(1);
    await locks.mutex('a').run(() => {});
    expect(await connections()).toBe(2);
    await locks.close();
    await locks.close();
    while ((await connections()) > 1);
    await expect(locks.mutex('a').tryAcquire()).rejects.toThrow(LockError);
    expect(await connections()).toBe(1);
    client.disconnect();
  });
});

async function handsOver(here: Locks, there: Locks): Promise<void> {
  const lease = await here.mutex('a').acquire({ lease: '60s', wait: '5s' });
  const waiting = there.mutex('a').acquire({ wait: '20s' });
  while ((await here.mutex('a').inspect()).waiters.length === 0);
  await lease.release();
  await (await waiting).release();
}

async function realRedis(...options: readonly string[]): Promise<RunningServer> {
  const server = await startRealRedis(...options);
  onTestFinished(() => server.stop());
  return server;
}

/** A folder that is gone after the test. */
function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

interface SecureRedis {
  readonly port: number;
  readonly certificate: Certificate;
  stop(): Promise<void>;
}

async function startSecureRedis(): Promise<SecureRedis> {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-tls-'));
  const certificate = issueCertificate(path);
  const { certFile, keyFile } = certificate;
  const port = await freePort();
  const place = ['--port', '0', '--tls-port', `${port}`, '--bind', '127.0.0.1'];
  const files = ['--tls-cert-file', certFile, '--tls-key-file', keyFile];
  const trust = ['--tls-ca-cert-file', certFile, '--tls-auth-clients', 'no'];
  const redis = await spawnRealRedis(...place, ...files, ...trust);
  const stop = async (): Promise<void> => {
    await stopProcess(redis);
    rmSync(path, { recursive: true });
  };
  return { port, certificate, stop };
}
