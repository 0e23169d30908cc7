import { beforeEach, describe, expect, it } from 'vitest';
import { seededRandom, type VirtualClock, virtualClock } from '../clock/index.ts';
import { Locks, memoryStore } from '../lock/index.ts';
import { type LockHistoryEvent, type LockSource, storeLocks } from '../stores/index.ts';
import { fetchHandler } from './fetch-adapter.ts';
import { mountedGuard } from './page-guard.ts';
import { type PageHandler, pageHandler } from './page-handler.ts';
import { PageHub } from './page-hub.ts';
import { lockId } from './page-lock.ts';
import { type PageRequest, type PageResponse, plain } from './page-request.ts';
import type { PageHistory } from './page-source.ts';
import type { PageLock, PageMessage } from './protocol.ts';
import { ServerMetrics } from './server-metrics.ts';

let clock: VirtualClock;
let locks: Locks;
let source: LockSource;
let hub: PageHub;
let handle: PageHandler;
let isMounted: boolean;

function open(canRelease: boolean, history?: PageHistory): void {
  clock = virtualClock();
  const store = memoryStore(clock);
  locks = new Locks({ store, clock, random: seededRandom(1) });
  source = storeLocks(store, 'memory');
  hub = new PageHub({
    source: {
      locks: source,
      history,
      figures: undefined,
      metrics: { add() {}, text: async (read) => `locks ${(await read()).length}\n` },
      close: () => source.close(),
    },
    version: '1.2.3',
    canRelease,
    clock,
    random: seededRandom(2),
  });
  handle = pageHandler({
    hub,
    guard: mountedGuard,
    assets: (path) => plain(200, path),
    isMounted,
  });
}

beforeEach(() => {
  isMounted = true;
  open(true);
});

function request(
  method: string,
  url: string,
  { type = 'application/json', body = '' } = {},
): PageRequest {
  const bytes = Buffer.from(body);
  return {
    method,
    url,
    header: (name) => (name === 'content-type' ? type : undefined),
    body: async (maxBytes) => (bytes.length > maxBytes ? undefined : bytes),
  };
}

async function get(url: string): Promise<PageResponse & { readonly text: string }> {
  const response = await handle(request('GET', url));
  return { ...response, text: 'body' in response ? String(response.body) : '' };
}

const READING = { unreadBytes: 0, end() {}, destroy() {} };

/** A page that reads nothing. */
class StalledPage {
  unreadBytes = 0;
  isOver = false;

  constructor() {
    hub.connect(this);
  }

  send(chunk: Buffer): void {
    this.unreadBytes += chunk.length;
  }

  end(): void {}

  destroy(): void {
    this.isOver = true;
  }
}

function release(body: unknown, options = {}): Promise<PageResponse> {
  return handle(request('POST', '/api/release', { body: JSON.stringify(body), ...options }));
}

/** The messages of a stream. */
function listen(chunks: string[]): {
  messages(): PageMessage[];
  end(): void;
  readonly isOver: boolean;
} {
  let isOver = false;
  const end = hub.connect({
    ...READING,
    send: (chunk) => chunks.push(chunk.toString()),
    end: () => {
      isOver = true;
    },
  });
  return {
    messages: () =>
      chunks.flatMap((chunk) => {
        const data = chunk
          .split('\n')
          .find((line) => line.startsWith('data: '))
          ?.slice(6);
        return data === undefined ? [] : [JSON.parse(data) as PageMessage];
      }),
    end,
    get isOver() {
      return isOver;
    },
  };
}

