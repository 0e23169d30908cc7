import type {
  AcquireResult,
  Contention,
  Inspection,
  LockRequest,
  LockStore,
  LockTarget,
  Waiter,
} from '../lock/index.ts';
import { ownerPrefixOf } from './redis/lock-keys.ts';

/**
 * A store whose code is loaded by the first request. Requests wait until it is loaded, and reject if it cannot be. It has
 * no session: a caller that needs one awaits the loaded store itself.
 */
export class LoadedStore implements LockStore {
  readonly ownerPrefix: string;
  readonly ownsConnections = true;
  readonly hasFences?: false;
  readonly list?: NonNullable<LockStore['list']>;
  readonly connected: Promise<void>;
  #markConnected = (): void => {};
  readonly #load: () => Promise<LockStore>;
  #loading: Promise<LockStore> | undefined;
  #store: LockStore | undefined;
  readonly #lossListeners: ((reason: Error, owner?: string) => void)[] = [];
  #closing: Promise<void> | undefined;

  constructor(
    load: () => Promise<LockStore>,
    clientId: string,
    { hasFences, canList }: { readonly hasFences?: false; readonly canList?: false } = {},
  ) {
    this.#load = load;
    this.ownerPrefix = ownerPrefixOf(clientId);
    if (hasFences === false) this.hasFences = hasFences;
    if (canList !== false) this.list = async (filter) => this.#with((store) => store.list!(filter));
    this.connected = new Promise((resolve) => {
      this.#markConnected = resolve;
    });
  }

  acquire(request: LockRequest, waiter?: Waiter): AcquireResult | Promise<AcquireResult> {
    return this.#with((store) => store.acquire(request, waiter));
  }

  async acquireAll(
    requests: readonly LockRequest[],
    minFence: number,
  ): Promise<AcquireResult | undefined> {
    return this.#with((store) => store.acquireAll(requests, minFence));
  }

  async adopt(request: LockRequest, from: LockRequest): Promise<AcquireResult> {
    return this.#with((store) => store.adopt(request, from));
  }

  extend(request: LockRequest): boolean | Promise<boolean> {
    return this.#with((store) => store.extend(request));
  }

  keep(request: LockRequest): boolean | Promise<boolean> {
    return this.#with((store) => store.keep(request));
  }

  release(request: LockRequest, fence?: number): boolean | Promise<boolean> {
    return this.#with((store) => store.release(request, fence));
  }

  async forceRelease(target: LockTarget): Promise<number> {
    return this.#with((store) => store.forceRelease(target));
  }

  async inspect(target: LockTarget): Promise<Inspection> {
    return this.#with((store) => store.inspect(target));
  }

  async contention(request: LockRequest): Promise<Contention> {
    return this.#with((store) => store.contention(request));
  }

  onLost(listener: (reason: Error, owner?: string) => void): void {
    if (this.#store === undefined) this.#lossListeners.push(listener);
    else this.#store.onLost?.(listener);
  }

  /** Before the store is loaded no lease is held, so that there is nothing to watch. */
  watch(request: LockRequest, onContended: () => void): void {
    this.#store?.watch?.(request, onContended);
  }

  unwatch(request: LockRequest): void {
    this.#store?.unwatch?.(request);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#markConnected();
    const store = await this.#loading?.catch(() => undefined);
    await store?.close();
  }

  #with<Result>(send: (store: LockStore) => Result | Promise<Result>): Result | Promise<Result> {
    if (this.#store !== undefined) return send(this.#store);
    if (this.#closing !== undefined) return Promise.reject(new Error('the store was closed'));
    this.#loading ??= this.#start();
    return this.#loading.then(send);
  }

  async #start(): Promise<LockStore> {
    try {
      const store = await this.#load();
      for (const listener of this.#lossListeners) store.onLost?.(listener);
      this.#store = store;
      void Promise.resolve(store.connected).then(this.#markConnected);
      return store;
    } catch (error) {
      this.#markConnected();
      throw error;
    }
  }
}
