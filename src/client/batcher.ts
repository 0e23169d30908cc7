/**
 * Gathers the items of one turn of the event loop, apart by slot, and sends each batch as one call: when the turn ends,
 * or when it is full, so that the server works on it while the rest of the turn is gathered.
 */
export class Batcher<Item> {
  readonly #maxSize: number;
  readonly #send: (batch: Item[]) => void;
  /** The batch of each slot. Outside of a cluster there is one slot. */
  #open = new Map<number, Item[]>();

  constructor(maxSize: number, send: (batch: Item[]) => void) {
    this.#maxSize = maxSize;
    this.#send = send;
  }

  /** Items that are added together are sent together. */
  add(slot: number, items: Item[]): void {
    const batch = this.#open.get(slot);
    if (batch !== undefined && batch.length + items.length <= this.#maxSize) {
      for (const item of items) batch.push(item);
      return;
    }
    if (this.#open.size === 0) READY.then(this.#flush);
    this.#open.set(slot, items);
    if (batch !== undefined) this.#send(batch);
  }

  readonly #flush = (): void => {
    const batches = this.#open;
    this.#open = new Map();
    for (const batch of batches.values()) this.#send(batch);
  };
}

/** A promise that is resolved already: cheaper than queueMicrotask, which makes an asynchronous resource. */
const READY = Promise.resolve();
