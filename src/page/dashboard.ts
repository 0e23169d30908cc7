import { readFileSync } from 'node:fs';
import { systemClock, systemRandom } from '../clock/index.ts';
import { insideLocks, LockArgumentError } from '../lock/index.ts';
import { clientLocks } from '../stores/index.ts';
import { type FetchHandler, fetchHandler } from './fetch-adapter.ts';
import { type NodeHandler, nodeHandler } from './node-adapter.ts';
import { loadAssets } from './page-assets.ts';
import { mountedGuard } from './page-guard.ts';
import { pageHandler } from './page-handler.ts';
import { PageHub } from './page-hub.ts';
import { ProcessHistory } from './process-history.ts';
import { ProcessMetrics } from './process-metrics.ts';

export interface DashboardOptions {
  /** Whether the page may release locks by force. Default false. */
  readonly allowRelease?: boolean;
  /** What the page calls the store. Default: `the locks of this program`. */
  readonly label?: string;
}

/** The page as handlers for the HTTP server of a program. */
export interface Dashboard {
  /** For node:http, Express, Fastify and the like. */
  readonly node: NodeHandler;
  /** For Hono, bun and other servers with the Request and Response of the Fetch standard. */
  readonly fetch: FetchHandler;
  /** Ends open pages, and stops listening to events. The locks stay open. Safe to call twice. */
  close(): void;
}

/**
 * Makes the page that shows the locks of a store, for the HTTP server of this program. It asks for no password: put your
 * own middleware in front of it. It works under any path that ends with a slash. The history has what this process saw.
 *
 * @throws LockArgumentError if these are no locks, or their store cannot list them.
 * @example
 * const board = dashboard(locks);
 * app.use('/locks', requireAdmin, board.node);
 */
export function dashboard(
  locks: object,
  { allowRelease = false, label = 'the locks of this program' }: DashboardOptions = {},
): Dashboard {
  const inside = insideLocks(locks);
  if (inside === undefined) {
    throw new LockArgumentError('', 'dashboard() shows the result of createLocks()');
  }
  const source = clientLocks(inside.store, label);
  const history = new ProcessHistory({ clock: systemClock, ownerPrefix: inside.ownerPrefix });
  const metrics = new ProcessMetrics();
  const hub = new PageHub({
    source: {
      locks: source,
      history,
      figures: undefined,
      // They count the events themselves, and need no store.
      metrics: { add() {}, text: async () => metrics.text() },
      close() {
        history.close();
        metrics.close();
      },
    },
    version: version(),
    canRelease: allowRelease,
    clock: systemClock,
    random: systemRandom,
  });
  const handle = pageHandler({ hub, guard: mountedGuard, assets: loadAssets(), isMounted: true });
  return { node: nodeHandler(handle), fetch: fetchHandler(handle), close: () => hub.close() };
}

/** The version of this package. */
function version(): string {
  const path = new URL('../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
