import type { Clock, Timer } from '../clock/index.ts';
import { type Linked, LinkedList } from './linked-list.ts';

/**
 * Calls back for each item, one fixed delay after the time it is added with. Items are nearly in order when they are
 * added, so the queue is a linked list with one timer for its first item. To add or remove an item is O(1) and does not
 * touch the timer: most items are removed before they are due.
 */
export class TimerQueue<Item extends Scheduled<Item>> {
  readonly #clock: Clock;
  readonly #delayMs: number;
  readonly #onDue: (item: Item) => void;
  /** Whether the process stays alive while the queue is not empty. */
  readonly #keepsAlive: boolean;
  readonly #list = new LinkedList<Item>();
  #timer: Timer | undefined;
  #timerMs = 0;

  constructor(clock: Clock, delayMs: number, onDue: (item: Item) => void, keepsAlive = false) {
    this.#clock = clock;
    this.#delayMs = delayMs;
    this.#onDue = onDue;
    this.#keepsAlive = keepsAlive;
  }

  /** Schedules the item for `delayMs` after `fromMs`. Removes it from the queue it is in. */
  add(item: Item, fromMs: number): void {
    item.unschedule();
    item.timerQueue = this;
    item.dueMs = fromMs + this.#delayMs;
    if (this.#keepsAlive && this.isEmpty) this.#timer?.keepAlive(true);
    const isFirst = item.dueMs < (this.#list.first?.dueMs ?? 0);
    let before = isFirst ? undefined : this.#list.last;
    while (before !== undefined && before.dueMs > item.dueMs) before = before.before;
    this.#list.insert(item, before);
    if (this.#timer === undefined || item.dueMs < this.#timerMs) this.#setTimer(item.dueMs);
  }

  /** The item must be in this queue. */
  remove(item: Item): void {
    item.timerQueue = undefined;
    this.#list.remove(item);
    if (this.#keepsAlive && this.isEmpty) this.#timer?.keepAlive(false);
  }

  get isEmpty(): boolean {
    return this.#list.first === undefined;
  }

  /** Removes all items and returns them. */
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

  #setTimer(dueMs: number): void {
    // A timer that is never due is needed only to keep the process alive.
    if (dueMs === Number.POSITIVE_INFINITY && !this.#keepsAlive) return;
    this.#timer?.cancel();
    this.#timerMs = dueMs;
    const delayMs = Math.max(0, dueMs - this.#clock.monotonicMs());
    this.#timer = this.#clock.setTimer(delayMs, () => this.#fire());
    if (this.#keepsAlive) this.#timer.keepAlive(true);
  }

  #fire(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (let item = this.#list.first; item && item.dueMs <= nowMs; item = this.#list.first) {
      this.remove(item);
      this.#onDue(item);
    }
    // A callback may have added an item and so set the timer, while an earlier item is still in the queue.
    const next = this.#list.first;
    const isSet = this.#timer !== undefined && this.#timerMs <= (next?.dueMs ?? 0);
    if (next !== undefined && !isSet) this.#setTimer(next.dueMs);
  }
}

/** An item of a timer queue. It is in one queue at a time, and can be added again. */
export abstract class Scheduled<Item extends Scheduled<Item>> implements Linked<Item> {
  dueMs = 0;
  timerQueue: TimerQueue<Item> | undefined = undefined;
  before: Item | undefined = undefined;
  after: Item | undefined = undefined;

  /** Removes the item from its queue, if it is in one. */
  unschedule(this: Item): void {
    this.timerQueue?.remove(this);
  }
}

/** Empty queues are removed when there are at least this many queues. */
const MIN_TIDY_COUNT = 64;

/** Calls back for items with different delays: one queue for each delay, since few delays are in use. */
export class TimerQueues<Item extends Scheduled<Item>> {
  readonly #makeQueue: (delayMs: number) => TimerQueue<Item>;
  readonly #queues = new Map<number, TimerQueue<Item>>();
  #tidyAtCount = MIN_TIDY_COUNT;

  constructor(clock: Clock, onDue: (item: Item) => void, keepsAlive = false) {
    this.#makeQueue = (delayMs) => new TimerQueue(clock, delayMs, onDue, keepsAlive);
  }

  /** Schedules the item for `delayMs` after `fromMs`. Infinity: it is never due. */
  add(item: Item, delayMs: number, fromMs: number): void {
    let queue = this.#queues.get(delayMs);
    if (queue === undefined) {
      if (this.#queues.size >= this.#tidyAtCount) this.#tidy();
      queue = this.#makeQueue(delayMs);
      this.#queues.set(delayMs, queue);
    }
    queue.add(item, fromMs);
  }

  toArray(): Item[] {
    return [...this.#queues.values()].flatMap((queue) => queue.toArray());
  }

  close(): void {
    for (const queue of this.#queues.values()) queue.close();
    this.#queues.clear();
  }

  #tidy(): void {
    for (const [delayMs, queue] of this.#queues) {
      if (!queue.isEmpty) continue;
      queue.close();
      this.#queues.delete(delayMs);
    }
    this.#tidyAtCount = Math.max(MIN_TIDY_COUNT, 2 * this.#queues.size);
  }
}
