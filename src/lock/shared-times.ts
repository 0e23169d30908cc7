/** What two threads share of one lease: in microseconds of the process, but for the wall time. */
const CELLS = { sentHere: 0, sentThere: 1, sentThereWallMs: 2, until: 3, state: 4 } as const;

const KEPT = 0n;
const DROPPED = 1n;
const STOLEN = 2n;

/**
 * The times of one lease in memory that the main thread and the worker share, so that each sees at once
 * what the other did, without waiting for its event loop. Every cell but the state has one writer. Times
 * are rounded down: a lease that was renewed seems to have been renewed a little earlier.
 *
 * Integers, since only they are read and written whole on every machine.
 */
export class SharedTimes {
  readonly buffer: SharedArrayBuffer;
  readonly #cells: BigInt64Array;

  constructor(buffer = new SharedArrayBuffer(8 * Object.keys(CELLS).length)) {
    this.buffer = buffer;
    this.#cells = new BigInt64Array(buffer);
  }

  /** Main thread: a renewal succeeded that was sent then. */
  renewedHere(sentMs: number): void {
    this.#setTime(CELLS.sentHere, sentMs);
  }

  /** Main thread: however long it is held, it must not be renewed from then on. */
  limit(untilMs: number): void {
    this.#setTime(CELLS.until, untilMs);
  }

  /** Main thread: it is no longer held, so nothing may renew it. */
  drop(): void {
    Atomics.store(this.#cells, CELLS.state, DROPPED);
  }

  /** Worker: a renewal succeeded that was sent then. */
  renewedThere(sentMs: number, sentWallMs: number): void {
    // The reader looks for the other one first: if it sees that, it sees this.
    Atomics.store(this.#cells, CELLS.sentThereWallMs, BigInt(Math.floor(sentWallMs)));
    this.#setTime(CELLS.sentThere, sentMs);
  }

  /** Worker: the store says that it is not ours. Whether anybody still cares. */
  stolen(): boolean {
    return Atomics.compareExchange(this.#cells, CELLS.state, KEPT, STOLEN) === KEPT;
  }

  /** 0 if the worker has not renewed it. */
  get sentThereMs(): number {
    return this.#time(CELLS.sentThere);
  }

  get sentThereWallMs(): number {
    return Number(Atomics.load(this.#cells, CELLS.sentThereWallMs));
  }

  /** When the last renewal was sent that succeeded, by whomever. */
  get sentMs(): number {
    return Math.max(this.#time(CELLS.sentHere), this.#time(CELLS.sentThere));
  }

  /** 0 if there is no limit. */
  get untilMs(): number {
    return this.#time(CELLS.until);
  }

  get isKept(): boolean {
    return Atomics.load(this.#cells, CELLS.state) === KEPT;
  }

  get isStolen(): boolean {
    return Atomics.load(this.#cells, CELLS.state) === STOLEN;
  }

  #time(cell: number): number {
    return Number(Atomics.load(this.#cells, cell)) / 1000;
  }

  #setTime(cell: number, timeMs: number): void {
    Atomics.store(this.#cells, cell, BigInt(Math.floor(timeMs * 1000)));
  }
}
