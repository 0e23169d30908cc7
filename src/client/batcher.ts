/**
 * Collects the items of one turn of the event loop, by slot, and sends each batch as one call: at the end of the turn, or
 * when it is full, so that the server can start while the turn continues.
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

  /** Items of one call are sent in one batch. */
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

/** READY.then(callback) is cheaper than queueMicrotask, which creates an async resource. */
const READY = Promise.resolve();
