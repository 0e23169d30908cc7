import type { Clock } from '../clock/index.ts';
import type {
  CacheStore,
  Encoded,
  Entry,
  Failed,
  NewsListener,
  Sight,
  Stamped,
  Tags,
  Write,
} from './store.ts';

/** Values of one process: nothing to install, nothing to reach. They end with the process. */
export function memoryCacheStore(clock: Clock): CacheStore {
  return new MemoryCacheStore(clock);
}

/** Keys are swept when there are so many, and then when there are twice as many as were left. */
const FEW_KEYS = 1000;

class MemoryCacheStore implements CacheStore {
  readonly #clock: Clock;
  readonly #cells = new Map<string, Cell>();
  readonly #tags = new Map<string, number>();
  readonly #listeners = new Set<NewsListener>();
  #sweepAtCount = FEW_KEYS;
  #lastStamp = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  look(key: string, tags: Tags): Stamped {
    const cell = this.#cells.get(key);
    const tagStamp = this.#stampOf(tags);
    if (cell === undefined) return { stamp: `0 ${tagStamp}` };
    return cell.sight(this.#clock.monotonicMs(), tagStamp);
  }

  open(key: string, tags: Tags): Stamped {
    this.#opened(key);
    return this.look(key, tags);
  }

  wait(key: string, tags: Tags): Sight {
    return this.look(key, tags);
  }

  write(key: string, tags: Tags, write: Write): boolean {
    const cell = this.#opened(key);
    const tagStamp = this.#stampOf(tags);
    const isKept = write.stamp === `${cell.epoch} ${tagStamp}` && write.fence >= cell.fence;
    const nowMs = this.#clock.monotonicMs();
    if (isKept) cell.keep(write, nowMs);
    this.#tell(key, isKept ? cell.sight(nowMs, tagStamp) : {});

    return isKept;
  }

  fail(key: string, failed: Failed): number {
    const cell = this.#opened(key);
    const nowMs = this.#clock.monotonicMs();
    const isNewest = failed.fence >= cell.fence;
    const leftMs = isNewest ? cell.fail(failed, nowMs) : 0;
    const { name, message } = failed;
    this.#tell(key, isNewest ? { failure: { name, message, leftMs } } : {});
    return leftMs;
  }

  wake(key: string): void {
    this.#tell(key, {});
  }

  delete(keys: readonly string[]): number {
    const nowMs = this.#clock.monotonicMs();
    return keys.filter((key) => this.#cells.get(key)?.empty(nowMs)).length;
  }

  invalidate(tags: Tags): void {
    for (const tag of tags) if (this.#tags.has(tag)) this.#tags.set(tag, ++this.#lastStamp);
  }

  onNews(listener: NewsListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): void {
    this.#cells.clear();
    this.#tags.clear();
  }

  #opened(key: string): Cell {
    let cell = this.#cells.get(key);
    if (cell === undefined) {
      if (this.#cells.size >= this.#sweepAtCount) this.#sweep();
      cell = new Cell();
      this.#cells.set(key, cell);
    }
    return cell;
  }

  #stampOf(tags: Tags): string {
    return tags.length === 0 ? '' : tags.map((tag) => `${this.#versionOf(tag)} ${tag}`).join();
  }

  #versionOf(tag: string): number {
    const known = this.#tags.get(tag);
    if (known !== undefined) return known;
    this.#tags.set(tag, ++this.#lastStamp);
    return this.#lastStamp;
  }

  #tell(key: string, sight: Sight): void {
    for (const listener of this.#listeners) listener({ ...sight, key });
  }

  /** What has ended may still be loading: its fence and epoch are kept for a while. */
  #sweep(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, cell] of this.#cells) if (cell.isOver(nowMs)) this.#cells.delete(key);
    this.#sweepAtCount = Math.max(FEW_KEYS, 2 * this.#cells.size);
  }
}

/** How long a load that was begun before its value ended may come too late. */
const LATE_MS = 600_000;

/** All that is known of a key. */
class Cell {
  fence = 0;
  epoch = 0;
  #stamp = '';

  #data: Encoded | undefined;
  #loadMs = 0;
  #freshUntilMs = 0;
  #staleUntilMs = Number.NEGATIVE_INFINITY;
  #usedMs = 0;
  #failures = 0;
  #failedUntilMs = 0;
  #failed: Failed | undefined;

  sight(nowMs: number, tagStamp: string): Stamped {
    const stamp = `${this.epoch} ${tagStamp}`;
    const entry = this.#entry(nowMs, stamp);
    if (this.#failed === undefined || this.#failedUntilMs <= nowMs) return { entry, stamp };
    const { name, message } = this.#failed;
    return { entry, stamp, failure: { name, message, leftMs: this.#failedUntilMs - nowMs } };
  }

  keep({ data, fence, stamp, loadMs, freshMs, staleMs }: Write, nowMs: number): void {
    this.fence = fence;
    this.#stamp = stamp;
    this.#data = data;
    this.#loadMs = loadMs;
    this.#freshUntilMs = nowMs + freshMs;
    this.#staleUntilMs = nowMs + freshMs + staleMs;
    this.#usedMs = nowMs;
    this.#forgetFailures();
  }

  /** For how long nobody should load. */
  fail(failed: Failed, nowMs: number): number {
    const pauseMs = Math.min(failed.pauseMs * 2 ** this.#failures, failed.longestPauseMs);
    this.#failures++;
    this.#failed = failed;
    this.#failedUntilMs = nowMs + pauseMs;
    this.#usedMs = nowMs;
    return pauseMs;
  }

  empty(nowMs: number): boolean {
    const wasThere = this.#staleUntilMs > nowMs;
    this.epoch++;
    this.#data = undefined;
    this.#staleUntilMs = Number.NEGATIVE_INFINITY;
    this.#usedMs = nowMs;
    this.#forgetFailures();
    return wasThere;
  }

  isOver(nowMs: number): boolean {
    return Math.max(this.#staleUntilMs, this.#failedUntilMs, this.#usedMs) + LATE_MS <= nowMs;
  }

  #entry(nowMs: number, stamp: string): Entry | undefined {
    if (this.#staleUntilMs <= nowMs || this.#data === undefined) return undefined;
    if (stamp !== this.#stamp) return undefined;

    const { fence } = this;
    const freshLeftMs = this.#freshUntilMs - nowMs;
    return { data: this.#data, fence, freshLeftMs, loadMs: this.#loadMs, stamp };
  }

  #forgetFailures(): void {
    this.#failures = 0;
    this.#failed = undefined;
    this.#failedUntilMs = 0;
  }
}
