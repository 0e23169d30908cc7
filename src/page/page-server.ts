import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { systemClock, systemRandom } from '../clock/index.ts';
import { fromNode, nodeHandler } from './node-adapter.ts';
import { loadAssets } from './page-assets.ts';
import { ownGuard } from './page-guard.ts';
import { pageHandler } from './page-handler.ts';
import { PageHub } from './page-hub.ts';
import type { PageSource } from './page-source.ts';

export interface PageServerOptions {
  readonly source: PageSource;
  /** The version of Holdfast, which the page shows. */
  readonly version: string;
  readonly host: string;
  /** 0: a free one. */
  readonly port: number;
  readonly canRelease: boolean;
}

/** The page on a port of its own. */
export interface PageServer {
  /** The address with the token. */
  readonly address: string;
  readonly port: number;
  /** Ends all requests. Safe to call twice. */
  close(): Promise<void>;
}

/** Connections on which no request had the token or the cookie. */
const MAX_UNKNOWN_CONNECTIONS = 100;
/** Above what one turn accepts: a burst of unknown connections must not keep the owner of the token out. */
const MAX_CONNECTIONS = 1000;
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
/** Node would check the two timeouts every 30 s only. */
const CHECK_MS = 2000;
const MAX_HEADER_BYTES = 16 * 1024;

/** Rejects if the port is taken, or the address is not of this machine. */
export async function startPageServer(options: PageServerOptions): Promise<PageServer> {
  const { source, version, host, canRelease } = options;
  const server = createServer({
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
  });
  server.maxConnections = MAX_CONNECTIONS;
  const port = await listen(server, host, options.port);
  const hub = new PageHub({
    source,
    version,
    canRelease,
    clock: systemClock,
    random: systemRandom,
  });
  const { guard, isSignedIn, query } = ownGuard({ host, port, random: systemRandom });
  const assets = loadAssets();
  const handle = nodeHandler(pageHandler({ hub, guard, assets, isMounted: false }));
  const unknown = limitUnknown(server);
  server.on('request', (request, response) => {
    if (isSignedIn(fromNode(request))) unknown.delete(request.socket);
    handle(request, response);
  });
  return {
    address: `http://${host.includes(':') ? `[${host}]` : host}:${port}/${query}`,
    port,
    async close() {
      hub.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** Returns the connections that a request has not signed in yet. The oldest is closed when there are too many. */
function limitUnknown(server: Server): Set<Socket> {
  const unknown = new Set<Socket>();
  server.on('connection', (socket) => {
    unknown.add(socket);
    socket.on('close', () => unknown.delete(socket));
    if (unknown.size <= MAX_UNKNOWN_CONNECTIONS) return;
    const [oldest] = unknown;
    unknown.delete(oldest!);
    oldest!.destroy();
  });
  return unknown;
}

function listen(server: Server, host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.removeListener('error', reject);
      // Such as too many open files: the next connection may succeed.
      server.on('error', () => {});
      resolve((server.address() as AddressInfo).port);
    });
  });
}
