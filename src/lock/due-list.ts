import type { Clock, Timer } from '../clock/index.ts';

/**
 * Things that fall due after one and the same delay, so in the order in which they were added. A linked
 * list whose head is next, and one timer that runs while the list is not empty: adding and dropping is
 * O(1) and touches no timer, however many come and go before they fall due.
 */
export class DueList<Item> {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #onDue: (item: Item) => void;
  #head: Due<Item> | undefined;
  #tail: Due<Item> | undefined;
  #timer: Timer | undefined;

  constructor(clock: Clock, delayMs: number, onDue: (item: Item) => void) {
    this.#clock = clock;
    this.#delayMs = delayMs;
    this.#onDue = onDue;
  }

  /** `fromMs` is never earlier than that of the item before. */
  add(item: Item, fromMs: number): Due<Item> {
    const due = new Due(item, fromMs + this.#delayMs, this.#tail);
    if (this.#tail) this.#tail.after = due;
    else this.#head = due;
    this.#tail = due;
    if (this.#timer === undefined) this.#arm(due.atMs);
    return due;
  }

  /** Dropping what has been dropped, or has fallen due, does nothing. */
  drop(due: Due<Item>): void {
    if (due.isDropped) return;
    due.isDropped = true;
    if (due.before) due.before.after = due.after;
    else this.#head = due.after;
    if (due.after) due.after.before = due.before;
    else this.#tail = due.before;
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#head = undefined;
    this.#tail = undefined;
  }

  #arm(atMs: number): void {
    const delayMs = Math.max(0, atMs - this.#clock.monotonicMs());
    this.#timer = this.#clock.setTimer(delayMs, () => this.#fire());
  }

  #fire(): void {
    const nowMs = this.#clock.monotonicMs();
    while (this.#head !== undefined && this.#head.atMs <= nowMs) {
      const due = this.#head;
      this.drop(due);
      this.#onDue(due.item);
    }
    this.#timer = undefined;
    if (this.#head !== undefined) this.#arm(this.#head.atMs);
  }
}

/** An item's place in its list. */
export class Due<Item> {
  readonly item: Item;
  readonly atMs: number;
  before: Due<Item> | undefined;
  after: Due<Item> | undefined = undefined;
  isDropped = false;

  constructor(item: Item, atMs: number, before: Due<Item> | undefined) {
    this.item = item;
    this.atMs = atMs;
    this.before = before;
  }
}
