/** Another transaction was in the way: serialization_failure, deadlock_detected. */
const REPEATABLE: ReadonlySet<unknown> = new Set(['40001', '40P01']);

/** Whether the same query may succeed at once, since it failed only because of another transaction. */
export function isRepeatable(error: unknown): boolean {
  return REPEATABLE.has(sqlStateOf(error));
}

const NO_TABLES =
  'The tables of Holdfast are not there. Pass { createTables: true } to postgresStore, or run sql/holdfast.sql of the package.';

/** Errors that retries cannot fix, by SQLSTATE or by its class, each with advice for the operator or the programmer. */
const ADVICE: Readonly<Record<string, string>> = {
  '28': "Check the user and the password of the client, and the server's pg_hba.conf.",
  '3D000': 'Create the database, or use another.',
  '3F000': NO_TABLES,
  '42P01': NO_TABLES,
  '42883': NO_TABLES,
  '42501':
    'Grant the user USAGE on the schema of Holdfast, EXECUTE on its functions, and SELECT, INSERT, UPDATE and DELETE on its tables. ' +
    'If they are not there yet: CREATE on the database, or run sql/holdfast.sql of the package as another user.',
  '22021': 'The encoding of the database must be UTF8.',
  '22P05': 'The encoding of the database must be UTF8.',
};

/** Adds the advice and `isFinal` to an error that retries cannot fix. Returns any other error unchanged. */
export function withAdvice(error: unknown): unknown {
  const code = sqlStateOf(error);
  if (typeof code !== 'string') return error;
  const advice = ADVICE[code] ?? ADVICE[code.slice(0, 2)];
  return advice === undefined ? error : finalError(`${messageOf(error)}. ${advice}`, error);
}

/** An error after which the library does not send the request again. */
export function finalError(message: string, cause?: unknown): Error {
  return Object.assign(new Error(message, { cause }), { isFinal: true });
}

/** Both drivers have it as `code`, beside codes of Node such as ECONNREFUSED. */
export function sqlStateOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
