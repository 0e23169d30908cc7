import { once } from 'node:events';
import { connect } from 'node:net';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLocks, type Locks } from '../src/index.ts';
import type { PageLock, PageRequests } from '../src/page/protocol.ts';
import { CliProcess, runCli } from './cli-process.ts';
import { HolderProcess } from './lock-holder-process.ts';
import { PageClient } from './page-client.ts';
import { startRealPostgres } from './real-postgres.ts';
import { freePort, startRealRedis } from './real-redis.ts';
import { withinMs } from './within.ts';

interface Server extends AsyncDisposable {
  readonly process: CliProcess;
  readonly port: number;
  readonly url: string;
  readonly address: string;
}

async function serve(...flags: string[]): Promise<Server> {
  const process = CliProcess.node(['serve', '--port', '0', '--page-port', 'auto', ...flags]);
  const [, port] = await process.waitFor(/listens on 127\.0\.0\.1:(\d+)/);
  const [, address] = await process.waitFor(/Page: (http:\S+)/);
  return {
    process,
    port: Number(port),
    url: `redis://127.0.0.1:${port}`,
    address: address!,
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  };
}

/** `holdfast ui` on a store. */
async function openUi(
  store: string,
  ...flags: string[]
): Promise<CliProcess & { address: string }> {
  const process = CliProcess.node(['ui', '--store', store, ...flags]);
  const [, address] = await process.waitFor(/Page: (http:\S+)/);
  return Object.assign(process, { address: address! });
}

type LockFacts = PageRequests['GET api/lock?id=…'];

const named =
  (name: string) =>
  ({ locks }: { readonly locks: readonly PageLock[] }): boolean =>
    locks.some((lock) => lock.name === name);