describe('routes', () => {
  it.each([
    ['/', 'index.html'],
    ['/locks/', 'index.html'],
    ['/a/b/', 'index.html'],
    ['/locks/assets/index-1.js', 'assets/index-1.js'],
    ['/healthz', 'ok'],
    ['/locks/metrics', 'locks 0'],
    ['/readyz', 'ready'],
  ])('answers %s with %s', async (url, text) => {
    expect(await get(url)).toMatchObject({ status: 200, text: `${text}\n` });
  });

  it('redirects an address without a slash to itself with one, and to no other host', async () => {
    expect(await get('/app/locks')).toMatchObject({
      status: 308,
      headers: { location: './locks/' },
    });
    for (const url of ['//evil.example', '/javascript:alert(1)', '/\\evil.example']) {
      expect((await get(url)).headers['location']).toMatch(/^\.\//);
    }
  });

  it('knows only its own paths when it is not mounted', async () => {
    isMounted = false;
    open(true);
    expect(await get('/')).toMatchObject({ status: 200, text: 'index.html\n' });
    expect(await get('/locks/api/lock?id=ma')).toMatchObject({ text: 'locks/api/lock\n' });
    expect(await get('/constructor')).toMatchObject({ text: 'constructor\n' });
  });

  it('refuses other methods with 405', async () => {
    expect(await handle(request('POST', '/api/lock'))).toMatchObject({ status: 405 });
    expect(await handle(request('GET', '/api/release'))).toMatchObject({ status: 405 });
    expect(await handle(request('DELETE', '/'))).toMatchObject({ status: 405 });
  });

  it('has the security headers on every response', async () => {
    for (const url of ['/', '/api/lock', '/api/stream', '/nothing']) {
      const { headers } = await get(url);
      expect(headers['content-security-policy']).toMatch(/^default-src 'none'; script-src 'self';/);
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
  });
});

describe('api/lock', () => {
  it('returns holders and waiters of a lock, and null for a free one', async () => {
    await locks.mutex('锁').acquire({ label: 'first' });
    void locks.mutex('锁').acquire({ label: 'second' });
    const id = lockId('mutex', Buffer.from('锁').toString('latin1'));
    expect(JSON.parse((await get(`/api/lock?id=${id}`)).text)).toMatchObject({
      lock: {
        id,
        name: '锁',
        holders: [{ client: { label: 'first' } }],
        waiters: [{ client: { label: 'second' } }],
      },
      forced: [],
    });
    const free = lockId('mutex', 'free');
    expect(JSON.parse((await get(`/api/lock?id=${free}`)).text)).toEqual({
      lock: null,
      events: [],
      forced: [],
    });
  });

  it.each(['', 'x', 'm~abc', '__proto__', 'ma a', 'mYQ=='])(
    'returns null for the id %j',
    async (id) => {
      expect(JSON.parse((await get(`/api/lock?id=${id}`)).text)).toMatchObject({ lock: null });
    },
  );

  it('refuses a request without an id, and a name that the store cannot have', async () => {
    expect(await get('/api/lock')).toMatchObject({ status: 400 });
    expect(await get(`/api/lock?id=${lockId('mutex', '\xff')}`)).toMatchObject({ status: 400 });
  });

  it('answers 503 when too many requests are pending', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => get('/api/lock?id=mYQ')));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 503, 503]);
  });
});

describe('HEAD', () => {
  it.each([
    ['/healthz', 200],
    ['/readyz', 200],
    ['/metrics', 200],
    ['/api/stream', 405],
    ['/api/release', 405],
  ])('%s answers %i', async (url, status) => {
    expect((await handle(request('HEAD', url))).status).toBe(status);
  });
});

describe('metrics and readyz', () => {
  it('answer all requests that come at the same time, and leave room for those of pages', async () => {
    const urls = Array.from({ length: 50 }, (_, index) =>
      index % 2 === 0 ? '/metrics' : '/readyz',
    );
    const responses = Promise.all(urls.map(get));
    expect((await get(`/api/lock?id=${lockId('mutex', 'a')}`)).status).toBe(200);
    expect(new Set((await responses).map(({ status }) => status))).toEqual(new Set([200]));
  });
});

describe('metrics of a process', () => {
  it('are returned while the store does not answer', async () => {
    const list = (): Promise<never> => new Promise(() => {});
    const stalled = new PageHub({
      source: {
        locks: { ...storeLocks(memoryStore(clock), 'memory'), list },
        history: undefined,
        figures: undefined,
        metrics: { add() {}, text: async () => 'grants 1\n' },
        close() {},
      },
      version: '1.2.3',
      canRelease: false,
      clock,
      random: seededRandom(2),
    });
    expect(await stalled.metricsText()).toBe('grants 1\n');
    stalled.close();
  });
});

