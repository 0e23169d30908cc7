import type { Clock, Timer } from '../../clock/index.ts';
import type { ScriptCommands } from './redis-link.ts';

/** Sends the commands of locks over a client: the caller's, or a duplicate of it. */
export interface CommandClient extends ScriptCommands {
  /** False while the client knows that it has no connection: then it reconnects by itself. */
  readonly isConnected: () => boolean;
  /** The database of the connection, which a program may change by SELECT. Undefined if it cannot. */
  readonly database?: () => Promise<number>;
  /** Only of a client with one connection. */
  readonly command?: (args: string[]) => Promise<unknown>;
}

export interface CallerClient extends CommandClient {
  /**
   * Opens the same client once more, on connections of its own, in this database. Undefined if the client
   * library cannot.
   */
  readonly duplicate?: (database: number | undefined) => OwnClient;
}

export interface OwnClient extends CommandClient {
  close(): void;
}

/** After this time without a reply to a request, the connection may be dead. */
const SILENCE_MS = 3000;
/** How long a duplicate may take to connect and to reply. */
const PROBE_MS = 3000;
/** Between two attempts to open a duplicate. */
const PAUSE_MS = 1000;

/** How often CLIENT INFO may fail until it is not sent any more. */
const MAX_DATABASE_FAILURES = 3;

const PROBE = 'return 1';

/**
 * Sends lock commands over the caller's client, until a request has had no reply for 3 s while a duplicate of that client
 * gets one. Then the connection is dead (a firewall dropped it), and the duplicate is used from then on. If the server
 * hangs, neither gets a reply, and the caller's client stays in use. It also stays in use while it reconnects. It is
 * neither changed nor closed.
 */
export class CommandPath {
  readonly #caller: CallerClient;
  readonly #clock: Clock;
  /** Requests without a reply, oldest first. */
  readonly #pending = new Set<Pending>();
  #client: CommandClient;
  #own: OwnClient | undefined;
  #opening: OwnClient | undefined;
  /** Undefined until CLIENT INFO has a reply. */
  #database: { readonly number: number | undefined } | undefined;
  #mustReadDatabase = true;
  #databaseFailures = 0;
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(caller: CallerClient, clock: Clock) {
    this.#caller = caller;
    this.#client = caller;
    this.#clock = clock;
    if (caller.database === undefined) this.#database = { number: undefined };
  }

  evalsha(sha: string, keys: string[], args: string[]): Promise<unknown> {
    return this.#send(keys, (client) => client.evalsha(sha, keys, args));
  }

  eval(text: string, keys: string[], args: string[]): Promise<unknown> {
    return this.#send(keys, (client) => client.eval(text, keys, args));
  }

  command(args: string[]): Promise<unknown> {
    return this.#send([], (client) => client.command!(args));
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#own?.close();
    this.#opening?.close();
  }

  #send(
    keys: readonly string[],
    request: (client: CommandClient) => Promise<unknown>,
  ): Promise<unknown> {
    if (this.#mustReadDatabase) this.#readDatabase();
    return new Promise((resolve, reject) => {
      const reply = request(this.#client);
      const pending: Pending = { keys, sentMs: this.#clock.monotonicMs(), reject };
      this.#pending.add(pending);
      if (this.#timer === undefined) this.#checkLater(SILENCE_MS);
      reply.then(
        (value) => {
          this.#pending.delete(pending);
          resolve(value);
        },
        (error: unknown) => {
          this.#pending.delete(pending);
          reject(error);
        },
      );
    });
  }

  /**
   * Sends CLIENT INFO on the caller's connection together with the first request, so that both are in the same database.
   * Repeats it with later requests if it fails, since there may be no connection yet, up to MAX_DATABASE_FAILURES times.
   */
  #readDatabase(): void {
    this.#mustReadDatabase = false;
    this.#caller.database?.().then(
      (number) => {
        this.#database = { number };
      },
      () => {
        this.#mustReadDatabase = ++this.#databaseFailures < MAX_DATABASE_FAILURES;
      },
    );
  }

  #checkLater(delayMs: number): void {
    if (this.#isClosed || this.#caller.duplicate === undefined) return;
    this.#timer = this.#clock.setTimer(delayMs, () => void this.#check());
  }

  async #check(): Promise<void> {
    const [oldest] = this.#pending;
    if (oldest === undefined) {
      this.#timer = undefined;
      return;
    }
    const leftMs = oldest.sentMs + SILENCE_MS - this.#clock.monotonicMs();
    if (leftMs > 0) this.#checkLater(leftMs);
    else {
      await this.#replace(oldest);
      this.#checkLater(PAUSE_MS);
    }
  }

  async #replace(oldest: Pending): Promise<void> {
    // Only if the database is known: in another database the same lock would be free.
    if (this.#database === undefined || !this.#isSilent(oldest)) return;
    const own = this.#duplicate(this.#database.number);
    if (own === undefined) return;
    this.#opening = own;
    const hasReply = await this.#answers(own, oldest.keys, this.#database.number);
    this.#opening = undefined;
    if (hasReply && this.#isSilent(oldest)) this.#moveTo(own);
    else own.close();
  }

  /** Undefined if the client library throws. */
  #duplicate(database: number | undefined): OwnClient | undefined {
    try {
      return this.#caller.duplicate?.(database);
    } catch {
      return undefined;
    }
  }

  #isSilent(oldest: Pending): boolean {
    return this.#pending.has(oldest) && this.#client.isConnected();
  }

  #answers(
    own: OwnClient,
    keys: readonly string[],
    database: number | undefined,
  ): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = this.#clock.setTimer(PROBE_MS, () => resolve(false));
      probe(own, keys, database)
        .then(resolve, () => resolve(false))
        .finally(() => timer.cancel());
    });
  }

  #moveTo(own: OwnClient): void {
    const silent = [...this.#pending];
    this.#pending.clear();
    const previous = this.#own;
    this.#own = own;
    this.#client = own;
    for (const { reject } of silent) reject(new Error(MOVED));
    previous?.close();
  }
}

/**
 * Whether a duplicate gets a reply for these keys (in a cluster each node has its own) and is in this database: a client
 * may continue in database 0 if SELECT fails.
 */
async function probe(
  own: OwnClient,
  keys: readonly string[],
  database: number | undefined,
): Promise<boolean> {
  await own.eval(PROBE, [...keys], []);
  return (await own.database?.()) === database;
}

/** The database in a reply to CLIENT INFO, which servers before Redis 6.2 do not have. */
export function databaseOf(reply: unknown): number {
  const database = /\bdb=(\d+)/.exec(String(reply))?.[1];
  if (database === undefined) throw new Error('CLIENT INFO names no database');
  return Number(database);
}

interface Pending {
  readonly keys: readonly string[];
  readonly sentMs: number;
  reject(error: Error): void;
}

const MOVED = `the connection did not answer within ${SILENCE_MS} ms and was replaced; the request may have been executed`;
