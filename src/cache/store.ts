/**
 * Where cached values are kept. A value is kept for `freshMs + staleMs` by the store's own clock.
 *
 * A late write is refused: when a value with a larger fence was written, or when the version of the key has
 * changed since the load began. A version is made by the first `open` or `wait` of a key that has none. It ends
 * with a deletion, with a `set`, with the value, or when the load takes longer than `maxLoadMs`. The store keeps
 * nothing of a deleted key: a write that names no current version is late.
 *
 * A store in this process may answer synchronously. Any other store answers or fails within its own timeout.
 */
export interface CacheStore {
  /** The version may be empty when there is a fresh value. */
  lookup(key: string, tags: Tags): CacheLookup | Promise<CacheLookup>;
  /** Lookup before a load: the write carries this version and this fence. */
  open(
    key: string,
    tags: Tags,
    times: LoadTimes,
    fence: number,
  ): CacheLookup | Promise<CacheLookup>;
  /** Lookup before waiting: listeners receive a message for each later change of the key. */
  wait(key: string, tags: Tags, times: LoadTimes): CacheLookup | Promise<CacheLookup>;
  /** Returns whether the value was kept. Waiters receive a message in both cases. */
  write(key: string, tags: Tags, value: Write): boolean | Promise<boolean>;
  /** Replaces the value and ends the version of the key: a load that is under way is refused. */
  set(key: string, tags: Tags, value: SetValue): void | Promise<void>;
  /** Records a failed load and notifies waiters. Returns the milliseconds until the next load may begin. */
  fail(key: string, failed: FailedLoad): number | Promise<number>;
  /** Makes waiters look up the key again. `fence`: that of a load that has ended. */
  wake(key: string, fence?: number): void | Promise<void>;
  /** Returns how many of the keys had a value. */
  delete(keys: readonly string[]): number | Promise<number>;
  /** Makes all values that carry one of the tags invalid. */
  invalidate(tags: Tags): void | Promise<void>;
  /** Absent in a store that only this process can change. */
  readonly changes?: CacheChanges;
  /** The listener is called with undefined when messages may have been lost. Returns a function that removes it. */
  onMessage(listener: MessageListener): () => void;
  close(): void;
}

/** Sorted, without duplicates. */
export type Tags = readonly string[];

export interface CacheState {
  readonly entry?: Entry | undefined;
  /** The last load failed, and its backoff has not ended. */
  readonly failure?: LoadFailure | undefined;
}

export interface CacheLookup extends CacheState {
  /** Changes with each deletion or `set` of the key and with each invalidation of one of its tags. */
  readonly version: string;
  /** Fence of the newest load that has ended under this version, with a value or an error; 0: none. */
  readonly lastFence: number;
}

export interface LoadTimes {
  /** A load that takes longer is not kept. */
  readonly maxLoadMs: number;
  /** How long the value is kept, or the failure remembered. */
  readonly keepMs: number;
}

export interface Entry {
  /** The encoded value. */
  readonly data: Encoded;
  readonly fence: number;
  /** Zero or less: the value is stale. */
  readonly freshLeftMs: number;
  /** Until the value is removed. */
  readonly leftMs: number;
  /** Duration of its load. */
  readonly loadMs: number;
  /** The version when its load began. */
  readonly version: string;
}

export type Encoded = string | Uint8Array;

/** Valid under its version only, as a value is. */
export interface LoadFailure {
  readonly name: string;
  readonly message: string;
  readonly leftMs: number;
  readonly fence: number;
  /** The version when the load began. */
  readonly version: string;
}

export interface Write {
  readonly data: Encoded;
  readonly fence: number;
  readonly version: string;
  readonly freshMs: number;
  readonly staleMs: number;
  readonly loadMs: number;
  /** For a copy of an entry of another store: the version of that entry. */
  readonly copiedVersion?: string;
}

/** A value without a load. Its fence is 0. */
export type SetValue = Pick<Write, 'data' | 'freshMs' | 'staleMs'>;

/** The changes that all processes make. */
export interface CacheChanges {
  /** Subscribes in the background, unless there is a subscription or an attempt. */
  start(): void;
  /** Returns a function that removes the listener. */
  add(listener: ChangeListener): () => void;
}

export interface ChangeListener {
  /** The listener receives all changes from now on, and may have missed earlier ones. */
  onLive(): void;
  /** Changes may be missed from now on, until `onLive`. */
  onLost(): void;
  onChange(change: CacheChange): void;
}

/** A value was written, set or deleted, or a tag was invalidated. */
export type CacheChange =
  | { readonly kind: 'value'; readonly key: string }
  | { readonly kind: 'tag'; readonly tag: string };

export interface FailedLoad extends Omit<LoadFailure, 'leftMs'> {
  /** Backoff after the first failure; doubles with each further failure, up to `maxPauseMs`. */
  readonly pauseMs: number;
  readonly maxPauseMs: number;
}

/** A change of a key. Without an entry and a failure: look up the key again. */
export interface CacheMessage extends CacheState {
  readonly key: string;
}

export type MessageListener = (message: CacheMessage | undefined) => void;
