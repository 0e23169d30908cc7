import { once } from 'node:events';
import {
  createServer,
  get,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { nodeHandler } from './node-adapter.ts';
import { type OpenStream, plain } from './page-request.ts';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** A server whose every response is this stream. */
async function open(stream: OpenStream): Promise<IncomingMessage> {
  server = createServer(
    nodeHandler(async () => ({ status: 200, headers: { 'x-test': 'yes' }, open: stream })),
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const [response] = (await once(get({ port, host: '127.0.0.1' }), 'response')) as [
    IncomingMessage,
  ];
  return response.on('error', () => {});
}

const CHUNK = Buffer.alloc(1024 * 1024, 'x');

it('counts what its client does not read, and drops it', async () => {
  let unreadBytes = 0;
  await new Promise<void>((resolve) => {
    void open((stream) => {
      let sent = 0;
      const sendMore = (): void => {
        stream.send(CHUNK);
        if (++sent < 50) setImmediate(sendMore);
        else {
          unreadBytes = stream.unreadBytes;
          stream.destroy();
        }
      };
      sendMore();
      return resolve;
    });
  });
  // Some of them wait in the kernel.
  expect(unreadBytes).toBeGreaterThan(20 * CHUNK.length);
  expect(unreadBytes).toBeLessThan(51 * CHUNK.length);
});

it('keeps a stream whose client reads', async () => {
  let bytes = 0;
  let isOver = false;
  let end = (): void => {};
  let write: (chunk: Buffer) => void = () => {};
  const response = await open((stream) => {
    write = stream.send;
    end = stream.end;
    return () => {
      isOver = true;
    };
  });
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes % CHUNK.length === 0 && bytes < 100 * CHUNK.length) write(CHUNK);
    else if (bytes === 100 * CHUNK.length) end();
  });
  write(CHUNK);
  await once(response, 'end');
  expect(bytes).toBe(100 * CHUNK.length);
  expect(isOver).toBe(true);
});

/** The status of the response to a POST to a server with this handler. */
async function post(listener: RequestListener): Promise<number | undefined> {
  server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const sent = httpRequest({ port, host: '127.0.0.1', method: 'POST' });
  sent.end('{}');
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  response.resume();
  return response.statusCode;
}

it('writes nothing when another handler has answered meanwhile', async () => {
  let isOver = (): void => {};
  const answered = new Promise<void>((resolve) => {
    isOver = resolve;
  });
  const handle = nodeHandler(async () => {
    await answered;
    return plain(200, 'late');
  });
  const status = await post((request, response) => {
    handle(request, response);
    // It is still writing its answer.
    response.writeHead(503).flushHeaders();
    isOver();
    setImmediate(() => response.end());
  });
  // A rejection that nothing handles fails the test too.
  expect(status).toBe(503);
});

it('refuses a body that another handler has read', async () => {
  const handle = nodeHandler(async ({ body }) => {
    const text = await body(1000).catch((error: Error) => error.message);
    return plain(400, String(text));
  });
  const status = await post(async (request, response) => {
    await once(request.resume(), 'end');
    handle(request, response);
  });
  expect(status).toBe(400);
});
