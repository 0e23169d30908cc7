import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type PageRequest, type PageResponse, plain } from './page-request.ts';

/** The files of the page, by their paths: `index.html`, `assets/index-1a2b3c.js`. */
export type PageAssets = (path: string, request: PageRequest) => PageResponse;

const FOLDER = fileURLToPath(new URL('../../dist/page/', import.meta.url));

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.json': 'application/json',
  '.woff2': 'font/woff2',
};

interface Asset {
  readonly body: Buffer;
  readonly headers: ReturnType<typeof headersOf>;
}

/** Reads the files once, into memory. No path of a request reaches the file system. */
export function loadAssets(folder = FOLDER): PageAssets {
  const files = readFiles(folder);
  return (path, request) => {
    const file = files.get(path);
    if (file === undefined) return path === 'index.html' ? NOT_BUILT : plain(404, 'Not found.');
    const { body, headers } = file;
    return request.header('if-none-match') === headers.etag
      ? { status: 304, headers, body: '' }
      : { status: 200, headers, body };
  };
}

const NOT_BUILT = plain(503, 'The page is not built: run npm run build.');

function readFiles(folder: string): ReadonlyMap<string, Asset> {
  return new Map(pathsIn(folder).map((path) => [path, readAsset(join(folder, path), path)]));
}

function pathsIn(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && Object.hasOwn(TYPES, extname(entry.name)))
      .map((entry) =>
        join(entry.parentPath, entry.name).slice(folder.length).replaceAll('\\', '/'),
      );
  } catch {
    return [];
  }
}

function readAsset(file: string, path: string): Asset {
  const body = readFileSync(file);
  return { body, headers: headersOf(path, body) };
}

/** The names of files in assets/ have a hash of their content. */
function headersOf(path: string, body: Buffer) {
  const isHashed = path.startsWith('assets/');
  return {
    'content-type': TYPES[extname(path)]!,
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
    'cache-control': isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
  };
}
