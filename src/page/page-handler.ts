import { LockArgumentError } from '../lock/index.ts';
import { StoreError } from '../stores/index.ts';
import type { PageAssets } from './page-assets.ts';
import { type GuardedRoute, type PageGuard, SECURITY_HEADERS } from './page-guard.ts';
import { BusyError, type PageHub, type ReleaseOrder } from './page-hub.ts';
import { type PageRequest, type PageResponse, plain } from './page-request.ts';

const MAX_BODY_BYTES = 16 * 1024;
const MAX_REASON_CHARS = 500;

interface PageHandlerOptions {
  readonly hub: PageHub;
  readonly guard: PageGuard;
  readonly assets: PageAssets;
  /** Whether the page may be under any path, such as /locks/. */
  readonly isMounted: boolean;
}

/** Answers the requests of the page. Never rejects. */
export type PageHandler = (request: PageRequest) => Promise<PageResponse>;

interface Route {
  readonly method: 'GET' | 'POST';
  readonly guarded: GuardedRoute;
  readonly answer: (
    options: PageHandlerOptions,
    request: PageRequest,
    query: URLSearchParams,
  ) => PageResponse | Promise<PageResponse>;
}

const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>(
  Object.entries({
    'api/stream': { method: 'GET', guarded: 'api', answer: openStream },
    'api/lock': { method: 'GET', guarded: 'api', answer: readLock },
    'api/release': { method: 'POST', guarded: 'api', answer: releaseLock },
    metrics: { method: 'GET', guarded: 'metrics', answer: readMetrics },
    healthz: { method: 'GET', guarded: 'open', answer: () => plain(200, 'ok') },
    readyz: { method: 'GET', guarded: 'open', answer: readReady },
  }),
);

export function pageHandler(options: PageHandlerOptions): PageHandler {
  return async (request) => {
    const response = await answer(options, request).catch(failure);
    return { ...response, headers: { ...SECURITY_HEADERS, ...response.headers } };
  };
}

async function answer(options: PageHandlerOptions, request: PageRequest): Promise<PageResponse> {
  const [path = '', search = ''] = request.url.split(/\?(.*)/s);
  const name = routeName(path, options.isMounted);
  const route = ROUTES.get(name);
  const refusal = options.guard(request, route?.guarded ?? 'page');
  if (refusal !== undefined) return refusal;
  if (route !== undefined) {
    if (!isAllowed(request, route)) return wrongMethod(route.method);
    return route.answer(options, request, new URLSearchParams(search));
  }
  if (request.method !== 'GET' && request.method !== 'HEAD') return wrongMethod('GET');
  if (path.endsWith('/') && (options.isMounted || path === '/')) {
    return options.assets('index.html', request);
  }
  if (name.startsWith('assets/') || !options.isMounted) return options.assets(name, request);
  // The addresses in the page are relative, so that its own must end with a slash.
  return plain(308, 'The page is at the same address with a slash.', {
    location: `./${path.slice(path.lastIndexOf('/') + 1)}/`,
  });
}

/** Without its first slash; under an unknown path the end that is a route or a file. */
function routeName(path: string, isMounted: boolean): string {
  if (!isMounted) return path.slice(1);
  const [, end] = /\/((?:api|assets)\/[^/]+|metrics|healthz|readyz)$/.exec(path) ?? [];
  return end ?? '';
}

/** Health checks may send HEAD. A stream has no end at which it could be answered. */
function isAllowed({ method }: PageRequest, route: Route): boolean {
  if (method === route.method) return true;
  return method === 'HEAD' && route.method === 'GET' && route.answer !== openStream;
}

function openStream({ hub }: PageHandlerOptions, request: PageRequest): PageResponse {
  if (hub.isFull) {
    return plain(503, 'Too many pages are open.', { 'retry-after': '30' });
  }
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store, no-transform',
    // Proxies that buffer responses would keep events back.
    'x-accel-buffering': 'no',
  };
  const lastEventId = request.header('last-event-id');
  return { status: 200, headers, open: (stream) => hub.connect(stream, lastEventId) };
}

async function readLock(
  { hub }: PageHandlerOptions,
  _request: PageRequest,
  query: URLSearchParams,
): Promise<PageResponse> {
  const id = query.get('id');
  return id === null ? plain(400, 'The id of a lock is missing.') : json(200, await hub.lock(id));
}

async function releaseLock(
  { hub }: PageHandlerOptions,
  request: PageRequest,
): Promise<PageResponse> {
  if (!hub.facts.canRelease) {
    return plain(403, 'This page does not release locks: it was not started with that permission.');
  }
  // Forms of other sites cannot send this type.
  if (!/^application\/json\s*(?:;|$)/i.test(request.header('content-type') ?? '')) {
    return plain(415, 'The Content-Type must be application/json.');
  }
  const body = await request.body(MAX_BODY_BYTES);
  if (body === undefined) return TOO_LARGE;
  const order = releaseOrder(body.toString('utf8'));
  if (order === undefined) {
    return plain(
      400,
      `Send {"id","reason","owners"} with a reason of 1 to ${MAX_REASON_CHARS} characters.`,
    );
  }
  const released = await hub.release(order);
  return released === undefined ? OTHER_HOLDERS : json(200, released);
}

const OTHER_HOLDERS = plain(409, 'The holders that you saw have released it; others hold it now.');

const TOO_LARGE = plain(413, `The body has more than ${MAX_BODY_BYTES} bytes.`, {
  connection: 'close',
});

function releaseOrder(text: string): ReleaseOrder | undefined {
  try {
    const { id, reason, owners } = JSON.parse(text) as Record<keyof ReleaseOrder, unknown>;
    if (typeof id !== 'string' || typeof reason !== 'string') return undefined;
    if (owners !== undefined && !isTexts(owners)) return undefined;
    const isFit = reason.trim() !== '' && reason.length <= MAX_REASON_CHARS;
    return isFit ? { id, reason: reason.trim(), owners } : undefined;
  } catch {
    return undefined;
  }
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

async function readMetrics({ hub }: PageHandlerOptions): Promise<PageResponse> {
  const text = await hub.metricsText();
  if (text === undefined) return plain(404, 'Not found.');
  return plain(200, text.trimEnd(), {
    'content-type': 'text/plain; version=0.0.4; charset=utf-8',
  });
}

async function readReady({ hub }: PageHandlerOptions): Promise<PageResponse> {
  return (await hub.isReady()) ? plain(200, 'ready') : plain(503, 'The store does not answer.');
}

function json(status: number, value: unknown): PageResponse {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' };
  return { status, headers, body: JSON.stringify(value) };
}

function wrongMethod(allow: string): PageResponse {
  return plain(405, `Use ${allow}.`, { allow });
}

function failure(error: unknown): PageResponse {
  if (error instanceof BusyError) return plain(503, 'Too many requests.', { 'retry-after': '1' });
  if (error instanceof LockArgumentError) return plain(400, error.message);
  if (error instanceof StoreError) return plain(502, error.message);
  const reason = error instanceof Error ? error.message : String(error);
  return plain(502, `The store does not answer as expected: ${reason}`);
}