describe('metrics of a server that cannot list its locks', () => {
  it('are those of INFO, without numbers of leases and waiters', async () => {
    const list = (): Promise<never> => Promise.reject(new Error('MISCONF'));
    const metrics = new ServerMetrics();
    const failing = new PageHub({
      source: {
        locks: { ...storeLocks(memoryStore(clock), 'memory'), list },
        history: undefined,
        figures: undefined,
        metrics: {
          add() {},
          text: async (readLocks) => {
            const shown = await readLocks().catch(() => undefined);
            return metrics.text('uptime_in_seconds:7\r\n', shown);
          },
        },
        close() {},
      },
      version: '1.2.3',
      canRelease: false,
      clock,
      random: seededRandom(2),
    });
    const text = await failing.metricsText();
    expect(text).toContain('holdfast_server_uptime_seconds 7\n');
    expect(text).not.toMatch(/active_leases|waiters/);
    failing.close();
  });
});

describe('api/release', () => {
  const id = lockId('mutex', 'job');

  it('ends the leases, and keeps the reason', async () => {
    const lease = await locks.mutex('job').acquire();
    expect(await release({ id, reason: ' stuck ' })).toMatchObject({
      status: 200,
      body: '{"holders":1}',
    });
    expect(await lease.release()).toBe('not-held');
    expect(JSON.parse((await get(`/api/lock?id=${id}`)).text)).toMatchObject({
      forced: [{ reason: 'stuck', holders: 1, atMs: clock.wallMs() }],
    });
    expect(await release({ id, reason: 'again' })).toMatchObject({ body: '{"holders":0}' });
  });

  it('is refused when only others hold the lock than those that the user has seen', async () => {
    const seen = await locks.mutex('job').acquire();
    const { lock } = JSON.parse((await get(`/api/lock?id=${id}`)).text) as { lock: PageLock };
    const owners = lock.holders.map(({ owner }) => owner);
    await seen.release();
    const next = await locks.mutex('job').acquire();
    expect(await release({ id, reason: 'stuck', owners })).toMatchObject({ status: 409 });
    expect(await next.release()).toBe('released');
    await locks.mutex('job').acquire();
    const { lock: now } = JSON.parse((await get(`/api/lock?id=${id}`)).text) as { lock: PageLock };
    const shown = [...owners, now.holders[0]!.owner];
    expect(await release({ id, reason: 'stuck', owners: shown })).toMatchObject({ status: 200 });
  });

  it('is refused when the lock changes hands after the hub has read it', async () => {
    const seen = await locks.mutex('job').acquire();
    const { lock } = JSON.parse((await get(`/api/lock?id=${id}`)).text) as { lock: PageLock };
    const owners = lock.holders.map(({ owner }) => owner);
    const { read } = source;
    Object.assign(source, {
      async read(name: string) {
        const found = await read(name);
        await seen.release();
        await locks.mutex('job').acquire();
        return found;
      },
    });
    expect(await release({ id, reason: 'stuck', owners })).toMatchObject({ status: 409 });
    expect((await locks.mutex('job').inspect()).holders).toHaveLength(1);
  });

  it.each([
    ['owners that are no texts', { id, reason: 'x', owners: [1] }],
    ['no reason', { id }],
    ['an empty reason', { id, reason: '  ' }],
    ['a long reason', { id, reason: 'x'.repeat(501) }],
    ['no id', { reason: 'x' }],
    ['null', null],
    ['a list', [1]],
  ])('refuses %s with 400', async (_case, body) => {
    expect(await release(body)).toMatchObject({ status: 400 });
  });

  it('refuses other types and large bodies', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonp',
      '',
    ]) {
      expect(await release({ id, reason: 'x' }, { type })).toMatchObject({ status: 415 });
    }
    expect(await release({ id, reason: 'x'.repeat(17_000) })).toMatchObject({ status: 413 });
  });

  it('is refused without permission', async () => {
    open(false);
    const lease = await locks.mutex('job').acquire();
    expect(await release({ id, reason: 'x' })).toMatchObject({ status: 403 });
    expect(await lease.release()).toBe('released');
  });
});

