import { createHash, timingSafeEqual } from 'node:crypto';
import { isIP } from 'node:net';
import type { Random } from '../clock/index.ts';
import { type PageRequest, type PageResponse, plain } from './page-request.ts';

/** Decides which requests are answered. A response is a refusal, or the exchange of the token for a cookie. */
export type PageGuard = (request: PageRequest, route: GuardedRoute) => PageResponse | undefined;

/** What a request is for: `open` needs no token, `metrics` none on loopback. */
export type GuardedRoute = 'open' | 'metrics' | 'page' | 'api';

/** On every response. No script, style or request of the page goes elsewhere, and no other page can frame it. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

const SECRET_BYTES = 24;

interface OwnGuardOptions {
  /** The address on which the server listens. */
  readonly host: string;
  readonly port: number;
  readonly random: Random;
}

/** For a server of the page's own: it checks the Host, and asks for the token of the URL or the cookie. */
export function ownGuard({ host, port, random }: OwnGuardOptions): {
  readonly guard: PageGuard;
  /** Whether the request has the token or the cookie. */
  isSignedIn(request: Pick<PageRequest, 'header'>): boolean;
  /** The part of the address that the token is in. */
  readonly query: string;
} {
  const token = secret(random);
  const cookie = { name: `holdfast-page-${port}`, value: secret(random) };
  const isKnownHost = hostCheck(host, port);
  const isSignedIn = (request: Pick<PageRequest, 'header'>): boolean =>
    isSame(cookieIn(request, cookie.name), cookie.value) || isSame(bearerIn(request), token);
  const guard: PageGuard = (request, route) => {
    if (!isKnownHost(request.header('host'))) return WRONG_HOST;
    if (route === 'open' || (route === 'metrics' && isLoopback(host))) return undefined;
    const given = route === 'page' ? tokenIn(request.url) : undefined;
    if (given !== undefined) return isSame(given, token) ? signedIn(request, cookie) : WRONG_TOKEN;
    if (!isSignedIn(request)) return NO_TOKEN;
    return route === 'api' ? foreignOrigin(request) : undefined;
  };
  return { guard, isSignedIn, query: `?token=${token}` };
}

/** For the handler in a program of the user, whose own middleware controls access to the page. */
export const mountedGuard: PageGuard = (request, route) =>
  route === 'api' || request.method === 'POST' ? foreignOrigin(request) : undefined;

/** Whether only programs of this machine can connect to this address. */
function isLoopback(host: string): boolean {
  return /^(?:localhost|\[?::1\]?|127(?:\.\d{1,3}){3})$/i.test(host);
}

const WRONG_HOST = plain(
  421,
  'This address is not that of the page. Use the address that holdfast has printed.',
);
const WRONG_TOKEN = plain(
  401,
  'The token is wrong. Use the address that holdfast has printed last.',
);
const NO_TOKEN = plain(401, 'Open the address that holdfast has printed: it has a token.');
const FOREIGN = plain(403, 'Another page has sent this request.');

function secret(random: Random): string {
  return Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url');
}

/** Constant time, also for texts of different lengths. */
function isSame(given: string | undefined, expected: string): boolean {
  return given !== undefined && timingSafeEqual(hashOf(given), hashOf(expected));
}

function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/**
 * A page of another site can make its own name point to this address (DNS rebinding), so only known names are accepted.
 * A server on all addresses accepts addresses too: a browser that shows one has no page of a name there.
 */
function hostCheck(bound: string, port: number): (host: string | undefined) => boolean {
  const names = ['localhost', '127.0.0.1', '[::1]', bracketed(bound.toLowerCase())];
  const known = new Set(
    names.flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`])),
  );
  const acceptsAddresses = /^(?:0\.0\.0\.0|::)$/.test(bound);
  return (host = '') => {
    if (known.has(host.toLowerCase())) return true;
    const [, name = '', given = '80'] = /^(.*?)(?::(\d+))?$/.exec(host) ?? [];
    return acceptsAddresses && Number(given) === port && isIP(name.replace(/^\[|\]$/g, '')) !== 0;
  };
}

function bracketed(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

function tokenIn(url: string): string | undefined {
  return new URLSearchParams(url.slice(url.indexOf('?') + 1)).get('token') ?? undefined;
}

/**
 * The redirect removes the token from the address, which browsers keep and people copy. If a link on another site led
 * here, as in a web terminal, browsers send no strict cookie after a redirect, but do after a refresh.
 */
function signedIn(
  request: PageRequest,
  { name, value }: { readonly name: string; readonly value: string },
): PageResponse {
  const isFromElsewhere = request.header('sec-fetch-site') === 'cross-site';
  return plain(isFromElsewhere ? 200 : 303, 'The page is at ./', {
    ...(isFromElsewhere ? { refresh: '0; url=./' } : { location: './' }),
    'set-cookie': `${name}=${value}; HttpOnly; SameSite=Strict; Path=/`,
  });
}

function cookieIn(request: Pick<PageRequest, 'header'>, name: string): string | undefined {
  const pairs = (request.header('cookie') ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

function bearerIn(request: Pick<PageRequest, 'header'>): string | undefined {
  return /^Bearer ([\w-]{1,128})$/.exec(request.header('authorization') ?? '')?.[1];
}

/**
 * Browsers say from which page a request comes. `same-site` is another port of this host. A program that is no browser
 * says nothing.
 */
function foreignOrigin(request: PageRequest): PageResponse | undefined {
  const site = request.header('sec-fetch-site');
  if (site !== undefined) return site === 'same-origin' ? undefined : FOREIGN;
  const origin = request.header('origin');
  if (origin === undefined) return undefined;
  return /^https?:\/\/(.+)$/i.exec(origin)?.[1]?.toLowerCase() ===
    request.header('host')?.toLowerCase()
    ? undefined
    : FOREIGN;
}
