import type { Clock, Timer } from '../clock/index.ts';
import { type Linked, LinkedList } from './linked-list.ts';

/**
 * Things that fall due after one and the same delay, so nearly in the order in which they were added: a
 * list whose first is next, and one timer that runs while the list is not empty. Adding, as the last or
 * the first, and dropping is O(1) and touches no timer, however many come and go before they fall due.
 */
export class DueList<Item extends Due<Item>> {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #onDue: (item: Item) => void;
  /** Whether the process stays alive while the list is not empty. */
  readonly #keepsAlive: boolean;
  readonly #list = new LinkedList<Item>();
  #timer: Timer | undefined;
  #armedMs = 0;

  constructor(clock: Clock, delayMs: number, onDue: (item: Item) => void, keepsAlive = false) {
    this.#clock = clock;
    this.#delayMs = delayMs;
    this.#onDue = onDue;
    this.#keepsAlive = keepsAlive;
  }

  /** From now on it stands here, and in no other list. */
  add(item: Item, fromMs: number): void {
    item.drop();
    item.list = this;
    item.atMs = fromMs + this.#delayMs;
    if (this.#keepsAlive && this.isEmpty) this.#timer?.keepAlive(true);
    const isFirst = item.atMs < (this.#list.first?.atMs ?? 0);
    let before = isFirst ? undefined : this.#list.last;
    while (before !== undefined && before.atMs > item.atMs) before = before.before;
    this.#list.insert(item, before);
    if (this.#timer === undefined || item.atMs < this.#armedMs) this.#arm(item.atMs);
  }

  /** Called by what is in this list. */
  remove(item: Item): void {
    item.list = undefined;
    this.#list.remove(item);
    if (this.#keepsAlive && this.isEmpty) this.#timer?.keepAlive(false);
  }

  get isEmpty(): boolean {
    return this.#list.first === undefined;
  }

  /** What had not fallen due yet. */
  close(): Item[] {
    this.#timer?.cancel();
    this.#timer = undefined;
    const left = this.toArray();
    for (const item of left) this.remove(item);
    return left;
  }

  toArray(): Item[] {
    return this.#list.toArray();
  }

  #arm(atMs: number): void {
    if (atMs === Number.POSITIVE_INFINITY) return;
    this.#timer?.cancel();
    this.#armedMs = atMs;
    const delayMs = Math.max(0, atMs - this.#clock.monotonicMs());
    this.#timer = this.#clock.setTimer(delayMs, () => this.#fire());
    if (this.#keepsAlive) this.#timer.keepAlive(true);
  }

  #fire(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (let item = this.#list.first; item && item.atMs <= nowMs; item = this.#list.first) {
      this.remove(item);
      this.#onDue(item);
    }
    // What was added meanwhile may have a timer, though others come before it.
    const next = this.#list.first;
    const isArmed = this.#timer !== undefined && this.#armedMs <= (next?.atMs ?? 0);
    if (next !== undefined && !isArmed) this.#arm(next.atMs);
  }
}

/** What can fall due: it stands in one list at a time, again and again. */
export abstract class Due<Item extends Due<Item>> implements Linked<Item> {
  atMs = 0;
  list: DueList<Item> | undefined = undefined;
  before: Item | undefined = undefined;
  after: Item | undefined = undefined;

  /** If it stands nowhere, or has fallen due, this does nothing. */
  drop(this: Item): void {
    this.list?.remove(this);
  }
}

/** Below this many, lists that are empty are kept for the next item. */
const FEW_LISTS = 64;

/** Things that fall due after delays of their own, or never: a list for each delay, since few are in use. */
export class DueLists<Item extends Due<Item>> {
  readonly #makeList: (delayMs: number) => DueList<Item>;
  readonly #lists = new Map<number, DueList<Item>>();
  #tidyAtCount = FEW_LISTS;

  constructor(clock: Clock, onDue: (item: Item) => void, keepsAlive = false) {
    this.#makeList = (delayMs) => new DueList(clock, delayMs, onDue, keepsAlive);
  }

  add(item: Item, delayMs: number, fromMs: number): void {
    let list = this.#lists.get(delayMs);
    if (list === undefined) {
      if (this.#lists.size >= this.#tidyAtCount) this.#tidy();
      list = this.#makeList(delayMs);
      this.#lists.set(delayMs, list);
    }
    list.add(item, fromMs);
  }

  toArray(): Item[] {
    return [...this.#lists.values()].flatMap((list) => list.toArray());
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
