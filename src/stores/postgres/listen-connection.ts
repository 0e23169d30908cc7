import { LockArgumentError } from '../../lock/index.ts';
import { isPool } from './database.ts';
import type { ListenConnection, OpenListen } from './listener.ts';
import { loadPg } from './load-pg.ts';

/** A Client of `pg` that is not connected. */
export interface PgClient {
  connect(): Promise<unknown>;
  query(text: string): Promise<unknown>;
  on(event: 'notification', listener: (message: { payload?: string | undefined }) => void): unknown;
  on(event: 'end', listener: () => void): unknown;
  on(event: 'error', listener: (error: Error) => void): unknown;
  end(): Promise<void>;
  unref?(): void;
}

/** Where the store receives messages: see PostgresStoreOptions.listen. */
export type Listen = boolean | string | (() => PgClient | Promise<PgClient>);

/**
 * How to open the connection that receives messages, within a timeout. Undefined: there is none.
 *
 * @throws LockArgumentError
 */
export function openListenOf(
  listen: unknown,
  client: unknown,
  timeoutMs: number,
): OpenListen | undefined {
  const timeouts = { connectionTimeoutMillis: timeoutMs, query_timeout: timeoutMs };
  if (listen === undefined || listen === false) return undefined;
  if (typeof listen === 'string') {
    if (!/^postgres(ql)?:\/\//.test(listen)) throw new LockArgumentError('', WRONG_LISTEN);
    return fromPg(async () => {
      const { Client } = await loadPg();
      return new Client({ connectionString: listen, ...timeouts });
    });
  }
  if (typeof listen === 'function') return fromPg(listen as () => PgClient | Promise<PgClient>);
  if (listen !== true) throw new LockArgumentError('', WRONG_LISTEN);
  if (isPool(client)) {
    // Not a spread: the password of a pool is not enumerable.
    const options = Object.create(null, Object.getOwnPropertyDescriptors(client.options));
    return fromPg(() => new client.Client(Object.assign(options, timeouts)) as PgClient);
  }
  if (canListen(client)) return fromSql(client);
  throw new LockArgumentError('', CANNOT_DUPLICATE);
}

const WRONG_LISTEN =
  "listen must be true, false, the address of a direct connection such as 'postgres://host/database', or a function " +
  'that returns a new Client of pg';
const CANNOT_DUPLICATE =
  'listen: true needs a Pool of pg or the sql function of postgres, to open one more connection like theirs. Pass the ' +
  "address of a direct connection, such as listen: 'postgres://host/database'.";

function fromPg(create: () => PgClient | Promise<PgClient>): OpenListen {
  return async (channel, onMessage) => {
    const client = await create();
    let close = (): void => {};
    const ended = new Promise<void>((resolve) => {
      client.on('end', resolve);
      client.on('error', () => resolve());
      close = () => {
        resolve();
        client.end().catch(() => {});
      };
    });
    client.on('notification', ({ payload = '' }) => onMessage(payload));
    try {
      await client.connect();
      await client.query(`listen "${channel}"`);
    } catch (error) {
      close();
      throw error;
    }
    // A program that waits for a lock stays alive by a timer; one that only holds locks may end.
    client.unref?.();
    return { ended, close };
  };
}

interface ListeningSql {
  listen(
    channel: string,
    onMessage: (text: string) => void,
  ): Promise<{ unlisten(): Promise<void> }>;
}

function canListen(client: unknown): client is ListeningSql {
  return typeof client === 'function' && 'listen' in client && typeof client.listen === 'function';
}

/** postgres has a connection of its own for this, and does not report its end: only a missing message shows it. */
function fromSql(sql: ListeningSql): OpenListen {
  return async (channel, onMessage) => {
    const { unlisten } = await sql.listen(channel, onMessage);
    let close = (): void => {};
    const ended = new Promise<void>((resolve) => {
      close = () => {
        resolve();
        unlisten().catch(() => {});
      };
    });
    return { ended, close } satisfies ListenConnection;
  };
}
