import { type Clock, type Random, systemClock, systemRandom } from '../../clock/index.ts';
import { type Duration, durationMs, LockArgumentError } from '../../lock/index.ts';
import type { Database } from './database.ts';
import type { Listen } from './listen-connection.ts';
import type { OpenListen } from './listener.ts';
import { schemaName } from './prepare-tables.ts';

export interface PostgresStoreOptions {
  /**
   * Where the store receives messages, on one connection that it opens when a request first has to wait: `true`, beside
   * the connections of the given Pool or `sql`; or an address; or a function that returns a new Client of `pg`, with a
   * `connectionTimeoutMillis` and a `query_timeout`. It must be a direct connection: through a pooler in transaction mode
   * no message arrives. Default false: while requests wait, the store polls, four times a second, and `lease.contended`
   * aborts only if a client waits when it is first read.
   */
  readonly listen?: Listen;
  /** Create the schema with its tables and functions, if it is not there. Default false. */
  readonly createTables?: boolean;
  /** The schema of the tables. Default `holdfast`. */
  readonly schema?: string;
  /** How long one request may take. Default 2 s. */
  readonly requestTimeout?: Duration;
}

export interface PostgresStoreSettings {
  readonly database: Database;
  /** Undefined: the store polls. */
  readonly openListen: OpenListen | undefined;
  readonly createTables: boolean;
  /** As SQL, quoted. */
  readonly schema: string;
  readonly requestTimeoutMs: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Called by close(). */
  readonly onClose?: () => Promise<void>;
}

const OPTIONS: readonly string[] = ['listen', 'createTables', 'schema', 'requestTimeout'];

/** @throws LockArgumentError */
export function settingsOf(
  options: PostgresStoreOptions,
): Omit<PostgresStoreSettings, 'database' | 'openListen'> {
  for (const name in options) if (!OPTIONS.includes(name)) throw unknownOption(name);
  const { requestTimeout = '2s', createTables = false, schema } = options;
  if (typeof createTables !== 'boolean')
    throw new LockArgumentError('', 'createTables must be true or false');
  return {
    createTables,
    schema: schemaName(schema),
    requestTimeoutMs: durationMs(requestTimeout, 'requestTimeout', '', { leastMs: 1 }),
    clock: systemClock,
    random: systemRandom,
  };
}

function unknownOption(name: string): LockArgumentError {
  return new LockArgumentError(
    '',
    `postgresStore does not know '${name}'. Its options are ${OPTIONS.join(', ')}.`,
  );
}
