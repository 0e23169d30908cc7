import { ClientPool } from './client-memory.ts';
import { OUT_OF_MEMORY } from './errors.ts';
import { Footprint } from './footprint.ts';

const MEGABYTE = 1024 ** 2;
const MAX_SCRIPT_BYTES = 256 * MEGABYTE;
const MAX_SCRIPT_CACHE_BYTES = 32 * MEGABYTE;
const EXHAUSTED = 1.125;
/** Less than this would not let clients do anything. */
const MIN_CLIENTS_BYTES = 4 * MEGABYTE;

/**
 * What the engine's data and clients take, and how much they may take. Commands that add data are refused
 * when `used` exceeds the limit; clients are evicted when their buffers exceed a share of it.
 *
 * An engine inside a process has no limit unless `maxmemory` is set. A server has one always, because V8
 * ends the process when its heap is full: see heap-size.ts.
 */
export class Memory {
  readonly used = new Footprint();
  readonly data = this.#part(new Footprint());
  readonly scripts = this.#part(new Footprint());
  /** What a running script has removed, and would put back if it were undone. */
  readonly undo = this.#part(new Footprint());
  readonly wills = this.#part(new Footprint());
  readonly clients = this.#part(new ClientPool());
  /** More than this does not fit into the process. */
  capacityBytes = Number.POSITIVE_INFINITY;
  limitBytes = Number.POSITIVE_INFINITY;
  /** What one run of a script may allocate in all. */
  scriptBytes = MAX_SCRIPT_BYTES;
  /** What the scripts that are kept for EVALSHA may take. */
  scriptCacheBytes = MAX_SCRIPT_CACHE_BYTES;
  #clientsLimit = '0';

  get isFull(): boolean {
    return this.used.bytes > this.limitBytes;
  }

  /**
   * A script that has begun to write must not add data beyond this: it is undone instead. Buffers of clients do
   * not count, so that no client can stop a script that hands a lock over.
   */
  get isExhausted(): boolean {
    return this.used.bytes - this.clients.bytes > this.limitBytes * EXHAUSTED;
  }

  /** Throws unless so many bytes more would fit: for commands that make much out of a short request. */
  reserve(bytes: number): void {
    if (this.used.bytes + bytes > this.limitBytes) throw OUT_OF_MEMORY;
  }

  /** The setting maxmemory; 0 stands for what the process can hold. */
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

/** An eighth of all memory; where that is little, up to half, because scripts pay for their garbage too. */
function scriptBytes(limitBytes: number): number {
  const leastBytes = Math.max(Math.min(limitBytes / 2, 64 * MEGABYTE), MEGABYTE);
  return Math.floor(Math.min(Math.max(limitBytes / 8, leastBytes), MAX_SCRIPT_BYTES));
}
