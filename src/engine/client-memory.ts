import { OUT_OF_MEMORY } from './errors.ts';
import { Footprint } from './footprint.ts';

/** What a client's memory is used for. */
export type ClientUse =
  | 'input' // bytes that arrived and were not run
  | 'output' // bytes that were not read
  | 'queue' // commands since MULTI
  | 'watches'
  | 'subscriptions'
  | 'blocked'; // the keys of a blocked command, or a command that CLIENT PAUSE holds

/** The memory of one client. */
export class ClientMemory extends Footprint {
  readonly uses: Record<ClientUse, number> = {
    input: 0,
    output: 0,
    queue: 0,
    watches: 0,
    subscriptions: 0,
    blocked: 0,
  };
  /** Unread bytes of messages that other clients have not read either: the pool counts them once. */
  sharedBytes = 0;
  /** Its place in the pool. */
  bucket = 0;
  /** Closes the client at once, with a reason for the log. */
  readonly evict: (reason: string) => void;
  readonly #pool: ClientPool;
  #isClosed = false;

  constructor(pool: ClientPool, evict: (reason: string) => void) {
    super(CLIENT_BYTES);
    this.#pool = pool;
    this.evict = evict;
  }

  /** What the client is to be judged by. */
  get totalBytes(): number {
    return this.bytes + this.sharedBytes;
  }

  add(use: ClientUse, bytes: number): void {
    this.uses[use] += bytes;
    this.grow(bytes);
    this.#pool.rank(this);
    if (this.#isClosed) this.#settle();
  }

  set(use: ClientUse, bytes: number): void {
    if (bytes !== this.uses[use]) this.add(use, bytes - this.uses[use]);
  }

  share(bytes: number): void {
    this.sharedBytes += bytes;
    this.#pool.rank(this);
    if (this.#isClosed) this.#settle();
  }

  /** Throws unless the client may take so many bytes more: for commands with many arguments. */
  reserve(bytes: number): void {
    if (this.totalBytes + bytes > this.#pool.maxClientBytes) throw OUT_OF_MEMORY;
  }

  /** The session has ended. What it has not read counts until it is read or the connection is gone. */
  close(): void {
    this.#isClosed = true;
    for (const use of USES) if (use !== 'output') this.set(use, 0);
    this.#settle();
  }

  /** In the pool while output is unread. The last replies are written after the session has ended. */
  #settle(): void {
    const isUnread = this.uses.output > 0 || this.sharedBytes > 0;
    if (!isUnread) this.#pool.remove(this);
    this.moveInto(isUnread ? this.#pool : null);
  }
}

const USES = [
  'input',
  'output',
  'queue',
  'watches',
  'subscriptions',
  'blocked',
] as const satisfies readonly ClientUse[];

/**
 * The memory of all clients. When it exceeds its limit the client that takes most is evicted. To find that
 * one, clients are kept in buckets by the magnitude of their bytes, as Redis does: changing a bucket is rare
 * and costs O(1), and the highest bucket that is not empty has the largest client, within a factor of two.
 */
export class ClientPool extends Footprint {
  limitBytes = Number.POSITIVE_INFINITY;
  readonly #buckets: Set<ClientMemory>[] = Array.from({ length: 33 }, () => new Set());

  /** The most that one client may take, so that two large ones still fit. */
  get maxClientBytes(): number {
    return this.limitBytes / 2;
  }

  /** Whether so many bytes more fit. */
  fits(bytes: number): boolean {
    return this.bytes + bytes <= this.limitBytes;
  }

  /** Evicts the largest client unless so many bytes more fit. */
  evictUnlessFits(bytes = 0): void {
    if (this.fits(bytes)) return;
    const largest = this.#largest();
    largest?.evict(
      `it takes ${largest.totalBytes} bytes, more than others, and all clients together ${this.bytes + bytes}, ` +
        `more than maxmemory-clients (${this.limitBytes})`,
    );
  }

  rank(client: ClientMemory): void {
    const bucket = bucketFor(client.totalBytes);
    if (bucket !== client.bucket) this.#move(client, bucket);
  }

  remove(client: ClientMemory): void {
    this.#move(client, 0);
  }

  #move(client: ClientMemory, bucket: number): void {
    this.#buckets[client.bucket]!.delete(client);
    client.bucket = bucket;
    if (bucket > 0) this.#buckets[bucket]!.add(client);
  }

  #largest(): ClientMemory | undefined {
    const fullest = this.#buckets.findLast(({ size }) => size > 0);
    return fullest?.values().next().value;
  }
}

/** 0 for clients that are too small to matter, else the number of bits of their size in 16 KiB. */
function bucketFor(bytes: number): number {
  return 32 - Math.clz32(bytes / MIN_RANKED_BYTES);
}

const MIN_RANKED_BYTES = 16 * 1024;
/** A connection without anything: its socket, decoder and session. */
export const CLIENT_BYTES = 6 * 1024;
