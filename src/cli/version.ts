import { readFileSync } from 'node:fs';

/** The version of this package. */
export function version(): string {
  const path = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