describe('api/stream', () => {
  it('sends the source, then the locks, then changes and heartbeats', async () => {
    await locks.mutex('a').acquire({ lease: '1h' });
    const chunks: string[] = [];
    const stream = listen(chunks);
    expect(stream.messages()).toMatchObject([
      {
        type: 'source',
        source: { label: 'memory', version: '1.2.3', canRelease: true, history: 'none' },
      },
    ]);
    await clock.advanceAsync(0);
    expect(stream.messages()[1]).toMatchObject({ type: 'locks', locks: [{ name: 'a' }] });
    await locks.mutex('b').acquire({ lease: '1h' });
    await clock.advanceAsync(1000);
    expect(stream.messages()[2]).toMatchObject({
      type: 'changes',
      locks: [{ name: 'b' }],
      free: [],
    });
    await clock.advanceAsync(14_000);
    expect(chunks.at(-1)).toMatch(/^: .*\n\n$/);
    stream.end();
    hub.close();
  });

  it('gives a second page the present state at once', async () => {
    await locks.mutex('a').acquire();
    const first = listen([]);
    await clock.advanceAsync(0);
    const second = listen([]);
    expect(second.messages().map(({ type }) => type)).toEqual(['source', 'locks']);
    first.end();
    second.end();
  });

  it('sends pages that connect at the same time the same buffer, so that unread ones share it', async () => {
    await locks.mutex('a').acquire();
    const first: Buffer[] = [];
    const second: Buffer[] = [];
    hub.connect({ ...READING, send: (chunk) => first.push(chunk) });
    await clock.advanceAsync(0);
    const third: Buffer[] = [];
    for (const chunks of [second, third]) {
      hub.connect({ ...READING, send: (chunk) => chunks.push(chunk) });
    }
    const ofLocks = (chunk: Buffer): boolean => chunk.includes('event: locks');
    expect(second.find(ofLocks)).toBeDefined();
    expect(second.find(ofLocks)).toBe(third.find(ofLocks));
    hub.close();
  });

  it('passes the Last-Event-ID on to the hub, which sends only the events after it', async () => {
    const event = (id: number): LockHistoryEvent => ({
      id,
      atMs: 0,
      type: 'granted',
      kind: 'mutex',
      nameBytes: `n${id}`,
      owner: 'o',
      info: undefined,
      fence: id,
      heldMs: undefined,
      waitedMs: undefined,
    });
    const pending = [[event(1)], [event(2)]];
    open(true, {
      kind: 'server',
      next: async () => ({ events: pending.shift() ?? [], missed: 0, isReset: false }),
      ofName: async () => [],
    });
    const connect = async (lastEventId?: string): Promise<string[]> => {
      const header = (name: string) => (name === 'last-event-id' ? lastEventId : undefined);
      const response = await handle({ ...request('GET', '/api/stream'), header });
      const chunks: string[] = [];
      if ('open' in response) {
        response.open({
          unreadBytes: 0,
          send: (chunk) => chunks.push(chunk.toString()),
          end() {},
          destroy() {},
        });
      }
      return chunks;
    };
    const first = await connect();
    await clock.advanceAsync(1200);
    const ids = [...first.join('').matchAll(/^id: (.*)$/gm)].map(([, id]) => id!);
    const again = (await connect(ids.at(-2))).join('');
    expect(again).toContain('"name":"n2"');
    expect(again).not.toContain('"name":"n1"');
  });

  it('refuses the 101st stream, and accepts one when another has ended', async () => {
    const streams = Array.from({ length: 100 }, () => listen([]));
    expect(await get('/api/stream')).toMatchObject({ status: 503 });
    streams[7]!.end();
    expect(await get('/api/stream')).toMatchObject({ status: 200 });
  });

  it('ends all streams when it closes, and those that open later', () => {
    const stream = listen([]);
    hub.close();
    hub.close();
    expect(stream.isOver).toBe(true);
    expect(listen([]).isOver).toBe(true);
  });

  it('keeps hostile names inside of JSON, on one line', async () => {
    const names = [
      '<img src=x onerror=alert(1)>',
      '\u202eevil',
      'a\0b',
      '__proto__',
      'x\ndata: {}\n\n',
      '\u2028',
    ];
    for (const name of names) await locks.mutex(name).acquire();
    const chunks: string[] = [];
    const stream = listen(chunks);
    await clock.advanceAsync(0);
    const [, message] = stream.messages() as [unknown, PageMessage & { type: 'locks' }];
    expect(message.locks.map(({ name }) => name).sort()).toEqual([...names].sort());
    for (const chunk of chunks)
      expect(chunk.replace(/\n\n$/, '').split('\n').length).toBeLessThan(4);
    stream.end();
  });
});

