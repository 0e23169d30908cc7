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
  Tags,
  Write,
} from './store.ts';

/** Values of one process: nothing to install, nothing to reach. They end with the process. */
export function memoryCacheStore(clock: Clock, limits: CacheLimits = {}): CacheStore {
  return new MemoryCacheStore(clock, resolveCacheLimits(limits));
}

/** Swept when there are so many keys or tags, and then when there are twice as many as were left. */
const MIN_SWEEP_COUNT = 1000;

/**
 * Values stand in the order in which they came. If there is no room, the first gives way, unless it was
 * used since its last turn: then it is put behind the others (the clock algorithm). So a hit only sets a
 * mark, and the values that are in use stay. The order is a list of its own: a Map whose first keys are
 * deleted again and again leaves holes behind, which each look for its first would have to pass.
 */
class MemoryCacheStore implements CacheStore {
  readonly #clock: Clock;
  readonly #limits: ResolvedCacheLimits;
  readonly #cells = new Map<string, Cell>();
  /** Those that have a value, or a failure that is remembered. */
  readonly #order = new LinkedList<Cell>();
  /** The versions of those that somebody has loaded with. A tag that is forgotten gets another. */
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
    // Whoever waits has it by now, also if it is larger than all that there may be.
    if (isKept && this.#bytes > this.#limits.bytes) this.#drop(cell);
    return isKept;
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
    return keys.filter((key) => this.#forget(key, nowMs)).length;
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

  /** That of a key about which something is to be known for so long. */
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

  /** At the end of the order, after the others have made room. What is larger than all of it needs none. */
  #list(cell: Cell, bytes: number): void {
    if (cell.isListed) return;
    if (bytes <= this.#limits.bytes) this.#makeRoom(bytes);
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
    cell.forgetFailure();
    this.#unlist(cell);
  }

  /** Whether there was a value. */
  #forget(key: string, nowMs: number): boolean {
    const cell = this.#cells.get(key);
    if (cell === undefined) return false;
    const wasThere = cell.kept !== undefined && cell.kept.staleUntilMs > nowMs;
    this.#empty(cell);
    this.#cells.delete(key);
    return wasThere;
  }

  /** For one more value of this size. */
  #makeRoom(bytes: number): void {
    const { entries: mostEntries, bytes: mostBytes } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    for (let first = this.#order.first; first !== undefined; first = this.#order.first) {
      if (this.#entries < mostEntries && this.#bytes + bytes <= mostBytes) return;
      this.#takeTurn(first, nowMs);
    }
  }

  #takeTurn(cell: Cell, nowMs: number): void {
    if (cell.isUsed) {
      // Met again after the others, without its mark.
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
      if (cell.isOver(nowMs)) this.#forget(key, nowMs);
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
  readonly loadMs: number;
  readonly freshUntilMs: number;
  readonly staleUntilMs: number;
}

/** All that is known of a key. */
class Cell implements Linked<Cell> {
  before: Cell | undefined = undefined;
  after: Cell | undefined = undefined;
  readonly key: string;
  /** Unlike that of any other cell, of this key too. */
  readonly keyVersion: number;
  /** Of the newest write. */
  fence = 0;
  /** Of the newest load that has ended, with a value or an error. */
  endedFence = 0;
  /** Of the newest load that has begun. */
  openFence = 0;
  tags: Tags = [];
  kept: Kept | undefined = undefined;
  /** Somebody may be loading until then. */
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

  forgetFailure(): void {
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
    // An invalidation forgets it as it forgets a value.
    if (this.#failed?.version !== version || this.#failedUntilMs <= nowMs)
      return { entry, version, lastFence };
    const failure = { ...this.#failed, leftMs: this.#failedUntilMs - nowMs };
    return { entry, version, lastFence, failure };
  }

  keep(write: Write, bytes: number, tagVersions: string, nowMs: number): void {
    const { data, fence, loadMs, freshMs, staleMs } = write;
    const freshUntilMs = nowMs + freshMs;
    this.fence = fence;
    this.kept = {
      // Whoever made the bytes may use them for something else.
      data: typeof data === 'string' ? data : new Uint8Array(data),
      bytes,
      tagVersions,
      loadMs,
      freshUntilMs,
      staleUntilMs: freshUntilMs + staleMs,
    };
    this.forgetFailure();
    this.#end(fence);
  }

  /** For how long nobody should load. Undefined: somebody has written or deleted since that load began. */
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

  /** A load has ended. Nobody loads now, unless that was an older one. */
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
      version,
    };
  }
}
