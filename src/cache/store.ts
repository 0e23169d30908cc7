/**
 * Where cached values live. A value is kept for `freshMs + staleMs` by the store's own clock, and then it
 * is gone.
 *
 * A late write never wins: it is refused if a value with a larger fence was written, or if the stamp has
 * changed since the load began. A stamp is made when somebody opens or waits for a key that has none; it
 * ends with a deletion, with the value, or if the load took longer than was said. Nothing has to be kept
 * of a key to refuse what is late: whatever names no present stamp is.
 *
 * A store in this process may answer at once. Any other must answer or fail within a time of its own.
 */
export interface CacheStore {
  /** The stamp may be that of no time at all if there is a fresh value. */
  look(key: string, tags: Tags): Stamped | Promise<Stamped>;
  /** For who is about to load: the write has to carry the stamp, and this fence. */
  open(key: string, tags: Tags, times: Times, fence: number): Stamped | Promise<Stamped>;
  /** For who waits: what changes after this look is told to the listeners. */
  wait(key: string, tags: Tags, times: Times): Stamped | Promise<Stamped>;
  /** Whether the value stands. Whoever waits is told, of a refusal too. */
  write(key: string, tags: Tags, value: Write): boolean | Promise<boolean>;
  /** Remembers that a load failed, and tells whoever waits. For how many milliseconds nobody should load. */
  fail(key: string, failed: Failed): number | Promise<number>;
  /** Whoever waits should look again. With the fence of a load that is over, whatever came of it. */
  wake(key: string, fence?: number): void | Promise<void>;
  /** How many of them were there. */
  delete(keys: readonly string[]): number | Promise<number>;
  /** Makes everything that carries one of the tags as good as deleted. */
  invalidate(tags: Tags): void | Promise<void>;
  /** A listener is called without news when some may have been lost. Gives what ends it. */
  onNews(listener: NewsListener): () => void;
  close(): void;
}

/** Sorted, and none twice. */
export type Tags = readonly string[];

/** What there is now. */
export interface Sight {
  readonly entry?: Entry | undefined;
  /** The last load failed, and it is too early for the next. */
  readonly failure?: Failure | undefined;
}

/** Changes with each deletion of the key and each invalidation of one of its tags. */
export interface Stamped extends Sight {
  readonly stamp: string;
  /** Of the newest load that has ended under this stamp, with a value or an error; 0: none. */
  readonly lastFence: number;
}

export interface Times {
  /** How long a load may take and still be kept. */
  readonly longestLoadMs: number;
  /** How long its value is kept, or its failure remembered. */
  readonly keepMs: number;
}

export interface Entry {
  /** The value, encoded. */
  readonly data: Encoded;
  readonly fence: number;
  /** Zero or less: it is stale. */
  readonly freshLeftMs: number;
  /** Until it is gone. */
  readonly leftMs: number;
  /** How long its load took. */
  readonly loadMs: number;
  /** Of when its load began. */
  readonly stamp: string;
}

export type Encoded = string | Uint8Array;

/** It counts under its stamp alone, as a value does. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly leftMs: number;
  readonly fence: number;
  /** Of when the load began. */
  readonly stamp: string;
}

export interface Write {
  readonly data: Encoded;
  readonly fence: number;
  readonly stamp: string;
  readonly freshMs: number;
  readonly staleMs: number;
  readonly loadMs: number;
}

export interface Failed extends Omit<Failure, 'leftMs'> {
  /** After the first failure; it doubles with each that follows, up to the longest. */
  readonly pauseMs: number;
  readonly longestPauseMs: number;
}

/** What has become of a key. Neither an entry nor a failure: look again. */
export interface News extends Sight {
  readonly key: string;
}

export type NewsListener = (news: News | undefined) => void;
