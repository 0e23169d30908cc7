import type { LockStore } from '../../lock/index.ts';
import { checkPostgresUrl } from './check-postgres-url.ts';
import { type Database, databaseOf } from './database.ts';
import { openListenOf } from './listen-connection.ts';
import { loadPg, type OwnPool } from './load-pg.ts';
import { type PostgresStoreOptions, settingsOf } from './postgres-options.ts';
import { PostgresStore } from './postgres-store.ts';

/** The connections of a store that has a pool of its own. */
const MAX_CONNECTIONS = 10;

/**
 * Locks in the PostgreSQL at an address, on a pool of `pg` that the store opens at its first request and closes with
 * itself. `listen` and `createTables` are true unless the options say otherwise.
 *
 * @throws LockArgumentError if the address is none of PostgreSQL, or an option cannot be right.
 */
export function postgresUrlStore(url: string, options: PostgresStoreOptions = {}): LockStore {
  checkPostgresUrl(url);
  const { listen = true, ...others } = options;
  const settings = settingsOf({ createTables: true, ...others });
  const { requestTimeoutMs } = settings;
  let opening: Promise<OwnPool> | undefined;
  const open = async (): Promise<OwnPool> => {
    const { Pool } = await loadPg();
    const pool = new Pool({
      connectionString: url,
      max: MAX_CONNECTIONS,
      connectionTimeoutMillis: requestTimeoutMs,
      // An idle connection does not keep the process alive.
      allowExitOnIdle: true,
    });
    // An idle connection that ends is replaced; without a listener the event would end the process.
    pool.on('error', () => {});
    return pool;
  };
  const database: Database = {
    async query(text, values) {
      opening ??= open();
      return databaseOf(await opening, requestTimeoutMs)!.query(text, values);
    },
    maxQueries: MAX_CONNECTIONS,
  };
  return new PostgresStore({
    ...settings,
    database,
    openListen: openListenOf(listen === true ? url : listen, undefined, requestTimeoutMs),
    // If pg could not be loaded, the requests have reported it.
    onClose: async () => (await opening?.catch(() => undefined))?.end(),
  });
}
