/** Entries of a log, newest first. The number of entries and their memory are limited; the oldest are dropped. */
export class NewestEntries<Entry> {
  readonly list: Entry[] = [];
  readonly #bytesOf: (entry: Entry) => number;
  #maxLength = 128;
  #bytes = 0;

  constructor(bytesOf: (entry: Entry) => number) {
    this.#bytesOf = bytesOf;
  }

  add(entry: Entry): void {
    this.list.unshift(entry);
    this.#bytes += this.#bytesOf(entry);
    this.limit(this.#maxLength);
  }

  /** Removes and returns the entry at an index. */
  take(index: number): Entry {
    const [entry] = this.list.splice(index, 1) as [Entry];
    this.#bytes -= this.#bytesOf(entry);
    return entry;
  }

  limit(maxLength: number): void {
    this.#maxLength = maxLength;
    while (this.list.length > maxLength || this.#bytes > MAX_BYTES) this.take(this.list.length - 1);
  }

  reset(): void {
    this.list.length = 0;
    this.#bytes = 0;
  }
}

/** The settings for the number of entries have no upper limit, and entries have names that clients choose. */
const MAX_BYTES = 4 * 1024 * 1024;
