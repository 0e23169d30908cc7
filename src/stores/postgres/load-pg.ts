import type { PgQueryable } from './database.ts';
import type { PgClient } from './listen-connection.ts';
import { finalError } from './postgres-errors.ts';

/** The parts of `pg` that the store uses. */
interface Pg {
  readonly Client: new (options: object) => PgClient;
  readonly Pool: new (options: object) => OwnPool;
}

export interface OwnPool extends PgQueryable {
  on(event: 'error', listener: () => void): unknown;
  end(): Promise<void>;
}

/** Loads `pg` when the store itself opens a connection: it is an optional peer dependency. */
export async function loadPg(): Promise<Pg> {
  try {
    const loaded: { default: unknown } = await import('pg');
    return loaded.default as Pg;
  } catch (error) {
    throw finalError('the package pg is needed, and could not be loaded: npm install pg', error);
  }
}
