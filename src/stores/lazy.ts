import type { Answer, Claim, Hold, Inspection, LockStore, Target } from '../lock/index.ts';

/** A store that is opened by the first request. If that fails, the next request tries again. */
export class LazyStore implements LockStore {
  readonly #open: () => Promise<LockStore>;
  #store: Promise<LockStore> | undefined;
  #listener: (owner: string) => void = () => {};

  constructor(open: () => Promise<LockStore>) {
    this.#open = open;
  }

  async ask(claim: Claim, queues: boolean): Promise<Answer> {
    return (await this.#opened()).ask(claim, queues);
  }

  async extend(hold: Hold, leaseMs: number): Promise<boolean> {
    return (await this.#opened()).extend(hold, leaseMs);
  }

  async release(hold: Hold): Promise<boolean> {
    return (await this.#opened()).release(hold);
  }

  async forceRelease(target: Target): Promise<number> {
    return (await this.#opened()).forceRelease(target);
  }

  async inspect(target: Target): Promise<Inspection> {
    return (await this.#opened()).inspect(target);
  }

  onCall(listener: (owner: string) => void): void {
    this.#listener = listener;
  }

  async close(): Promise<void> {
    const store = await this.#store?.catch(() => undefined);
    await store?.close();
  }

  #opened(): Promise<LockStore> {
    this.#store ??= this.#open().then(
      (store) => {
        store.onCall((owner) => this.#listener(owner));
        return store;
      },
      (error: unknown) => {
        this.#store = undefined;
        throw error;
      },
    );
    return this.#store;
  }
}
