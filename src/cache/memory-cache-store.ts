import type { Clock } from '../clock/index.ts';
import { type Linked, LinkedList } from '../lock/index.ts';
import { type CacheLimits, type ResolvedCacheLimits, resolveCacheLimits } from './limits.ts';
import type {
  CacheLookup,
  CacheState,
  CacheStore,
  Encoded,
  Entry,
  FailedLoad,
  LoadTimes,
  MessageListener,
  SetValue,
  Tags,
  Write,
} from './store.ts';

/** Keeps values in the memory of this process. Answers synchronously. */
export function memoryCacheStore(clock: Clock, limits: CacheLimits = {}): MemoryCacheStore {
  return new MemoryCacheStore(clock, resolveCacheLimits(limits));
}

/** The first sweep is at so many keys or tags; the next at twice as many as the last one left. */
const MIN_SWEEP_COUNT = 1000;

const NO_LOAD: LoadTimes = { maxLoadMs: 0, keepMs: 0 };

/**
 * Evicts by the clock algorithm: values are in the order of their arrival, and the first one is evicted, unless it
 * was used since its last turn; then it moves to the end. So a hit only sets a mark. The order is a linked list: a
 * Map whose first keys are deleted again and again leaves holes that each search for its first key has to pass.
 */
export class MemoryCacheStore implements CacheStore {
  readonly #clock: Clock;
  readonly #limits: ResolvedCacheLimits;
  readonly #cells = new Map<string, Cell>();
  /** Cells that have a value, or a failure that is remembered. */
  readonly #order = new LinkedList<Cell>();
  /** Versions of the tags that loads have used. An invalidated tag gets another version. */
  readonly #tags = new Map<string, number>();
  readonly #listeners = new Set<MessageListener>();
  #sweepAtCount = MIN_SWEEP_COUNT;
  #lastVersion = 0;
  #entries = 0;
  #bytes = 0;

