import type { StoreValues } from '../store-address.ts';
import { type Io, printError } from '../verb.ts';
import { Servers, StoreError, UNAVAILABLE } from './servers.ts';
import { type FindStore, LOCAL, storeFinder } from './store-option.ts';

/** Sends queries to a store, once or repeatedly. Connects when needed. */
export class StoreReader {
  readonly #find: FindStore;
  #servers: Servers | undefined;
  #label = LOCAL;

  constructor(find: FindStore) {
    this.#find = find;
  }

  /** The address for messages, without a password. */
  get label(): string {
    return this.#label;
  }

  /** Runs a query. Returns `absent` if no local server runs. After a failure the next call connects again. */
  async query<Result>(run: (servers: Servers) => Promise<Result>, absent: Result): Promise<Result> {
    const servers = this.#servers ?? (await this.#open());
    if (servers === undefined) return absent;
    try {
      return await run(servers);
    } catch (error) {
      this.close();
      throw error instanceof StoreError ? error : malformed(servers, error);
    }
  }

  close(): void {
    this.#servers?.close();
    this.#servers = undefined;
  }

  async #open(): Promise<Servers | undefined> {
    const store = await this.#find();
    if (store === undefined) return undefined;
    this.#servers = new Servers(store);
    this.#label = store.label;
    return this.#servers;
  }
}

/** The parser of a reply throws when the reply does not have the form that the script returns. */
function malformed({ label }: Servers, error: unknown): StoreError {
  return new StoreError(`${label} does not answer as a store of locks does (${error}).`);
}

/** Calls `act` with the store. Returns its exit code, or 69 if the store is unreachable or refuses. */
export async function withStore(
  { values, flags }: { readonly values: StoreValues; readonly flags: StoreValues },
  io: Io,
  act: (store: StoreReader) => Promise<number>,
): Promise<number> {
  const store = new StoreReader(storeFinder(values, flags, io.environment));
  try {
    return await act(store);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    printError(io, error.message);
    return UNAVAILABLE;
  } finally {
    store.close();
  }
}
