import { isFinal, LockArgumentError } from '../../lock/index.ts';
import {
  type LockSource,
  redisLocks,
  StoreError,
  type StoreUrl,
  storeLocks,
} from '../../stores/index.ts';
import { bytesOf } from '../bytes.ts';
import { readPrefix } from '../prefix-option.ts';
import { readStore, type StoreValues } from '../store-address.ts';
import { type Io, printError, UsageError } from '../verb.ts';
import { Servers, UNAVAILABLE } from './servers.ts';
import { LOCAL, storeFinder } from './store-option.ts';

/** Calls `act` with the locks of a store. Returns its exit code, or 69 if the store is unreachable or refuses. */
export function withLocks(
  given: Given,
  io: Io,
  act: (store: StoreReader<LockSource>) => Promise<number>,
): Promise<number> {
  const prefix = readPrefix(given.values);
  const store = readStore(given.values, given.flags, io.environment);
  const isOther = store !== undefined && 'scheme' in store;
  const open = isOther ? () => openOther(store, prefix) : redisOpener(given, io, bytesOf(prefix));
  return reading(new StoreReader(open), io, act);
}

/** The same with the servers of a Redis. */
export function withServers(
  given: Given,
  io: Io,
  act: (store: StoreReader<Servers>) => Promise<number>,
): Promise<number> {
  return reading(new StoreReader(serversFinder(given, io)), io, act);
}

export interface Given {
  readonly values: StoreValues & { readonly prefix?: string };
  readonly flags: StoreValues;
}

async function openOther(store: StoreUrl, prefix: string): Promise<LockSource> {
  return storeLocks(await store.load({ prefix, isQuiet: true }), store.label);
}

function redisOpener(given: Given, io: Io, prefix: string): () => Promise<LockSource | undefined> {
  const find = serversFinder(given, io);
  return async () => {
    const servers = await find();
    return servers && redisLocks(servers, prefix);
  };
}

export function serversFinder(
  { values, flags }: Given,
  io: Io,
): () => Promise<Servers | undefined> {
  const find = storeFinder(values, flags, io.environment);
  return async () => {
    const store = await find();
    return store && new Servers(store);
  };
}

async function reading<Source extends { readonly label: string; close(): void }>(
  store: StoreReader<Source>,
  io: Io,
  act: (store: StoreReader<Source>) => Promise<number>,
): Promise<number> {
  try {
    return await exitCodeOf(io, () => act(store));
  } finally {
    store.close();
  }
}

/** Returns the exit code of `act`, or 69 after an error of a store, which it prints. */
export async function exitCodeOf(io: Io, act: () => Promise<number>): Promise<number> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof LockArgumentError) throw new UsageError(withStop(error.message));
    if (!(error instanceof StoreError || isFinal(error))) throw error;
    printError(io, withStop((error as Error).message));
    return UNAVAILABLE;
  }
}

function withStop(message: string): string {
  return message.replace(/\.?$/, '.');
}

/** Sends queries to a store, once or repeatedly. Connects when needed. */
class StoreReader<Source extends { readonly label: string; close(): void }> {
  /** Undefined: no local server runs. */
  readonly #find: () => Promise<Source | undefined>;
  #source: Source | undefined;
  #label = LOCAL;

  constructor(find: () => Promise<Source | undefined>) {
    this.#find = find;
  }

  /** The address for messages, without a password. */
  get label(): string {
    return this.#label;
  }

  /** Runs a query. Returns `absent` if no local server runs. After a failure the next call connects again. */
  async query<Result>(run: (source: Source) => Promise<Result>, absent: Result): Promise<Result> {
    const source = this.#source ?? (await this.#open());
    if (source === undefined) return absent;
    try {
      return await run(source);
    } catch (error) {
      this.close();
      const isKnown = error instanceof StoreError || error instanceof LockArgumentError;
      throw isKnown || error instanceof UsageError ? error : malformed(source, error);
    }
  }

  close(): void {
    this.#source?.close();
    this.#source = undefined;
  }

  async #open(): Promise<Source | undefined> {
    const source = await this.#find();
    if (source === undefined) return undefined;
    this.#source = source;
    this.#label = source.label;
    return source;
  }
}

/** The parser of a reply throws when the reply does not have the form that the script returns. */
function malformed({ label }: { readonly label: string }, error: unknown): StoreError {
  return new StoreError(`${label} does not answer as a store of locks does (${error}).`);
}