  constructor(clock: Clock, limits: ResolvedCacheLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  lookup(key: string, tags: Tags): CacheLookup {
    const cell = this.#cells.get(key);
    if (cell === undefined) return { version: ` ${this.#tagVersions(tags)}`, lastFence: 0 };
    cell.isUsed = true;
    return this.#see(cell, tags);
  }

  open(key: string, tags: Tags, times: LoadTimes, fence: number): CacheLookup {
    const cell = this.#cellFor(key, tags, times);
    cell.openFence = fence;
    return this.#see(cell, tags);
  }

  wait(key: string, tags: Tags, times: LoadTimes): CacheLookup {
    return this.#see(this.#cellFor(key, tags, times), tags);
  }

  write(key: string, tags: Tags, write: Write): boolean {
    const cell = this.#cells.get(key);
    const tagVersions = this.#tagVersions(tags);
    const isKept =
      cell !== undefined &&
      write.version === cell.version(tagVersions) &&
      write.fence >= cell.fence;
    if (isKept) this.#keep(cell, write, tagVersions);
    this.#notify(key, isKept ? cell.lookup(this.#clock.monotonicMs(), tagVersions) : {});
    // The waiters have received it, also if it is larger than the limit.
    if (isKept && this.#bytes > this.#limits.bytes) this.#drop(cell);
    return isKept;
  }

  set(key: string, tags: Tags, value: SetValue): void {
    this.#remove(key, this.#clock.monotonicMs());
    const cell = this.#cellFor(key, tags, NO_LOAD);
    const tagVersions = this.#tagVersions(tags);
    const write = { ...value, fence: 0, loadMs: 0, version: cell.version(tagVersions) };
    this.#keep(cell, write, tagVersions);
    this.#notify(key, {});
    if (this.#bytes > this.#limits.bytes) this.#drop(cell);
  }

  fail(key: string, failed: FailedLoad): number {
    const cell = this.#cells.get(key);
    const leftMs = cell?.fail(failed, this.#clock.monotonicMs());
    if (leftMs !== undefined) this.#list(cell!, 0);
    this.#notify(key, leftMs === undefined ? {} : { failure: { ...failed, leftMs } });
    return leftMs ?? 0;
  }

  wake(key: string): void {
    this.#notify(key, {});
  }

  delete(keys: readonly string[]): number {
    const nowMs = this.#clock.monotonicMs();
    return keys.filter((key) => this.#remove(key, nowMs)).length;
  }

  invalidate(tags: Tags): void {
    for (const tag of tags) this.#tags.delete(tag);
  }

  onMessage(listener: MessageListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    for (const cell of this.#cells.values()) this.#empty(cell);
    this.#cells.clear();
    this.#tags.clear();
  }

  /** Returns the cell of the key, which is kept for at least `maxLoadMs`. */
  #cellFor(key: string, tags: Tags, { maxLoadMs }: LoadTimes): Cell {
    if (Math.max(this.#cells.size, this.#tags.size) >= this.#sweepAtCount) this.#sweep();
    for (const tag of tags) if (!this.#tags.has(tag)) this.#tags.set(tag, ++this.#lastVersion);
    const cell = this.#cells.get(key) ?? new Cell(key, ++this.#lastVersion);
    this.#cells.set(key, cell);
    cell.tags = tags;
    cell.openUntilMs = this.#clock.monotonicMs() + maxLoadMs;
    return cell;
  }

  #see(cell: Cell, tags: Tags): CacheLookup {
    const nowMs = this.#clock.monotonicMs();
    if (cell.kept !== undefined && cell.kept.staleUntilMs <= nowMs) this.#drop(cell);
    return cell.lookup(nowMs, this.#tagVersions(tags));
  }

  #tagVersions(tags: Tags): string {
    if (tags.length === 0) return '';
    return tags.map((tag) => `${this.#tags.get(tag) ?? ''} ${tag}`).join();
  }

  #keep(cell: Cell, write: Write, tagVersions: string): void {
    this.#empty(cell);
    const bytes = Buffer.byteLength(write.data);
    this.#list(cell, bytes);
    cell.keep(write, bytes, tagVersions, this.#clock.monotonicMs());
    this.#bytes += bytes;
  }

  /** Adds the cell at the end of the order and evicts others. A value above the limit evicts none. */
  #list(cell: Cell, bytes: number): void {
    if (cell.isListed) return;
    if (bytes <= this.#limits.bytes) this.#evictFor(bytes);
    this.#order.push(cell);
    cell.isListed = true;
    this.#entries++;
  }

  #drop(cell: Cell): void {
    if (cell.kept === undefined) return;
    this.#bytes -= cell.kept.bytes;
    cell.kept = undefined;
    if (!cell.hasFailed) this.#unlist(cell);
  }

  #unlist(cell: Cell): void {
    if (!cell.isListed) return;
    this.#order.remove(cell);
    cell.isListed = false;
    this.#entries--;
  }

  #empty(cell: Cell): void {
    this.#drop(cell);
    cell.clearFailure();
    this.#unlist(cell);
  }

  /** Returns whether there was a value. */
  #remove(key: string, nowMs: number): boolean {
    const cell = this.#cells.get(key);
    if (cell === undefined) return false;
    const wasThere = cell.kept !== undefined && cell.kept.staleUntilMs > nowMs;
    this.#empty(cell);
    this.#cells.delete(key);
    return wasThere;
  }

  /** Evicts until there is room for one more value of this size. */
  #evictFor(bytes: number): void {
    const { entries: maxEntries, bytes: maxBytes } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    for (let first = this.#order.first; first !== undefined; first = this.#order.first) {
      if (this.#entries < maxEntries && this.#bytes + bytes <= maxBytes) return;
      this.#takeTurn(first, nowMs);
    }
  }

  #takeTurn(cell: Cell, nowMs: number): void {
    if (cell.isUsed) {
      cell.isUsed = false;
      this.#order.remove(cell);
      this.#order.push(cell);
    } else {
      this.#empty(cell);
      if (cell.isOver(nowMs)) this.#cells.delete(cell.key);
    }
  }

  #notify(key: string, lookup: CacheState): void {
    for (const listener of this.#listeners) listener({ ...lookup, key });
  }

  #sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    const used = new Set<string>();
    for (const [key, cell] of this.#cells) {
      if (cell.isOver(nowMs)) this.#remove(key, nowMs);
      else for (const tag of cell.tags) used.add(tag);
    }
    for (const tag of this.#tags.keys()) if (!used.has(tag)) this.#tags.delete(tag);
    this.#sweepAtCount = Math.max(MIN_SWEEP_COUNT, 2 * Math.max(this.#cells.size, this.#tags.size));
  }
}

interface Kept {
  readonly data: Encoded;
  readonly bytes: number;
  readonly tagVersions: string;
  readonly copiedVersion: string | undefined;
  readonly loadMs: number;
  readonly freshUntilMs: number;
  readonly staleUntilMs: number;
}

/** The state of a key. */
class Cell implements Linked<Cell> {
  before: Cell | undefined = undefined;
  after: Cell | undefined = undefined;
  readonly key: string;
  /** Unique among all cells, also of the same key. */
  readonly keyVersion: number;
  /** Fence of the newest write. */
  fence = 0;
  /** Fence of the newest load that has ended, with a value or an error. */
  endedFence = 0;
  /** Fence of the newest load that has begun. */
  openFence = 0;
  tags: Tags = [];
  kept: Kept | undefined = undefined;
  /** A load may be under way until then. */
  openUntilMs = 0;
  isUsed = false;
  isListed = false;
  #failures = 0;
  #failed: FailedLoad | undefined = undefined;
  #failedUntilMs = 0;
  #countsUntilMs = 0;

  constructor(key: string, keyVersion: number) {
    this.key = key;
    this.keyVersion = keyVersion;
  }

  get hasFailed(): boolean {
    return this.#failed !== undefined;
  }

  clearFailure(): void {
    this.#failures = 0;
    this.#failed = undefined;
  }

  version(tagVersions: string): string {
    return `${this.keyVersion} ${tagVersions}`;
  }

  lookup(nowMs: number, tagVersions: string): CacheLookup {
    const version = this.version(tagVersions);
    const entry = this.#entry(nowMs, tagVersions, version);
    const lastFence = this.endedFence;
    // An invalidation removes a failure as it removes a value.
    if (this.#failed?.version !== version || this.#failedUntilMs <= nowMs)
      return { entry, version, lastFence };
    const failure = { ...this.#failed, leftMs: this.#failedUntilMs - nowMs };
    return { entry, version, lastFence, failure };
  }

  keep(write: Write, bytes: number, tagVersions: string, nowMs: number): void {
    const { data, fence, loadMs, freshMs, staleMs, copiedVersion } = write;
    const freshUntilMs = nowMs + freshMs;
    this.fence = fence;
    this.kept = {
      // A copy: the caller may reuse the memory.
      data: typeof data === 'string' ? data : new Uint8Array(data),
      bytes,
      tagVersions,
      copiedVersion,
      loadMs,
      freshUntilMs,
      staleUntilMs: freshUntilMs + staleMs,
    };
    this.clearFailure();
    this.#end(fence);
  }

  /** Returns the backoff. Undefined: the key was written, set or deleted since the load began. */
  fail(failed: FailedLoad, nowMs: number): number | undefined {
    const isNewest = failed.fence >= this.fence && failed.version.startsWith(`${this.keyVersion} `);
    if (!isNewest) return undefined;
    const isFirst = this.#countsUntilMs <= nowMs || this.#failed?.version !== failed.version;
    if (isFirst) this.#failures = 0;
    const pauseMs = Math.min(failed.pauseMs * 2 ** this.#failures, failed.maxPauseMs);
    this.#failures++;
    this.#failed = failed;
    this.#failedUntilMs = nowMs + pauseMs;
    this.#countsUntilMs = nowMs + 2 * failed.maxPauseMs;
    this.#end(failed.fence);
    return pauseMs;
  }

  /** A load has ended. No load is under way, unless a newer one has begun. */
  #end(fence: number): void {
    this.endedFence = Math.max(this.endedFence, fence);
    if (fence >= this.openFence) this.openUntilMs = 0;
  }

  isOver(nowMs: number): boolean {
    const countsUntilMs = this.#failed === undefined ? 0 : this.#countsUntilMs;
    const keptUntilMs = this.kept?.staleUntilMs ?? 0;
    return Math.max(keptUntilMs, countsUntilMs, this.openUntilMs) <= nowMs;
  }

  #entry(nowMs: number, tagVersions: string, version: string): Entry | undefined {
    const { kept, fence } = this;
    if (kept === undefined || tagVersions !== kept.tagVersions) return undefined;
    return {
      data: kept.data,
      fence,
      freshLeftMs: kept.freshUntilMs - nowMs,
      leftMs: kept.staleUntilMs - nowMs,
      loadMs: kept.loadMs,
      version: kept.copiedVersion ?? version,
    };
  }
}
