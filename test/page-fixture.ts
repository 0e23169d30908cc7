import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import type { PageMessage, PageRequests } from '../src/page/protocol.ts';

type Details = PageRequests['GET api/lock?id=…'];

/** A server that serves dist/page with the headers of the real one, and a stream with the messages of a test. */
export interface PageFixture {
  readonly url: string;
  /** The bodies of forced releases. */
  readonly releases: unknown[];
  /** Sent first on each connection. */
  greeting: readonly PageMessage[];
  details: (id: string) => Details;
  /** The reply to a forced release. */
  releaseStatus: number;
  /** Whether connections to the stream are refused with 503. */
  isDown: boolean;
  send(message: PageMessage): void;
  /** Ends all streams, as a restart of the server does. */
  cut(): void;
  close(): Promise<void>;
}

const ROOT = join(import.meta.dirname, '..', 'dist', 'page');
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:";
const TYPES = new Map([
  ['.html', 'text/html; charset=utf-8'],
  ['.js', 'text/javascript'],
  ['.css', 'text/css'],
]);

/** Listens on a free port of the loopback interface, under the prefix `/locks/`. */
export async function startPageFixture(): Promise<PageFixture> {
  const streams = new Set<ServerResponse>();
  const fixture: PageFixture = {
    url: '',
    releases: [],
    greeting: [],
    details: () => ({ lock: null, events: [], forced: [] }),
    releaseStatus: 200,
    isDown: false,
    send: (message) => {
      for (const stream of streams) stream.write(frameOf(message));
    },
    cut: () => {
      for (const stream of streams) stream.destroy();
    },
    close: async () => {
      fixture.cut();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://fixture');
    const path = pathname.replace(/^\/locks\//, '');
    if (path === 'api/stream') return openStream(fixture, streams, response);
    if (path === 'api/lock') {
      return replyJson(response, 200, fixture.details(searchParams.get('id') ?? ''));
    }
    if (path === 'api/release' && request.method === 'POST') {
      return void release(fixture, request, response);
    }
    replyFile(response, path === '' ? 'index.html' : path);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(fixture, { url: `http://127.0.0.1:${port}/locks/` });
}

function openStream(
  { greeting, isDown }: PageFixture,
  streams: Set<ServerResponse>,
  response: ServerResponse,
): void {
  if (isDown) {
    response.writeHead(503).end('down');
    return;
  }
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  streams.add(response);
  response.on('close', () => streams.delete(response));
  // By default the browser waits some seconds before it connects again.
  response.write('retry: 100\n\n');
  for (const message of greeting) response.write(frameOf(message));
}

function frameOf(message: PageMessage): string {
  const id = message.type === 'history' ? `id: ${message.events.at(-1)?.id ?? 0}\n` : '';
  return `${id}event: ${message.type}\ndata: ${JSON.stringify(message)}\n\n`;
}

async function release(
  fixture: PageFixture,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let body = '';
  for await (const chunk of request) body += chunk;
  fixture.releases.push(JSON.parse(body));
  if (fixture.releaseStatus === 200) replyJson(response, 200, { holders: 1 });
  else response.writeHead(fixture.releaseStatus).end('The store refused it.');
}

function replyJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

function replyFile(response: ServerResponse, path: string): void {
  try {
    const content = readFileSync(join(ROOT, normalize(`/${path}`)));
    response
      .writeHead(200, {
        'content-type': TYPES.get(extname(path)) ?? 'application/octet-stream',
        'content-security-policy': POLICY,
      })
      .end(content);
  } catch {
    response.writeHead(404).end();
  }
}
