/** Cells of the shared memory of one lease. Times are in microseconds of processMs(); the wall time is in milliseconds. */
const CELLS = { mainSent: 0, workerSent: 1, workerSentWallMs: 2, until: 3, state: 4 } as const;

const KEPT = 0n;
const DROPPED = 1n;
const STOLEN = 2n;

/**
 * The times of one lease, in memory that the main thread and the worker share: each sees at once what the other did, also
 * while the other's event loop is blocked. Every cell but the state has one writer. Times are rounded down, so that a
 * lease never seems to last longer than it does.
 *
 * The cells are integers: only these are atomic on every machine.
 */
export class SharedTimes {
  readonly buffer: SharedArrayBuffer;
  readonly #cells: BigInt64Array;

  constructor(buffer = new SharedArrayBuffer(8 * Object.keys(CELLS).length)) {
    this.buffer = buffer;
    this.#cells = new BigInt64Array(buffer);
  }

  /** Main thread: a renewal that was sent at this time succeeded. */
  renewedByMain(sentMs: number): void {
    this.#setTime(CELLS.mainSent, sentMs);
  }

  /** Main thread: the worker must not renew the lease after this time. */
  limit(untilMs: number): void {
    this.#setTime(CELLS.until, untilMs);
  }

  /** Main thread: the lease is no longer held. The worker must not renew it. */
  drop(): void {
    Atomics.store(this.#cells, CELLS.state, DROPPED);
  }

  /** Worker: a renewal that was sent at these times succeeded. */
  renewedByWorker(sentMs: number, sentWallMs: number): void {
    // The main thread reads the cells in the opposite order: if it sees the second write, it sees the first.
    Atomics.store(this.#cells, CELLS.workerSentWallMs, BigInt(Math.floor(sentWallMs)));
    this.#setTime(CELLS.workerSent, sentMs);
  }

  /** Worker: the store does not have the lease any more. Returns true if the lease was still active. */
  markStolen(): boolean {
    return Atomics.compareExchange(this.#cells, CELLS.state, KEPT, STOLEN) === KEPT;
  }

  /** When the worker sent its last renewal. 0: it has sent none. */
  get workerSentMs(): number {
    return this.#time(CELLS.workerSent);
  }

  get workerSentWallMs(): number {
    return Number(Atomics.load(this.#cells, CELLS.workerSentWallMs));
  }

  /** When the last successful renewal was sent, by either thread. */
  get sentMs(): number {
    return Math.max(this.#time(CELLS.mainSent), this.#time(CELLS.workerSent));
  }

  /** The time of limit(). 0: there is no limit. */
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