describe('the fetch handler', () => {
  it('answers requests, and streams events until the reader cancels', async () => {
    const fetch = fetchHandler(handle);
    const page = await fetch(new Request('http://app.example/locks/'));
    expect([page.status, await page.text()]).toEqual([200, 'index.html\n']);
    const { body, headers } = await fetch(new Request('http://app.example/locks/api/stream'));
    expect(headers.get('content-type')).toMatch(/^text\/event-stream/);
    const reader = body!.getReader();
    await reader.read();
    const { value } = await reader.read();
    expect(Buffer.from(value as Uint8Array).toString()).toMatch(/^event: source\n/);
    await reader.cancel();
    await clock.advanceAsync(1000);
    expect(clock.pendingTimers).toBe(0);
  });

  it('refuses a body that is too large, and a foreign origin', async () => {
    const fetch = fetchHandler(handle);
    const send = (body: string, headers: Record<string, string>): Promise<Response> =>
      fetch(new Request('http://app.example/api/release', { method: 'POST', body, headers }));
    const type = { 'content-type': 'application/json' };
    expect((await send('x'.repeat(20_000), type)).status).toBe(413);
    expect((await send('{}', { ...type, origin: 'http://evil.example' })).status).toBe(403);
    expect((await send('{}', { ...type, origin: 'http://app.example' })).status).toBe(400);
  });

  it('closes a stream whose reader does not read', async () => {
    const { body } = await fetchHandler(handle)(new Request('http://app.example/api/stream'));
    await locks.mutex('a').acquire({ lease: '1000h' });
    await clock.advanceAsync(0);
    // Heartbeats have 15 bytes: 32 MB are many of them, and each list of many locks is large.
    for (let index = 0; index < 3000; index++) {
      await locks.mutex(`${'n'.repeat(1000)}${index}`).acquire({ lease: '1000h' });
    }
    for (let turn = 0; turn < 15; turn++) {
      await Promise.all(
        Array.from({ length: 3000 }, (_, index) =>
          locks.mutex(`${'n'.repeat(1000)}${index}`).forceRelease(),
        ),
      );
      for (let index = 0; index < 3000; index++) {
        await locks.mutex(`${'n'.repeat(1000)}${index}`).acquire({ lease: '1000h' });
      }
      await clock.advanceAsync(1000);
    }
    const reader = body!.getReader();
    await expect(reader.read()).rejects.toThrow('does not read');
  });
});

describe('pages that do not read', () => {
  const MB = 2 ** 20;

  it('ends one for which more than 32 MB wait', async () => {
    const [stalled, other] = [new StalledPage(), new StalledPage()];
    stalled.unreadBytes = 33 * MB;
    await clock.advance(20_000);
    expect([stalled.isOver, other.isOver]).toEqual([true, false]);
  });

  it('ends the largest until at most 128 MB wait for all', async () => {
    const pages = Array.from({ length: 10 }, () => new StalledPage());
    for (const [index, page] of pages.entries()) page.unreadBytes = (10 + 2 * index) * MB;
    await clock.advance(20_000);
    // The first seven have 112 MB.
    expect(pages.map(({ isOver }) => isOver)).toEqual([
      ...new Array(7).fill(false),
      ...new Array(3).fill(true),
    ]);
  });

  it('ends the largest when another page connects', () => {
    const pages = Array.from({ length: 6 }, () => new StalledPage());
    for (const page of pages) page.unreadBytes = 25 * MB;
    pages[3]!.unreadBytes++;
    const next = new StalledPage();
    expect([...pages, next].map(({ isOver }) => isOver).indexOf(true)).toBe(3);
    expect(next.unreadBytes).toBeGreaterThan(0);
  });
});