describe('the page of holdfast serve', () => {
  let server: Server;
  let locks: Locks;
  let page: PageClient;

  beforeAll(async () => {
    server = await serve('--page-allow-release');
    locks = createLocks(server.url);
    page = await PageClient.open(server.address);
  });
  afterAll(async () => {
    await locks.close();
    await server[Symbol.asyncDispose]();
  });

  it('answers the owner of the token within a second while 500 clients without it keep connections', async () => {
    using stream = await page.stream();
    await stream.next('locks');
    const port = Number(new URL(server.address).port);
    const sockets = Array.from({ length: 500 }, (_, index) => {
      const socket = connect(port, '127.0.0.1').resume();
      if (index % 2 === 1) socket.write(`GET /metrics HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n`);
      return socket.on('error', () => {});
    });
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    try {
      const beganMs = performance.now();
      const owner = await PageClient.open(server.address);
      expect((await owner.send('')).status).toBe(200);
      expect(performance.now() - beganMs).toBeLessThan(withinMs(1000, 5000));
      await locks.mutex('seen-by-owner').run(() => stream.next('changes', named('seen-by-owner')));
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  });

  it('sends only the events after a Last-Event-ID', async () => {
    await locks.mutex('before').run(() => {});
    using first = await page.stream();
    await first.next('history', ({ events }) => events.some(({ name }) => name === 'before'));
    await first.next('contention');
    const { lastEventId } = first;
    await locks.mutex('after').run(() => {});
    await first.next('history', ({ events }) => events.some(({ name }) => name === 'after'));
    using again = await page.stream({ 'last-event-id': lastEventId });
    const { events, missed } = await again.next('history');
    expect(missed).toBe(0);
    expect(new Set(events.map(({ name }) => name))).toEqual(new Set(['after']));
    expect(again.lastEventId).toBe(first.lastEventId);
  });

  it('releases a lock by force, and holdfast show prints who and why', async () => {
    const lease = await locks.mutex('stuck').acquire({ lease: '1m' });
    const id = `m${Buffer.from('stuck').toString('base64url')}`;
    expect(await page.release(id, 'host <b>web-3</b> is off')).toMatchObject({
      status: 200,
      text: '{"holders":1}',
    });
    expect(await lease.release()).toBe('not-held');
    const { output } = await runCli(['show', 'stuck', '--store', server.url]);
    expect(Buffer.from(output, 'latin1').toString()).toMatch(
      /\(page\).*“host <b>web-3<\/b> is off”/,
    );
    const { lock, forced, events } = await page.json<LockFacts>(`api/lock?id=${id}`);
    expect(lock).toBeNull();
    expect(forced).toMatchObject([{ reason: 'host <b>web-3</b> is off', holders: 1 }]);
    expect(events.map(({ type }) => type)).toEqual(['granted', 'forced']);
  });

  it.each([
    ['a foreign Host', { host: 'evil.example' }, 421],
    ['the Host of another port', { host: '127.0.0.1:1' }, 421],
    ['a foreign Origin', { origin: 'https://evil.example' }, 403],
    ['the Origin of another port', { origin: 'http://127.0.0.1:3000' }, 403],
    ['a request of another site', { 'sec-fetch-site': 'cross-site' }, 403],
    ['no cookie', { cookie: '' }, 401],
  ])('refuses %s', async (_case, headers, status) => {
    for (const path of ['api/lock?id=ma', 'api/stream']) {
      expect((await page.send(path, { headers })).status).toBe(status);
    }
    const body = '{"id":"ma","reason":"x"}';
    const json = { 'content-type': 'application/json' };
    const sent = await page.send('api/release', {
      method: 'POST',
      body,
      headers: { ...json, ...headers },
    });
    expect(sent.status).toBe(status);
  });

  it('shows no page without the token, or with a wrong one', async () => {
    const stranger = new PageClient(new URL('/', server.address).href);
    expect(await stranger.send('')).toMatchObject({ status: 401 });
    expect(await stranger.send('?token=wrong')).toMatchObject({ status: 401 });
    for (const path of ['healthz', 'readyz']) expect((await stranger.send(path)).status).toBe(200);
    for (const path of ['healthz', 'metrics']) {
      expect((await stranger.send(path, { headers: { host: 'evil.example' } })).status).toBe(421);
    }
  });

  it('refuses a body of more than 16 kB, also one without a length', async () => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ id: 'ma', reason: 'x'.repeat(20_000) });
    for (const more of [{}, { 'transfer-encoding': 'chunked' }]) {
      const sent = await page.send('api/release', {
        method: 'POST',
        body,
        headers: { ...headers, ...more },
      });
      expect(sent.status).toBe(413);
    }
  });

  it('refuses the 101st stream', async () => {
    await using other = await serve();
    const page = await PageClient.open(other.address);
    const streams = await Promise.all(Array.from({ length: 100 }, () => page.stream()));
    expect(streams.map(({ status }) => status)).toEqual(new Array(100).fill(200));
    const refused = await page.stream();
    expect(refused.status).toBe(503);
    for (const stream of [...streams, refused]) stream[Symbol.dispose]();
  });

  it('passes hostile names on as text', async () => {
    const names = [
      '<img src=x onerror=alert(1)>',
      '\u202egnp.exe',
      'a\0b',
      '__proto__',
      'x\n\ndata: {}',
    ];
    for (const name of names) await locks.mutex(name).acquire({ lease: '1m' });
    const long = 'n'.repeat(2 ** 20);
    const redis = new Redis(server.port);
    await redis.set(`lock:{${long}}`, 'foreign', 'PX', 60_000);
    await redis.set(Buffer.from('lock:{\xff}', 'latin1'), Buffer.from([0xfe]), 'PX', 60_000);
    redis.disconnect();
    using stream = await page.stream();
    const { locks: listed } = await stream.next(['locks', 'changes'], named('\ufffd'));
    const shown = listed.map(({ name }) => name);
    expect(shown).toEqual(expect.arrayContaining([...names, 'n'.repeat(1024), '\ufffd']));
    expect(new Set(listed.map(({ id }) => id)).size).toBe(listed.length);
    for (const { id, name } of listed) {
      const { lock } = await page.json<LockFacts>(`api/lock?id=${id}`);
      expect(lock).toMatchObject({ id, name });
    }
  });

  it('is not a client of the server', async () => {
    using stream = await page.stream();
    await stream.next('server');
    const { output } = await runCli(['cli', '--store', server.url, 'CLIENT', 'LIST']);
    expect(output.match(/ addr=/g)?.length).toBeLessThanOrEqual(4);
    expect(output).not.toMatch(/addr= /);
  });
});

