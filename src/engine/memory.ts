import { ClientPool } from './client-memory.ts';
import { OUT_OF_MEMORY } from './errors.ts';
import { Footprint } from './footprint.ts';

const MEGABYTE = 1024 ** 2;
const MAX_SCRIPT_BYTES = 256 * MEGABYTE;
const MAX_SCRIPT_CACHE_BYTES = 32 * MEGABYTE;
const EXHAUSTED = 1.125;
/** With less, clients could not send requests of usual size. */
const MIN_CLIENTS_BYTES = 4 * MEGABYTE;

/**
 * The memory that data and clients use, and its limits. Commands that add data are rejected when `used` exceeds
 * the limit. Clients are evicted when their buffers exceed a share of it.
 *
 * An engine inside a process has no limit unless `maxmemory` is set. A server always has one, because V8 ends
 * the process when its heap is full: see memory/heap-size.ts.
 */
export class Memory {
  readonly used = new Footprint();
  readonly data = this.#part(new Footprint());
  readonly scripts = this.#part(new Footprint());
  /** Values that a running script has removed, and that a rollback would restore. */
  readonly undo = this.#part(new Footprint());
  readonly exitCommands = this.#part(new Footprint());
  readonly lockHistory = this.#part(new Footprint());
  readonly clients = this.#part(new ClientPool());
  /** The largest limit that fits into the heap of the process. */
  capacityBytes = Number.POSITIVE_INFINITY;
  limitBytes = Number.POSITIVE_INFINITY;
  /** Limit of all allocations of one script run. */
  scriptBytes = MAX_SCRIPT_BYTES;
  /** Limit of the scripts that are kept for EVALSHA. */
  scriptCacheBytes = MAX_SCRIPT_CACHE_BYTES;
  #clientsLimit = '0';

  get isFull(): boolean {
    return this.used.bytes > this.limitBytes;
  }

  /**
   * Whether a script that has begun to write must be stopped and rolled back. Client buffers do not count, so that
   * no client can stop a script that hands a lock over.
   */
  get isExhausted(): boolean {
    return this.used.bytes - this.clients.bytes > this.limitBytes * EXHAUSTED;
  }

  /** Throws OUT_OF_MEMORY unless so many more bytes fit: for commands whose result is larger than the request. */
  reserve(bytes: number): void {
    if (this.used.bytes + bytes > this.limitBytes) throw OUT_OF_MEMORY;
  }

  /** The setting maxmemory; 0 means `capacityBytes`. */
  setLimit(bytes: number): void {
    this.limitBytes = bytes === 0 ? this.capacityBytes : bytes;
    this.setClientsLimit(this.#clientsLimit);
    this.scriptBytes = scriptBytes(this.limitBytes);
    this.scriptCacheBytes = Math.min(this.limitBytes / 32, MAX_SCRIPT_CACHE_BYTES);
  }

  /** The setting maxmemory-clients: bytes, or a percentage of the limit; 0 for the whole of it. */
  setClientsLimit(text: string): void {
    this.#clientsLimit = text;
    const isShare = text.endsWith('%');
    const share = this.limitBytes * (Number.parseInt(text, 10) / 100);
    const bytes = isShare ? Math.max(share, MIN_CLIENTS_BYTES) : Number(text);
    this.clients.limitBytes = bytes === 0 ? this.limitBytes : Math.floor(bytes);
  }

  #part<Part extends Footprint>(part: Part): Part {
    part.moveInto(this.used);
    return part;
  }
}

/** An eighth of the limit; up to a half of a small one, because a script is charged for its garbage too. */
function scriptBytes(limitBytes: number): number {
  const leastBytes = Math.max(Math.min(limitBytes / 2, 64 * MEGABYTE), MEGABYTE);
  return Math.floor(Math.min(Math.max(limitBytes / 8, leastBytes), MAX_SCRIPT_BYTES));
}
