import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';

type Value = string | number;

/**
 * A database for the examples of the documents, which import it as `./database.js`: SQLite by its command
 * line, since Node 20 has none of its own. One connection; it ends with the process, and keeps it alive
 * only while a request is under way.
 */
class SqliteDatabase {
  readonly #child = spawn('sqlite3', ['-batch', '-bail', process.env['DATABASE'] ?? ':memory:'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  readonly #lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();

  constructor() {
    this.#child.unref();
    this.#keepAlive(false);
  }

  /** How many rows were changed. */
  async run(sql: string, values: readonly Value[] = []): Promise<number> {
    return Number(await this.#ask(`${bind(sql, values)};\nSELECT changes();\n`));
  }

  /** The rows, of which there must be some. */
  async all(sql: string, values: readonly Value[] = []): Promise<unknown[]> {
    return JSON.parse(await this.#ask(`.mode json\n${bind(sql, values)};\n.mode list\n`));
  }

  /** All or nothing: what was done is undone if the work throws. */
  async transaction<Result>(work: (tx: SqliteDatabase) => Promise<Result>): Promise<Result> {
    await this.run('BEGIN IMMEDIATE');
    try {
      const result = await work(this);
      await this.run('COMMIT');
      return result;
    } catch (error) {
      await this.run('ROLLBACK');
      throw error;
    }
  }

  async #ask(script: string): Promise<string> {
    this.#keepAlive(true);
    this.#child.stdin.write(script);
    const { value, done } = await this.#lines.next();
    this.#keepAlive(false);
    if (done) throw new Error(`sqlite3 failed on ${script}`);
    return value;
  }

  #keepAlive(isBusy: boolean): void {
    for (const pipe of [this.#child.stdin, this.#child.stdout] as unknown as Socket[]) {
      if (isBusy) pipe.ref();
      else pipe.unref();
    }
  }
}

/** The values in the places of the question marks. */
function bind(sql: string, values: readonly Value[]): string {
  let index = 0;
  return sql.replaceAll('?', () => literal(values[index++]!));
}

function literal(value: Value): string {
  return typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`;
}

export const db = new SqliteDatabase();
