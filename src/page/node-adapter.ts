import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PageHandler } from './page-handler.ts';
import type { OpenStream, PageRequest, PageResponse } from './page-request.ts';

/** Handles a request of node:http, and of Express and the like. */
export type NodeHandler = (request: IncomingMessage, response: ServerResponse) => void;

export function nodeHandler(handle: PageHandler): NodeHandler {
  return (request, response) => {
    // A rejection that nothing handles would end the process, which may serve more than this page.
    handle(fromNode(request))
      .then((answer) => write(request, response, answer))
      .catch(() => response.destroy());
  };
}

function write(request: IncomingMessage, response: ServerResponse, answer: PageResponse): void {
  // The client has gone, or another handler has answered, such as one for requests that take long.
  if (response.destroyed || response.headersSent) return;
  response.writeHead(answer.status, answer.headers);
  if ('open' in answer) writeEvents(response, answer.open);
  else response.end(request.method === 'HEAD' ? undefined : answer.body);
}

/** Express removes the path under which a handler is mounted, and keeps it in `originalUrl`. */
export function fromNode(
  request: IncomingMessage & { readonly originalUrl?: string },
): PageRequest {
  const { method = 'GET', headers } = request;
  return {
    method,
    url: request.originalUrl ?? request.url ?? '/',
    header: (name) => headers[name]?.toString(),
    body: (maxBytes) => readBody(request, maxBytes),
  };
}

/** A middleware such as express.json() may have read the body already. */
async function readBody(
  request: IncomingMessage & { readonly body?: unknown },
  maxBytes: number,
): Promise<Buffer | undefined> {
  if (request.body !== undefined && request.readableEnded) {
    const body = Buffer.from(JSON.stringify(request.body));
    return body.length > maxBytes ? undefined : body;
  }
  if (request.readableEnded) throw new Error('another handler has read the body');
  const chunks: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      // The rest is read and dropped, until the timeout of the request: without that no response could be sent.
      else resolve(undefined);
    });
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
    request.on('close', () => reject(new Error('the request has ended early')));
  });
}

function writeEvents(response: ServerResponse, open: OpenStream): void {
  response.flushHeaders();
  let isOver = false;
  const end = open({
    get unreadBytes() {
      return response.writableLength;
    },
    send(chunk) {
      if (!isOver) response.write(chunk);
    },
    end: () => response.end(),
    destroy: () => response.destroy(),
  });
  response.on('close', () => {
    isOver = true;
    end();
  });
}
