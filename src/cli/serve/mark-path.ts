import { join } from 'node:path';
import { type LocalEnvironment, localFolder, prepareFolder } from '../../local/index.ts';
import type { ServeValues } from '../serve-options.ts';

/** Where the mark of a server's address is; undefined if the address is any, or there is no folder for it. */
export function markPath(values: ServeValues, environment: LocalEnvironment): string | undefined {
  const { host = '127.0.0.1', unix, 'tls-port': tlsPort = '0' } = values;
  const { port: plainPort = unix === undefined ? '6379' : '' } = values;
  const port = plainPort === '0' ? tlsPort : plainPort;
  if (port === '0') return undefined;
  const address = [unix ?? '', host, port].join('_').replaceAll(/[^\w.-]/g, '_');
  try {
    const folder = localFolder(environment);
    prepareFolder(folder);
    return join(folder, `serve-${address}.mark`);
  } catch {
    return undefined;
  }
}
