import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { createLocks, redisStore } from '../src/index.ts';
import type { PageRequests } from '../src/page/protocol.ts';
import { type Dashboard, dashboard } from '../src/public/dashboard.ts';
import { ROOT } from './cli-process.ts';
import { PageClient } from './page-client.ts';
import { startRealRedis } from './real-redis.ts';

type LockFacts = PageRequests['GET api/lock?id=…'];

const servers: Server[] = [];
const boards: Dashboard[] = [];

afterEach(() => {
  for (const board of boards.splice(0)) board.close();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

function boardOf(...args: Parameters<typeof dashboard>): Dashboard {
  const board = dashboard(...args);
  boards.push(board);
  return board;
}

/** A program that has the page under a path, behind its own sign-in. */
async function mount(board: Dashboard, path: string): Promise<PageClient> {
  const server = createServer((request, response) => {
    if (!request.url!.startsWith(path)) response.writeHead(404).end();
    else if (request.headers.authorization !== 'Bearer me') response.writeHead(401).end();
    else board.node(request, response);
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return new PageClient(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}/`);
}

const ME = { authorization: 'Bearer me' };

describe('dashboard', () => {
  it('shows locks of this process under a path, in plain node:http', async () => {
    await using locks = createLocks();
    const page = await mount(boardOf(locks, { allowRelease: true }), '/admin/locks');
    expect(await page.send('')).toMatchObject({ status: 401 });
    const redirect = await page.send('/admin/locks', { headers: ME });
    expect(redirect).toMatchObject({ status: 308, headers: { location: './locks/' } });
    const lease = await locks.mutex('job').acquire({ label: 'first' });
    const waiting = locks.mutex('job').acquire({ label: 'second' });
    using stream = await page.stream(ME);
    expect(await stream.next('source')).toMatchObject({
      source: { history: 'process', hasServer: false, canRelease: true },
    });
    // Which of both comes first is open.
    const [{ events }, { locks: shown }] = [
      await stream.next('history', (message) => message.events.length > 0),
      await (await page.stream(ME)).next('locks', (message) => message.locks.length > 0),
    ];
    expect(events.map(({ type }) => type)).toEqual(['granted', 'waiting']);
    expect(shown).toMatchObject([
      {
        name: 'job',
        holders: [{ fence: lease.fence }],
        waiters: [{ client: { label: 'second' } }],
      },
    ]);
    const body = JSON.stringify({ id: shown[0]!.id, reason: 'test' });
    const json = { ...ME, 'content-type': 'application/json' };
    const post = (headers: Record<string, string>) =>
      page.send('api/release', { method: 'POST', body, headers: { ...json, ...headers } });
    expect((await post({ origin: 'https://evil.example' })).status).toBe(403);
    expect((await post({ 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect(await post({ 'sec-fetch-site': 'same-origin' })).toMatchObject({
      text: '{"holders":1}',
    });
    await (await waiting).release();
    const facts = await page.json<LockFacts>(`api/lock?id=${shown[0]!.id}`, { headers: ME });
    expect(facts.forced).toMatchObject([{ reason: 'test', holders: 1 }]);
    expect(await lease.release()).toBe('not-held');
  });

  it('answers requests of the Fetch standard', async () => {
    await using locks = createLocks();
    await locks.mutex('<b>').acquire();
    const board = boardOf(locks);
    const { status, body } = await board.fetch(new Request('https://app.example/locks/api/stream'));
    expect(status).toBe(200);
    const reader = body!.getReader();
    let text = '';
    while (!text.includes('event: locks'))
      text += Buffer.from((await reader.read()).value as Uint8Array);
    expect(text).toContain('"name":"<b>"');
    await reader.cancel();
    const released = await board.fetch(
      new Request('https://app.example/locks/api/release', { method: 'POST', body: '{}' }),
    );
    expect(released.status).toBe(403);
  });

  it('shows locks in a Redis through the client of the program, and keeps the reason there', async () => {
    const redis = await startRealRedis();
    const client = new Redis(redis.port);
    await using locks = createLocks({ store: redisStore(client, { prefix: 'shop:' }) });
    await using others = createLocks({ url: `redis://127.0.0.1:${redis.port}`, prefix: 'shop:' });
    await others.semaphore('größe', 3, { permits: 2 }).acquire({ label: 'other', lease: '1m' });
    const page = await mount(boardOf(locks, { allowRelease: true, label: 'shop' }), '/locks');
    using stream = await page.stream(ME);
    expect(await stream.next('source')).toMatchObject({
      source: { label: 'shop', history: 'process' },
    });
    const { locks: shown } = await stream.next('locks');
    expect(shown).toMatchObject([
      { kind: 'semaphore', name: 'größe', holders: [{ permits: 2, client: { label: 'other' } }] },
    ]);
    const headers = { ...ME, 'content-type': 'application/json' };
    const body = JSON.stringify({ id: shown[0]!.id, reason: 'über' });
    await page.send('api/release', { method: 'POST', body, headers });
    const facts = await page.json<LockFacts>(`api/lock?id=${shown[0]!.id}`, { headers: ME });
    expect(facts).toMatchObject({ lock: null, forced: [{ reason: 'über' }] });
    await locks.close();
    await others.close();
    client.disconnect();
    await redis.stop();
  });

  it('works with locks of the other format of the package', async () => {
    const require = createRequire(import.meta.url);
    const { createLocks: create } = require('../dist/cjs/index.js') as {
      createLocks: typeof createLocks;
    };
    const built = pathToFileURL(join(ROOT, 'dist', 'public', 'dashboard.js')).href;
    const { dashboard: make } = (await import(built)) as { dashboard: typeof dashboard };
    await using locks = create();
    await locks.mutex('a').acquire();
    const board = make(locks);
    boards.push(board);
    const id = `m${Buffer.from('a').toString('base64url')}`;
    const response = await board.fetch(new Request(`http://app.example/api/lock?id=${id}`));
    expect(await response.json()).toMatchObject({ lock: { name: 'a' }, events: [] });
  });

  it('refuses locks that cannot be listed, and what are no locks', async () => {
    await using memcached = createLocks('memcached://127.0.0.1:1');
    expect(() => dashboard(memcached)).toThrow(/cannot list its locks/);
    expect(() => dashboard({})).toThrow(/result of createLocks/);
  });

  it('stops listening to events when it closes', async () => {
    await using locks = createLocks();
    const board = boardOf(locks);
    board.close();
    board.close();
    const { default: diagnostics } = await import('node:diagnostics_channel');
    expect(diagnostics.channel('holdfast:grant').hasSubscribers).toBe(false);
  });
});
