import { type Io, printError } from '../verb.ts';
import { Servers, StoreError, UNAVAILABLE } from './servers.ts';
import { type FindStore, LOCAL, storeFinder } from './store-option.ts';

/** A store that is looked at, once or again and again. */
export class StoreVisit {
  readonly #find: FindStore;
  #servers: Servers | undefined;
  #label = LOCAL;

  constructor(find: FindStore) {
    this.#find = find;
  }

  /** Where it is, for people. Never holds a password. */
  get label(): string {
    return this.#label;
  }

  /** Asks its servers; gives `nothing` when there are none. After a failure it is looked for anew. */
  async ask<Result>(
    question: (servers: Servers) => Promise<Result>,
    nothing: Result,
  ): Promise<Result> {
    const servers = this.#servers ?? (await this.#open());
    if (servers === undefined) return nothing;
    try {
      return await question(servers);
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

/** What reads a reply fails on one that has another shape than the script gives it. */
function malformed({ label }: Servers, error: unknown): StoreError {
  return new StoreError(`${label} does not answer as a store of locks does (${error}).`);
}

/** Does something with a store, and gives the exit code; that of a store which fails stands here. */
export async function withStore(
  url: string | undefined,
  io: Io,
  act: (store: StoreVisit) => Promise<number>,
): Promise<number> {
  const store = new StoreVisit(storeFinder(url, io.environment));
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
