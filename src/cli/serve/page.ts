// Loaded when the server listens: the page must not make its start slower.
import { type PageServer, serverSource, startPageServer } from '../../page/index.ts';
import type { PagePlace } from '../page-options.ts';
import { version } from '../version.ts';
import type { EngineServers } from './engine-servers.ts';

export { EngineServers } from './engine-servers.ts';

/** Starts the page of a server that listens. Rejects if its port is taken. */
export async function startPage(place: PagePlace, engine: EngineServers): Promise<PageServer> {
  return startPageServer({ ...place, source: await serverSource(engine), version: version() });
}
