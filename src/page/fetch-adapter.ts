import type { PageHandler } from './page-handler.ts';
import type { OpenStream, PageRequest } from './page-request.ts';

/** Handles a request of the Fetch standard, as Hono, bun and others have them. */
export type FetchHandler = (request: Request) => Promise<Response>;

export function fetchHandler(handle: PageHandler): FetchHandler {
  return async (request) => {
    const answer = await handle(fromFetch(request));
    const init = { status: answer.status, headers: answer.headers };
    if ('open' in answer) return new Response(eventStream(answer.open), init);
    const isEmpty = answer.status === 304 || request.method === 'HEAD';
    return new Response(isEmpty ? null : bytesOf(answer.body), init);
  };
}

/** Response does not take a Buffer whose memory may be shared. */
function bytesOf(body: string | Buffer): string | Uint8Array<ArrayBuffer> {
  return typeof body === 'string' ? body : Uint8Array.from(body);
}

function fromFetch(request: Request): PageRequest {
  const { pathname, search, host } = new URL(request.url);
  return {
    method: request.method,
    url: pathname + search,
    // Not every server keeps the Host among the headers.
    header: (name) => request.headers.get(name) ?? (name === 'host' ? host : undefined),
    body: (maxBytes) => readBody(request, maxBytes),
  };
}

async function readBody(request: Request, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body ?? []) {
    bytes += chunk.length;
    if (bytes > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function eventStream(open: OpenStream): ReadableStream {
  let end = (): void => {};
  let isOver = false;
  const stop = (): void => {
    isOver = true;
    end();
  };
  return new ReadableStream(
    {
      start(controller) {
        end = open({
          get unreadBytes() {
            return -(controller.desiredSize ?? 0);
          },
          send(chunk) {
            if (!isOver) controller.enqueue(chunk);
          },
          end() {
            if (isOver) return;
            isOver = true;
            controller.close();
          },
          destroy() {
            if (isOver) return;
            stop();
            controller.error(new Error('the page does not read its events'));
          },
        });
        if (isOver) end();
      },
      cancel: stop,
    },
    new ByteLengthQueuingStrategy({ highWaterMark: 0 }),
  );
}
