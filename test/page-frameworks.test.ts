import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createLocks } from '../src/index.ts';
import { type Dashboard, dashboard } from '../src/public/dashboard.ts';
import { ROOT } from './cli-process.ts';

/** `dashboard(locks)` in web frameworks, mounted by the lines of docs/page.md. */

const require = createRequire(import.meta.url);
const DOCUMENT = readFileSync(join(ROOT, 'docs', 'page.md'), 'utf8');
const AsyncFunction = (async () => {}).constructor as new (
  ...args: string[]
) => (...values: unknown[]) => Promise<unknown>;

type Send = (path: string, init?: RequestInit) => Promise<Response>;

/** Runs the lines of the document for a framework, and returns their `app`. */
function mount(framework: string, names: Readonly<Record<string, unknown>>): Promise<unknown> {
  const [, code] = new RegExp(`^${framework}:\n\n\`\`\`js\n(.*?)^\`\`\`$`, 'ms').exec(DOCUMENT)!;
  const run = new AsyncFunction(...Object.keys(names), `${code}\nreturn app;`);
  return run(...Object.values(names));
}

function isAdmin(authorization: string | undefined): boolean {
  return authorization === 'Bearer me';
}

interface NodeRequest {
  readonly headers: { readonly authorization?: string };
}

async function express(board: Dashboard): Promise<Send> {
  const requireAdmin = (
    { headers }: NodeRequest,
    response: { sendStatus(status: number): void },
    next: () => void,
  ): void => {
    if (isAdmin(headers.authorization)) next();
    else response.sendStatus(401);
  };
  const app = await mount('Express', { express: require('express'), board, requireAdmin });
  const server = createServer(app as RequestListener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init);
}

interface FastifyReply {
  code(status: number): { send(): unknown };
}

async function fastify(board: Dashboard): Promise<Send> {
  const requireAdmin = async ({ headers }: NodeRequest, reply: FastifyReply): Promise<unknown> =>
    isAdmin(headers.authorization) ? undefined : reply.code(401).send();
  const names = { fastify: require('fastify'), board, requireAdmin };
  const app = (await mount('Fastify', names)) as {
    listen(options: { readonly port: number; readonly host: string }): Promise<string>;
    close(): Promise<void>;
    readonly server: { closeAllConnections(): void };
  };
  const address = await app.listen({ port: 0, host: '127.0.0.1' });
  onTestFinished(async () => {
    app.server.closeAllConnections();
    await app.close();
  });
  return (path, init) => fetch(address + path, init);
}

interface HonoContext {
  readonly req: { header(name: string): string | undefined };
  body(body: null, status: number): Response;
}

async function hono(board: Dashboard): Promise<Send> {
  const requireAdmin = async (
    context: HonoContext,
    next: () => Promise<void>,
  ): Promise<Response | undefined> => {
    if (!isAdmin(context.req.header('authorization'))) return context.body(null, 401);
    await next();
    return undefined;
  };
  const { Hono } = require('hono') as { Hono: unknown };
  const app = (await mount('Hono', { Hono, board, requireAdmin })) as {
    fetch(request: Request): Promise<Response>;
  };
  return async (path, init) => app.fetch(new Request(`http://app.example${path}`, init));
}

it.each([
  ['Express, behind express.json()', express],
  ['Fastify', fastify],
  ['Hono', hono],
])('works under a path in %s', async (_, start) => {
  await using locks = createLocks();
  const board = dashboard(locks, { allowRelease: true });
  onTestFinished(() => board.close());
  const send = await start(board);
  const headers = { authorization: 'Bearer me' };

  for (const path of ['', '/', '/api/stream', '/api/lock?id=ma', '/metrics']) {
    expect((await send(`/locks${path}`)).status, path).toBe(401);
  }
  const redirect = await send('/locks', { headers, redirect: 'manual' });
  expect([redirect.status, redirect.headers.get('location')]).toEqual([308, './locks/']);
  const page = await send('/locks/', { headers });
  const [, script] = /src="\.\/(assets\/[^"]+\.js)"/.exec(await page.text())!;
  expect((await send(`/locks/${script}`, { headers })).status).toBe(200);

  const lease = await locks.mutex('job').acquire();
  const stream = await send('/locks/api/stream', { headers });
  expect(stream.headers.get('content-type')).toContain('text/event-stream');
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const receive = async (part: string): Promise<void> => {
    while (!text.includes(part)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`the stream ended before ${part} came`);
      text += value;
    }
  };
  // An event of the history has the name, too.
  await receive('"name":"job","holderCount":1');
  const id = `m${Buffer.from('job').toString('base64url')}`;
  const body = JSON.stringify({ id, reason: 'test' });
  const json = { ...headers, 'content-type': 'application/json' };
  const release = (more: Record<string, string>): Promise<Response> =>
    send('/locks/api/release', { method: 'POST', body, headers: { ...json, ...more } });
  expect((await release({ authorization: 'Bearer you' })).status).toBe(401);
  expect((await release({ origin: 'https://evil.example' })).status).toBe(403);
  expect(await (await release({})).json()).toEqual({ holders: 1 });
  expect(await lease.release()).toBe('not-held');
  await receive(`"free":["${id}"]`);
  await reader.cancel();
});
