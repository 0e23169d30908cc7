import { OUT_OF_MEMORY } from './errors.ts';
import { Footprint } from './footprint.ts';

/** The uses of a client's memory. */
export type ClientUse =
  | 'input' // bytes of requests that have not run
  | 'output' // bytes of replies that the client has not read
  | 'queue' // commands since MULTI
  | 'watches'
  | 'subscriptions'
  | 'blocked'; // the keys of a blocked command, or a command that CLIENT PAUSE delays

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
  /** Index of its bucket in the pool. */
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

  /** The bytes that count against the client's limit. */
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

  /** Throws OUT_OF_MEMORY unless the client may use so many more bytes: for commands with many arguments. */
  reserve(bytes: number): void {
    if (this.totalBytes + bytes > this.#pool.maxClientBytes) throw OUT_OF_MEMORY;
  }

  /** The session has ended. Unread output counts until the client reads it or the connection ends. */
  close(): void {
    this.#isClosed = true;
    for (const use of USES) if (use !== 'output') this.set(use, 0);
    this.#settle();
  }

  /** Leaves the pool once no output is unread. The last replies are written after the session has ended. */
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
 * The memory of all clients. When it exceeds its limit, the largest client is evicted. As in Redis, clients are
 * kept in buckets by the power of two of their bytes. Changing a bucket is rare and costs O(1). The highest
 * bucket that is not empty has the largest client, within a factor of two.
 */
export class ClientPool extends Footprint {
  limitBytes = Number.POSITIVE_INFINITY;
  readonly #buckets: Set<ClientMemory>[] = Array.from({ length: 33 }, () => new Set());

  /** The limit of one client: half of the pool. */
  get maxClientBytes(): number {
    return this.limitBytes / 2;
  }

  /** Whether so many more bytes fit. */
  fits(bytes: number): boolean {
    return this.bytes + bytes <= this.limitBytes;
  }

  /** Evicts the largest client unless so many more bytes fit. */
  evictUnlessFits(bytes = 0): void {
    if (this.fits(bytes)) return;
    const largest = this.#largest();
    largest?.evict(
      `it is the largest client (${largest.totalBytes} bytes), and all clients use ${this.bytes + bytes} bytes, ` +
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

/** 0 for clients below MIN_RANKED_BYTES, else the number of bits of their size in units of 16 KiB. */
function bucketFor(bytes: number): number {
  return 32 - Math.clz32(bytes / MIN_RANKED_BYTES);
}

const MIN_RANKED_BYTES = 16 * 1024;
/** The memory of an idle connection: its socket, decoder and session. */
export const CLIENT_BYTES = 6 * 1024;