// These wait for seconds. Each has a server of its own, so that all wait at the same time.
describe.concurrent('a page with a server of its own', () => {
  it('shows the locks of other processes, and what happens to them', async () => {
    await using server = await serve('--page-allow-release');
    const page = await PageClient.open(server.address);
    const holder = await HolderProcess.start(server.port);
    const waiter = await HolderProcess.start(server.port);
    using stream = await page.stream();
    expect(await stream.next('source')).toMatchObject({
      source: {
        label: `127.0.0.1:${server.port}`,
        canRelease: true,
        history: 'server',
        hasServer: true,
      },
    });
    const { fence } = await holder.acquire('orders:42', { label: 'ship', lease: '1m' });
    const acquiring = waiter.acquire('orders:42', { label: 'bill', lease: '1m' });
    const isQueued = (message: { readonly locks: readonly PageLock[] }): boolean =>
      message.locks.some(({ name, waiterCount }) => name === 'orders:42' && waiterCount === 1);
    const { locks: shown } = await stream.next(['locks', 'changes'], isQueued);
    const lock = shown.find(({ name }) => name === 'orders:42')!;
    expect(lock).toMatchObject({
      kind: 'mutex',
      holders: [{ fence, client: { label: 'ship' } }],
      waiters: [{ client: { label: 'bill' }, sinceMs: expect.any(Number) }],
    });
    await holder.release();
    const next = await acquiring;
    const events = await stream.next('history', (message) =>
      message.events.some(({ type }) => type === 'handed-over'),
    );
    expect(events.events.find(({ type }) => type === 'handed-over')).toMatchObject({
      lockId: lock.id,
      fence: next.fence,
      waitedMs: expect.any(Number),
    });
    const facts = await page.json<LockFacts>(`api/lock?id=${lock.id}`);
    expect(facts.lock).toMatchObject({ holders: [{ fence: next.fence }], waiterCount: 0 });
    expect(facts.events.map(({ type }) => type)).toEqual([
      'granted',
      'waiting',
      'released',
      'handed-over',
    ]);
    expect(
      await stream.next('contention', ({ contention }) => contention.groups.length > 0),
    ).toMatchObject({
      contention: {
        groups: expect.arrayContaining([expect.objectContaining({ group: 'orders:*' })]),
      },
    });
    expect(await stream.next('server')).toMatchObject({
      server: { clients: expect.any(Number), maxMemoryBytes: expect.any(Number), log: null },
    });
    await Promise.all([holder.kill(), waiter.kill()]);
  });

  it('closes a connection whose headers do not end within some 10 s', async () => {
    await using server = await serve();
    const socket = connect(Number(new URL(server.address).port), '127.0.0.1').resume();
    socket.write('GET / HTTP/1.1\r\n');
    const beganMs = performance.now();
    await once(socket, 'close');
    // By default Node checks every 30 s.
    expect(performance.now() - beganMs).toBeLessThan(withinMs(14_000, 29_000));
  }, 40_000);

  it('of holdfast ui shows a store that has failed, and its locks when it is back', async () => {
    const port = await freePort();
    const start = async (): Promise<CliProcess> => {
      const process = CliProcess.node(['serve', '--port', String(port)]);
      await process.waitFor(/listens on/);
      return process;
    };
    const first = await start();
    await using ui = await openUi(`redis://127.0.0.1:${port}`);
    const page = await PageClient.open(ui.address);
    const before = createLocks(`redis://127.0.0.1:${port}`);
    await before.mutex('before').acquire({ lease: '1m' });
    using stream = await page.stream();
    await stream.next('locks', named('before'));
    await first[Symbol.asyncDispose]();
    expect((await stream.next('failed')).message).toContain(`127.0.0.1:${port}`);
    expect((await page.send('readyz')).status).toBe(503);
    await using second = await start();
    expect((await stream.next('locks')).locks).toEqual([]);
    await using locks = createLocks(`redis://127.0.0.1:${port}`);
    await locks.mutex('after').acquire({ lease: '1m' });
    await stream.next('changes', named('after'));
    await before.close().catch(() => {});
    expect(second.child.exitCode).toBeNull();
  });

  it('of holdfast ui shows PostgreSQL, and releases there', async () => {
    const postgres = await startRealPostgres();
    await using locks = createLocks(postgres.url);
    const lease = await locks.mutex('job').acquire({ lease: '1m', label: 'nightly' });
    await using ui = await openUi(postgres.url, '--allow-release');
    const page = await PageClient.open(ui.address);
    using stream = await page.stream();
    const { locks: shown } = await stream.next('locks', named('job'));
    expect(shown).toMatchObject([
      { holders: [{ fence: lease.fence, client: { label: 'nightly' } }] },
    ]);
    const { id } = shown[0]!;
    expect(await page.release(id, 'test')).toMatchObject({ text: '{"holders":1}' });
    await stream.next('changes', ({ free }) => free.includes(id));
    expect((await page.json<LockFacts>(`api/lock?id=${id}`)).forced).toMatchObject([
      { reason: 'test' },
    ]);
    ui.child.kill('SIGINT');
    expect(await ui.ended()).toBe(0);
    await locks.close();
    await postgres.stop();
  });
});

