import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Io, print, UsageError, VerbError } from '../verb.ts';
import { readWords, SERVE_OPTIONS } from './lab-options.ts';

/** `holdfast lab serve`: the lab as a web page, on this machine only. Runs until it gets a signal. */
export async function serveLab(args: readonly string[], io: Io, help: string): Promise<number> {
  const { values } = readWords(SERVE_OPTIONS, [], args);
  if (values.help) return print(io, help);
  const files = readFiles(FOLDER);
  const server = createServer((request, response) => reply(files, request, response));
  server.listen(portOf(values.port), '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new VerbError(
      `cannot listen (${(error as NodeJS.ErrnoException).code}). Give another --port.`,
    );
  }
  const { port } = server.address() as AddressInfo;
  print(io, `The lab is at http://127.0.0.1:${port}/ until you press Ctrl-C.`);
  await Promise.race(SIGNALS.map((signal) => once(process, signal)));
  server.closeAllConnections();
  server.close();
  return 0;
}

interface PageFile {
  readonly type: string;
  readonly content: Buffer;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** dist/learn/, seen from dist/cli/lab/. */
const FOLDER = fileURLToPath(new URL('../../learn/', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
};

/** The same policy as in the page itself, for its worker too. */
const HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
} as const;

/** All files by their paths, read once: a request never reaches the disk. */
function readFiles(folder: string): ReadonlyMap<string, PageFile> {
  try {
    const paths = readdirSync(folder, { recursive: true }) as string[];
    return new Map(
      paths
        .filter((path) => extname(path) in TYPES)
        .map((path) => [
          `/${path.replaceAll('\\', '/')}`,
          { type: TYPES[extname(path)]!, content: readFileSync(join(folder, path)) },
        ]),
    );
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new VerbError(
      `the files of the page are missing in ${folder} (${code}). Run npm run build.`,
    );
  }
}

function reply(
  files: ReadonlyMap<string, PageFile>,
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
): void {
  if (method !== 'GET' && method !== 'HEAD') {
    response.writeHead(405, { ...HEADERS, allow: 'GET, HEAD' }).end();
    return;
  }
  const path = url.split('?', 1)[0]!;
  const file = files.get(path === '/' ? '/index.html' : path);
  if (file === undefined) {
    response.writeHead(404, { ...HEADERS, 'content-type': 'text/plain' }).end('Not found\n');
    return;
  }
  const { type, content } = file;
  response.writeHead(200, { ...HEADERS, 'content-type': type, 'content-length': content.length });
  response.end(method === 'HEAD' ? undefined : content);
}

function portOf(text = '0'): number {
  if (/^\d{1,5}$/.test(text) && Number(text) < 65_536) return Number(text);
  throw new UsageError(`--port takes a number from 0 to 65535, not '${text}'.`);
}
