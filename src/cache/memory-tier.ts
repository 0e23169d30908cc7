import type { Clock } from '../clock/index.ts';
import { LockArgumentError } from '../lock/index.ts';
import { type CacheLimits, type ResolvedCacheLimits, resolveCacheLimits } from './limits.ts';
import { type MemoryCacheStore, memoryCacheStore } from './memory-cache-store.ts';
import type {
  CacheChange,
  CacheChanges,
  CacheLookup,
  CacheStore,
  ChangeListener,
  Entry,
  FailedLoad,
  LoadTimes,
  MessageListener,
  SetValue,
  Tags,
  Write,
} from './store.ts';

/**
 * A copy that is older than this is looked up in the store again, even if no change was received: FLUSHALL, eviction
 * and commands of other programs publish no change, and nodes of a cluster may lose one.
 */
const MAX_UNCHECKED_MS = 60_000;

/** How long the memory accepts the copy of a lookup. The request of the lookup has its own timeout. */
const FILL: LoadTimes = { maxLoadMs: 10_000, keepMs: 0 };

/** @throws LockArgumentError if the option is neither a boolean nor limits. */
export function memoryLimits(
  memory: boolean | CacheLimits | undefined,
): ResolvedCacheLimits | undefined {
  if (memory === undefined || memory === false) return undefined;
  if (memory === true) return resolveCacheLimits({});
  if (typeof memory === 'object' && memory !== null) return resolveCacheLimits(memory, 'memory');
  throw new LockArgumentError(
    '',
    `memory must be true, false or limits such as { entries: 10_000, bytes: 2 ** 24 }; got ${String(memory)}`,
  );
}

/**
 * Copies of fresh values in the memory of this process, in front of a store that all processes share.
 *
 * A copy is valid while this process receives all changes. It is dropped when its value or one of its tags changes. All
 * copies are dropped when the subscription is lost: until it is back, each lookup goes to the store.
 *
 * A lookup opens the key in the memory store before it is sent. If a change arrives before the reply, that version
 * ends, and the memory store refuses the copy, as it refuses the value of a late load.
 */
export class MemoryTier implements CacheStore, ChangeListener {
  readonly #store: CacheStore;
  readonly #changes: CacheChanges;
  readonly #clock: Clock;
  readonly #limits: ResolvedCacheLimits;
  readonly #removeListener: () => void;
  /** Undefined while changes may be missed. A lookup writes its copy to the memory with which it began. */
  #memory: MemoryCacheStore | undefined;

  constructor(store: CacheStore, changes: CacheChanges, clock: Clock, limits: ResolvedCacheLimits) {
    this.#store = store;
    this.#changes = changes;
    this.#clock = clock;
    this.#limits = limits;
    this.#removeListener = changes.add(this);
  }

  onLive(): void {
    this.#memory = memoryCacheStore(this.#clock, this.#limits);
  }

  onLost(): void {
    this.#memory = undefined;
  }

  onChange(change: CacheChange): void {
    if (change.kind === 'tag') this.#memory?.invalidate([change.tag]);
    else this.#memory?.delete([change.key]);
  }

  lookup(key: string, tags: Tags): CacheLookup | Promise<CacheLookup> {
    const memory = this.#memory;
    if (memory === undefined) {
      this.#changes.start();
      return this.#store.lookup(key, tags);
    }
    const { entry, version, lastFence } = memory.lookup(key, tags);
    if (entry === undefined || entry.freshLeftMs <= 0) return this.#fill(memory, key, tags);
    return { entry: { ...entry, freshLeftMs: entry.leftMs }, version, lastFence };
  }

  open(
    key: string,
    tags: Tags,
    times: LoadTimes,
    fence: number,
  ): CacheLookup | Promise<CacheLookup> {
    return this.#store.open(key, tags, times, fence);
  }

  wait(key: string, tags: Tags, times: LoadTimes): CacheLookup | Promise<CacheLookup> {
    return this.#store.wait(key, tags, times);
  }

  async write(key: string, tags: Tags, value: Write): Promise<boolean> {
    try {
      return await this.#store.write(key, tags, value);
    } finally {
      this.#memory?.delete([key]);
    }
  }

  async set(key: string, tags: Tags, value: SetValue): Promise<void> {
    try {
      await this.#store.set(key, tags, value);
    } finally {
      this.#memory?.delete([key]);
    }
  }

  fail(key: string, failed: FailedLoad): number | Promise<number> {
    return this.#store.fail(key, failed);
  }

  wake(key: string, fence?: number): void | Promise<void> {
    return this.#store.wake(key, fence);
  }

  /** The copies are dropped also if the request fails: the store may have executed it. */
  async delete(keys: readonly string[]): Promise<number> {
    try {
      return await this.#store.delete(keys);
    } finally {
      this.#memory?.delete(keys);
    }
  }

  async invalidate(tags: Tags): Promise<void> {
    try {
      await this.#store.invalidate(tags);
    } finally {
      this.#memory?.invalidate(tags);
    }
  }

  onMessage(listener: MessageListener): () => void {
    return this.#store.onMessage(listener);
  }

  /** Drops the copies. The store stays open: other caches use it. */
  close(): void {
    this.#removeListener();
    this.#memory = undefined;
  }

  async #fill(memory: MemoryCacheStore, key: string, tags: Tags): Promise<CacheLookup> {
    const { version } = memory.open(key, tags, FILL, 0);
    const beganMs = this.#clock.monotonicMs();
    const lookup = await this.#store.lookup(key, tags);
    const { entry } = lookup;
    const tookMs = this.#clock.monotonicMs() - beganMs;
    if (entry !== undefined && entry.freshLeftMs > tookMs)
      memory.write(key, tags, copyOf(entry, version, entry.freshLeftMs - tookMs));
    return lookup;
  }
}

/**
 * In the memory store, `freshMs` is the time until the copy must be checked, and `staleMs` the rest of the time for
 * which the value is fresh in the shared store.
 */
function copyOf(entry: Entry, version: string, freshLeftMs: number): Write {
  const freshMs = Math.min(freshLeftMs, MAX_UNCHECKED_MS);
  const { data, fence, loadMs, version: copiedVersion } = entry;
  return {
    data,
    fence,
    version,
    copiedVersion,
    freshMs,
    staleMs: freshLeftMs - freshMs,
    loadMs,
  };
}