describe('the options of holdfast serve', () => {
  it('starts no page with --page-port no', async () => {
    await using process = CliProcess.node(['serve', '--port', '0', '--page-port', 'no']);
    await process.waitFor(/Try: /);
    process.child.kill('SIGTERM');
    expect(await process.ended()).toBe(0);
    expect(process.text).not.toContain('Page:');
  });

  it('refuses a page for other machines without the word for it', async () => {
    const flags = ['serve', '--port', '0', '--page-port', '0', '--page-host', '0.0.0.0'];
    await using process = CliProcess.node(flags);
    expect(await process.ended()).toBe(2);
    expect(process.text).toMatch(/without TLS.*--page-cleartext/);
  });

  it('works without a page when its port is taken', async () => {
    await using first = await serve();
    const { port } = new URL(first.address);
    await using second = CliProcess.node(['serve', '--port', '0', '--page-port', port]);
    await second.waitFor(/there is no page: .*EADDRINUSE/);
    const [, served] = await second.waitFor(/listens on 127\.0\.0\.1:(\d+)/);
    const { output } = await runCli(['cli', '--store', `redis://127.0.0.1:${served}`, 'PING']);
    expect(output).toBe('PONG\n');
  });

  it('works behind a password, and refuses to release without permission', async () => {
    await using server = await serve('--password', 'secret');
    const page = await PageClient.open(server.address);
    await using locks = createLocks(`redis://:secret@127.0.0.1:${server.port}`);
    await locks.mutex('a').acquire({ lease: '1m' });
    using stream = await page.stream();
    expect(await stream.next('source')).toMatchObject({ source: { canRelease: false } });
    await stream.next('locks', named('a'));
    expect(await page.release('mYQ', 'because')).toMatchObject({ status: 403 });
    expect((await locks.mutex('a').inspect()).holders).toHaveLength(1);
  });

  it('ends with open pages', async () => {
    await using server = await serve();
    const page = await PageClient.open(server.address);
    using stream = await page.stream();
    await stream.next('locks');
    server.process.child.kill('SIGTERM');
    await stream.ended;
    expect(await server.process.ended()).toBe(0);
  });
});

describe('holdfast ui', () => {
  it('shows a Redis, without history', async () => {
    const redis = await startRealRedis();
    await using ui = await openUi(`redis://127.0.0.1:${redis.port}`, '--prefix', 'shop:');
    await using locks = createLocks({ url: `redis://127.0.0.1:${redis.port}`, prefix: 'shop:' });
    await locks.readWrite('cart').read.acquire({ lease: '1m' });
    const page = await PageClient.open(ui.address);
    using stream = await page.stream();
    expect(await stream.next('source')).toMatchObject({
      source: { history: 'none', hasServer: true },
    });
    await stream.next('locks', named('cart'));
    await stream.next('server');
    await redis.stop();
  });

  it('says what is wrong', async () => {
    const port = await freePort();
    expect(await runCli(['ui', '--store', `redis://127.0.0.1:${port}`])).toMatchObject({
      code: 69,
    });
    expect(await runCli(['ui', '--store', 'memcached://127.0.0.1:1'])).toMatchObject({
      code: 2,
      errors: expect.stringContaining('cannot list its locks'),
    });
    expect(await runCli(['ui', '--host', '10.0.0.1'])).toMatchObject({ code: 2 });
    expect(await runCli(['ui', '--port', '70000'])).toMatchObject({ code: 2 });
    expect(await runCli(['ui', 'word'])).toMatchObject({ code: 2 });
  });
});
