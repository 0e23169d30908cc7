import { LockArgumentError } from '../../lock/index.ts';

/** Runs queries: all that the store needs of a driver. */
export interface Database {
  /** Returns the first column of the first row, as text. */
  query(text: string, values: readonly unknown[]): Promise<string | undefined>;
  /** How many queries it runs at the same time. More would wait inside of the driver, where no timeout ends them. */
  readonly maxQueries: number;
}

/** A Pool or a Client of `pg`. */
export interface PgQueryable {
  query(config: PgQuery): Promise<{ readonly rows: readonly unknown[] }>;
}

interface PgQuery {
  text: string;
  values?: unknown[];
  query_timeout?: number;
}

/** The `sql` function of `postgres`, or that of a transaction. */
export interface PostgresSql {
  unsafe(text: string, values?: never[]): PromiseLike<readonly unknown[]>;
}

/** pg ends a query whose reply does not arrive, and its connection, so long after the store has stopped waiting for it. */
const LATE_MS = 1000;
/** The size of a pool that does not tell it: the default of both drivers. */
const DEFAULT_POOL_SIZE = 10;

/** The database of a client of the caller. Undefined: it is no client that is known. */
export function databaseOf(client: unknown, timeoutMs: number): Database | undefined {
  if (isSql(client)) {
    return {
      query: async (text, values) => firstColumn(await client.unsafe(text, [...values] as never[])),
      maxQueries: maxOf(client),
    };
  }
  if (!isPg(client)) return undefined;
  const query_timeout = timeoutMs + LATE_MS;
  return {
    // Without values pg sends a simple query, which may have several statements. Their result has no rows.
    query: (text, values) =>
      client
        .query(
          values.length === 0
            ? { text, query_timeout }
            : { text, values: [...values], query_timeout },
        )
        .then(({ rows }) => firstColumn(rows ?? [])),
    maxQueries: isPool(client) ? maxOf(client) : 1,
  };
}

/** A Client of `pg` after BEGIN, or the `sql` of a transaction of `postgres`. */
export type TransactionClient = PgTransaction | PostgresSql;

interface PgTransaction extends PgQueryable {
  getTransactionStatus?(): string | null;
}

/** Runs queries in a transaction of the caller. @throws LockArgumentError for a pool, whose queries are not in one. */
export function transactionOf(tx: TransactionClient, caller: string): Pick<Database, 'query'> {
  if (isSql(tx) && 'savepoint' in tx) return databaseOf(tx, 0)!;
  if (!isPg(tx) || isPool(tx))
    throw new LockArgumentError('', `${caller} needs a transaction: ${HOW_TO_BEGIN}`);
  return {
    async query(text, values) {
      const { rows } = await tx.query({ text, values: [...values] });
      return firstColumn(rows);
    },
  };
}

/** Whether the driver knows that it is in a transaction. False: it is not, or the driver does not know it. */
export function isInTransaction(tx: TransactionClient): boolean {
  return isSql(tx) || tx.getTransactionStatus?.() === 'T';
}

/** How a caller gets a transaction, in messages. */
export const HOW_TO_BEGIN =
  'the client of a pg pool (pool.connect()) after BEGIN, or what sql.begin() of postgres passes to its callback. ' +
  'Outside of a transaction the lock would end with the statement.';

function isSql(client: unknown): client is PostgresSql {
  return typeof client === 'function' && 'unsafe' in client && typeof client.unsafe === 'function';
}

function isPg(client: unknown): client is PgQueryable {
  return (
    typeof client === 'object' &&
    client !== null &&
    'query' in client &&
    typeof client.query === 'function' &&
    'connect' in client
  );
}

/** A `pg` Pool, which makes its clients with `new Client(options)`. */
export interface PgPool extends PgQueryable {
  readonly Client: new (options: object) => unknown;
  readonly options: { readonly max?: number };
}

export function isPool(client: unknown): client is PgPool {
  return isPg(client) && 'totalCount' in client && 'Client' in client && 'options' in client;
}

function maxOf(client: object): number {
  const { options } = client as { options?: { max?: unknown } };
  return typeof options?.max === 'number' ? options.max : DEFAULT_POOL_SIZE;
}

/** Undefined for several statements, whose result is a list of lists or has no rows. */
function firstColumn([row]: readonly unknown[]): string | undefined {
  if (Array.isArray(row)) return undefined;
  const columns = row as Readonly<Record<string, unknown>> | undefined;
  for (const name in columns) {
    const value = columns[name];
    return typeof value === 'string' ? value : undefined;
  }
  return undefined;
}
