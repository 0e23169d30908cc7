import { LockArgumentError } from '../../lock/index.ts';
import { finalError, sqlStateOf } from './postgres-errors.ts';
import type { Requests } from './requests.ts';
import { SCHEMA_VERSION, schemaSql } from './schema.ts';

/** The name of a schema as SQL, quoted. @throws LockArgumentError */
export function schemaName(schema: unknown = 'holdfast'): string {
  if (typeof schema === 'string' && /^(?!pg_)[a-z_][a-z0-9_]{0,62}$/i.test(schema))
    return `"${schema}"`;
  throw new LockArgumentError(
    '',
    `schema must be a name of letters, digits and _, at most 63, that does not begin with pg_; got '${String(schema)}'`,
  );
}

/** Checks that the tables are there, in the version of this package, and creates them if it may. */
export async function prepareTables(
  requests: Requests,
  { schema, createTables }: { readonly schema: string; readonly createTables: boolean },
): Promise<void> {
  const readVersion = async (): Promise<number> => {
    const { reply } = await requests.send(`select to_json(version)::text from ${schema}.meta`, []);
    return Number(reply);
  };
  const version = await readVersion().catch(async (error: unknown) => {
    if (!createTables || !NOT_THERE.has(sqlStateOf((error as Error).cause))) throw error;
    await createUnlessThere(requests, schema);
    return readVersion();
  });
  if (version === SCHEMA_VERSION) return;
  throw finalError(
    `the tables in the schema ${schema} have version ${version}, and this version of Holdfast needs ${SCHEMA_VERSION}. ` +
      'Use the same version of Holdfast in all programs, or another schema.',
  );
}

/** undefined_table, invalid_schema_name. */
const NOT_THERE: ReadonlySet<unknown> = new Set(['42P01', '3F000']);
/** duplicate_table: another process has created the tables meanwhile. */
const DUPLICATE_TABLE = '42P07';

/** In one transaction, under a lock: other processes may start at the same time. */
async function createUnlessThere(requests: Requests, schema: string): Promise<void> {
  const lock = `do $$ begin
  perform pg_advisory_xact_lock(hashtextextended('holdfast.createTables ${schema}', 0));
end $$;`;
  try {
    await requests.send(`${lock}\n${schemaSql(schema)}`, []);
  } catch (error) {
    if (sqlStateOf(error) !== DUPLICATE_TABLE) throw error;
  }
}
