import { describe, expect, it } from 'vitest';
import { seededRandom } from '../clock/index.ts';
import { type GuardedRoute, mountedGuard, ownGuard } from './page-guard.ts';
import type { PageRequest, PageResponse } from './page-request.ts';

const HOST = '127.0.0.1:8080';

function request(url = '/', headers: Record<string, string> = {}, method = 'GET'): PageRequest {
  const all: Record<string, string> = { host: HOST, ...headers };
  return { method, url, header: (name) => all[name], body: async () => Buffer.alloc(0) };
}

function guardOn(host: string): ReturnType<typeof ownGuard> {
  return ownGuard({ host, port: 8080, random: seededRandom(1) });
}

const { guard, query } = guardOn('127.0.0.1');
const token = query.slice('?token='.length);

/** The cookie that the token is exchanged for. */
function cookie(): string {
  const { headers } = guard(request(`/${query}`), 'page') as PageResponse;
  return headers['set-cookie']!.split(';')[0]!;
}

describe('ownGuard', () => {
  it('has a token of 192 bits, and a cookie that is not the token', () => {
    expect(Buffer.from(token, 'base64url')).toHaveLength(24);
    expect(cookie()).not.toContain(token);
  });

  it('exchanges the token for a strict cookie, and redirects to an address without it', () => {
    const response = guard(request(`/${query}`), 'page');
    expect(response).toMatchObject({ status: 303, headers: { location: './' } });
    expect(response!.headers['set-cookie']).toMatch(
      /^holdfast-page-8080=[\w-]{32}; HttpOnly; SameSite=Strict; Path=\/$/,
    );
  });

  it('accepts the cookie among others, and the token as a bearer', () => {
    expect(guard(request('/', { cookie: `a=b; ${cookie()}; c=d` }), 'page')).toBeUndefined();
    expect(guard(request('/', { authorization: `Bearer ${token}` }), 'api')).toBeUndefined();
  });

  it('refuses the start of the token, and of the cookie', () => {
    const start = token.slice(0, -1);
    for (const refused of [
      guard(request(`/?token=${start}`), 'page'),
      guard(request('/', { authorization: `Bearer ${start}` }), 'api'),
      guard(request('/', { cookie: cookie().slice(0, -1) }), 'page'),
    ]) {
      expect(refused).toMatchObject({ status: 401 });
    }
  });

  it.each([
    ['no token', '/', {}],
    ['a wrong token', '/?token=AAAA', {}],
    ['an empty token', '/?token=', {}],
    ['a wrong cookie', '/', { cookie: 'holdfast-page-8080=AAAA' }],
    ['the cookie of another port', '/', { cookie: 'holdfast-page-8081=AAAA' }],
    ['a wrong bearer', '/', { authorization: 'Bearer AAAA' }],
  ])('refuses %s with 401', (_case, url, headers) => {
    expect(guard(request(url, headers), 'page')).toMatchObject({ status: 401 });
  });

  it('does not accept the token in the address of the API', () => {
    expect(guard(request(`/api/stream${query}`), 'api')).toMatchObject({ status: 401 });
  });

  it.each(['localhost:8080', '[::1]:8080', 'LOCALHOST:8080', HOST])(
    'accepts the Host %s',
    (host) => {
      expect(guard(request('/healthz', { host }), 'open')).toBeUndefined();
    },
  );

  it.each([
    'evil.example:8080',
    '127.0.0.1',
    '127.0.0.1:8081',
    '127.0.0.1:8080.evil.example',
    '10.0.0.1:8080',
    '',
  ])('refuses the Host %j on every route', (host) => {
    for (const route of ['open', 'metrics', 'page', 'api'] as GuardedRoute[]) {
      expect(guard(request('/', { host, cookie: cookie() }), route)).toMatchObject({ status: 421 });
    }
  });

  it('refuses a request without a Host', () => {
    const bare = { ...request(), header: () => undefined };
    expect(guard(bare, 'open')).toMatchObject({ status: 421 });
  });

  it('accepts addresses, and no names, when it listens on all addresses', () => {
    const all = guardOn('0.0.0.0').guard;
    expect(all(request('/', { host: '10.1.2.3:8080' }), 'open')).toBeUndefined();
    expect(all(request('/', { host: '[fe80::1]:8080' }), 'open')).toBeUndefined();
    for (const host of ['evil.example:8080', '10.1.2.3:9', '10.1.2.3']) {
      expect(all(request('/', { host }), 'open')).toMatchObject({ status: 421 });
    }
  });

  it('asks for no token for /metrics on loopback, and for one elsewhere', () => {
    expect(guard(request('/metrics'), 'metrics')).toBeUndefined();
    const other = guardOn('10.1.2.3').guard;
    const host = '10.1.2.3:8080';
    expect(other(request('/metrics', { host }), 'metrics')).toMatchObject({ status: 401 });
  });

  it.each([
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site' }],
    [{ 'sec-fetch-site': 'none' }],
    [{ origin: 'https://evil.example' }],
    [{ origin: 'http://127.0.0.1:3000' }],
    [{ origin: 'null' }],
  ])('refuses an API request with %j', (headers) => {
    expect(guard(request('/api/lock', { cookie: cookie(), ...headers }), 'api')).toMatchObject({
      status: 403,
    });
  });

  it.each([
    [{ 'sec-fetch-site': 'same-origin', origin: 'http://127.0.0.1:8080' }],
    [{ origin: 'http://127.0.0.1:8080' }],
    [{}],
  ])('accepts an API request with %j', (headers) => {
    expect(guard(request('/api/lock', { cookie: cookie(), ...headers }), 'api')).toBeUndefined();
  });
});

describe('mountedGuard', () => {
  it('asks for no token, and refuses requests of other origins', () => {
    expect(mountedGuard(request('/locks/'), 'page')).toBeUndefined();
    expect(mountedGuard(request('/locks/api/stream'), 'api')).toBeUndefined();
    const foreign = { origin: 'https://evil.example' };
    expect(mountedGuard(request('/', foreign, 'POST'), 'page')).toMatchObject({ status: 403 });
    expect(mountedGuard(request('/', foreign), 'api')).toMatchObject({ status: 403 });
  });
});
