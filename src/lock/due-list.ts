import type { Clock, Timer } from '../clock/index.ts';

/**
 * Things that fall due after one and the same delay, so nearly in the order in which they were added. A
 * linked list whose head is next, and one timer that runs while the list is not empty: adding and
 * dropping is O(1) and touches no timer, however many come and go before they fall due.
 */
export class DueList<Item> {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #onDue: (item: Item) => void;
  /** Whether the process stays alive while the list is not empty. */
  readonly #keepsAlive: boolean;
  #head: Due<Item> | undefined;
  #tail: Due<Item> | undefined;
  #timer: Timer | undefined;
  #armedMs = 0;

  constructor(clock: Clock, delayMs: number, onDue: (item: Item) => void, keepsAlive = false) {
    this.#clock = clock;
    this.#delayMs = delayMs;
    this.#onDue = onDue;
    this.#keepsAlive = keepsAlive;
  }

  add(item: Item, fromMs: number): Due<Item> {
    const due = new Due(item, fromMs + this.#delayMs);
    if (this.#keepsAlive && this.#head === undefined) this.#timer?.keepAlive(true);
    let before = this.#tail;
    while (before !== undefined && before.atMs > due.atMs) before = before.before;
    this.#insert(due, before);
    if (this.#timer === undefined || due.atMs < this.#armedMs) this.#arm(due.atMs);
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
    if (this.#keepsAlive && this.#head === undefined) this.#timer?.keepAlive(false);
  }

  get isEmpty(): boolean {
    return this.#head === undefined;
  }

  close(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#head = undefined;
    this.#tail = undefined;
  }

  #insert(due: Due<Item>, before: Due<Item> | undefined): void {
    due.before = before;
    due.after = before === undefined ? this.#head : before.after;
    if (before === undefined) this.#head = due;
    else before.after = due;
    if (due.after === undefined) this.#tail = due;
    else due.after.before = due;
  }

  #arm(atMs: number): void {
    this.#timer?.cancel();
    this.#armedMs = atMs;
    const delayMs = Math.max(0, atMs - this.#clock.monotonicMs());
    this.#timer = this.#clock.setTimer(delayMs, () => this.#fire());
    if (this.#keepsAlive) this.#timer.keepAlive(true);
  }

  #fire(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    while (this.#head !== undefined && this.#head.atMs <= nowMs) {
      const due = this.#head;
      this.drop(due);
      this.#onDue(due.item);
    }
    if (this.#head !== undefined && this.#timer === undefined) this.#arm(this.#head.atMs);
  }
}

/** An item's place in its list. */
export class Due<Item> {
  readonly item: Item;
  readonly atMs: number;
  before: Due<Item> | undefined = undefined;
  after: Due<Item> | undefined = undefined;
  isDropped = false;

  constructor(item: Item, atMs: number) {
    this.item = item;
    this.atMs = atMs;
  }
}

/** Below this many, lists that are empty are kept for the next item. */
const FEW_LISTS = 64;

/** Things that fall due after delays of their own: a list for each delay, since few are in use. */
export class DueLists<Item> {
  readonly #makeList: (delayMs: number) => DueList<Item>;
  readonly #lists = new Map<number, DueList<Item>>();
  #tidyAtCount = FEW_LISTS;

  constructor(clock: Clock, onDue: (item: Item) => void, keepsAlive = false) {
    this.#makeList = (delayMs) => new DueList(clock, delayMs, onDue, keepsAlive);
  }

  add(item: Item, delayMs: number, fromMs: number): Due<Item> {
    let list = this.#lists.get(delayMs);
    if (list === undefined) {
      if (this.#lists.size >= this.#tidyAtCount) this.#tidy();
      list = this.#makeList(delayMs);
      this.#lists.set(delayMs, list);
    }
    return list.add(item, fromMs);
  }

  drop(due: Due<Item>, delayMs: number): void {
    this.#lists.get(delayMs)?.drop(due);
  }

  close(): void {
    for (const list of this.#lists.values()) list.close();
    this.#lists.clear();
  }

  #tidy(): void {
    for (const [delayMs, list] of this.#lists) {
      if (!list.isEmpty) continue;
      list.close();
      this.#lists.delete(delayMs);
    }
    this.#tidyAtCount = Math.max(FEW_LISTS, 2 * this.#lists.size);
  }
}
