import type { Clock, Timer } from '../clock/index.ts';
import { type ListedLock, type LockSource, StoreError } from '../stores/index.ts';
import { pageLock, type WaitingSince } from './page-lock.ts';
import type { PageHolder, PageLock, PageWaiter } from './protocol.ts';

const MAX_LOCKS = 10_000;
/** The text of all locks. */
const MAX_CHARS = 16 * 1024 * 1024;
const MIN_PAUSE_MS = 1000;
/** The time between two lists in relation to that of a list: reading takes at most a twentieth of the store's time. */
const PAUSE_FACTOR = 20;
/** One slow list, of a store that is busy, must not stop the page. */
const MAX_PAUSE_MS = 5_000;
/** The end of a lease is computed from the time left, which is some milliseconds off. */
const SAME_TIME_MS = 200;
/** With more changes than this share of the locks, all are sent. */
const MAX_CHANGED_SHARE = 0.5;
const MIN_ALL = 200;

/** What a list has changed. Locks are JSON texts. */
export type LockUpdate =
  | { readonly type: 'locks'; readonly locks: readonly string[]; readonly isCut: boolean }
  | {
      readonly type: 'changes';
      readonly locks: readonly string[];
      readonly free: readonly string[];
      readonly isCut: boolean;
    }
  | { readonly type: 'failed'; readonly message: string };

interface LockFeedOptions {
  readonly source: LockSource;
  readonly clock: Clock;
  readonly waitingSince: WaitingSince;
  readonly onUpdate: (update: LockUpdate) => void;
}

interface KnownLock {
  readonly lock: PageLock;
  readonly text: string;
  /** The whole name: an id does not have a long one. */
  readonly listed: ListedLock;
}

/** Lists the locks of a store again and again while it is on, and reports what has changed. */
export class LockFeed {
  readonly #options: LockFeedOptions;
  #known = new Map<string, KnownLock>();
  #isCut = false;
  /** Whether all locks must be sent: at the start, and after a failure. */
  #sendsAll = true;
  #failure: string | undefined;
  /** Whether a page that connects must wait for the next list. */
  #isStale = true;
  /** The message with all locks, which pages that connect before the next change share. */
  #allLocks: LockUpdate | undefined;
  #timer: Timer | undefined;
  #nextMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;
  #isOn = false;

  constructor(options: LockFeedOptions) {
    this.#options = options;
  }

  /** The state for a page that connects: nothing before the first list has come. */
  get current(): readonly LockUpdate[] {
    const failed = this.#failure === undefined ? [] : [failedUpdate(this.#failure)];
    return this.#isStale ? failed : [this.#all(), ...failed];
  }

  start(): void {
    if (this.#isOn) return;
    this.#isOn = true;
    if (this.#reading === undefined) this.#schedule();
  }

  /** The locks are out of date when it starts again. They stay for metrics, until the next list is due. */
  stop(): void {
    this.#isOn = false;
    this.#timer?.cancel();
    this.#isStale = true;
    this.#allLocks = undefined;
    this.#sendsAll = true;
    this.#failure = undefined;
  }

  /** The locks, for metrics: those of the last list unless it is time for a new one. Rejects if that fails. */
  async read(): Promise<readonly PageLock[]> {
    const isDue = this.#options.clock.monotonicMs() >= this.#nextMs;
    if (isDue || this.#reading !== undefined) await this.#read();
    if (this.#failure !== undefined) throw new StoreError(this.#failure);
    return [...this.#known.values()].map(({ lock }) => lock);
  }

  /** A lock of the last list. */
  find(id: string): ListedLock | undefined {
    return this.#known.get(id)?.listed;
  }

  /** One list at a time: a call while one is read waits for it. */
  #read(): Promise<void> {
    this.#timer?.cancel();
    this.#reading ??= this.#list();
    return this.#reading;
  }

  /** Never rejects. */
  async #list(): Promise<void> {
    const { clock, source, onUpdate } = this.#options;
    const beganMs = clock.monotonicMs();
    let update: LockUpdate | undefined;
    try {
      const { locks, isCut } = await source.list(undefined, MAX_LOCKS);
      update = this.#apply(locks, isCut);
    } catch (error) {
      update = this.#fail(error);
    }
    this.#reading = undefined;
    const endMs = clock.monotonicMs();
    const pauseMs = Math.max(MIN_PAUSE_MS, (endMs - beganMs) * PAUSE_FACTOR);
    this.#nextMs = endMs + Math.min(pauseMs, MAX_PAUSE_MS);
    if (!this.#isOn) return;
    this.#schedule();
    if (update !== undefined) onUpdate(update);
  }

  /** Also a page that connects again and again gets no list before its time. */
  #schedule(): void {
    const { clock } = this.#options;
    const delayMs = Math.max(0, this.#nextMs - clock.monotonicMs());
    this.#timer = clock.setTimer(delayMs, () => void this.#read());
  }

  #fail(error: unknown): LockUpdate | undefined {
    const message = error instanceof Error ? error.message : String(error);
    const isNew = message !== this.#failure;
    this.#failure = message;
    this.#sendsAll = true;
    return isNew ? failedUpdate(message) : undefined;
  }

  #apply(listed: readonly ListedLock[], isCut: boolean): LockUpdate | undefined {
    const { known, changed, isTooLarge } = this.#merge(listed);
    const free = [...this.#known.keys()].filter((id) => !known.has(id));
    const wasCut = this.#isCut;
    this.#known = known;
    this.#isCut = isCut || isTooLarge;
    this.#isStale = false;
    this.#failure = undefined;
    const changes = changed.length + free.length;
    if (this.#sendsAll || (changes > MIN_ALL && changes > known.size * MAX_CHANGED_SHARE)) {
      this.#sendsAll = false;
      this.#allLocks = undefined;
      return this.#all();
    }
    if (changes === 0 && wasCut === this.#isCut) return undefined;
    this.#allLocks = undefined;
    return { type: 'changes', locks: changed, free, isCut: this.#isCut };
  }

  #merge(listed: readonly ListedLock[]): {
    readonly known: Map<string, KnownLock>;
    readonly changed: string[];
    readonly isTooLarge: boolean;
  } {
    const { clock, waitingSince } = this.#options;
    const nowMs = clock.wallMs();
    const known = new Map<string, KnownLock>();
    const changed: string[] = [];
    let chars = 0;
    for (const each of listed) {
      const lock = pageLock(each, nowMs, waitingSince);
      const before = this.#known.get(lock.id);
      const isSame = before !== undefined && isSameLock(before.lock, lock);
      const text = isSame ? before.text : JSON.stringify(lock);
      chars += text.length;
      if (chars > MAX_CHARS) return { known, changed, isTooLarge: true };
      known.set(lock.id, isSame ? before : { lock, text, listed: each });
      if (!isSame) changed.push(text);
    }
    return { known, changed, isTooLarge: false };
  }

  #all(): LockUpdate {
    this.#allLocks ??= {
      type: 'locks',
      locks: [...this.#known.values()].map(({ text }) => text),
      isCut: this.#isCut,
    };
    return this.#allLocks;
  }
}

function failedUpdate(message: string): LockUpdate {
  return { type: 'failed', message };
}

function isSameLock(one: PageLock, other: PageLock): boolean {
  return (
    one.holderCount === other.holderCount &&
    one.waiterCount === other.waiterCount &&
    isSameList(one.holders, other.holders, isSameHolder) &&
    isSameList(one.waiters, other.waiters, isSameWaiter)
  );
}

function isSameList<Item>(
  one: readonly Item[],
  other: readonly Item[],
  isSame: (one: Item, other: Item) => boolean,
): boolean {
  return one.length === other.length && one.every((item, index) => isSame(item, other[index]!));
}

/** The owner is the id of an acquisition: its client and its permits do not change. */
function isSameHolder(one: PageHolder, other: PageHolder): boolean {
  return (
    one.owner === other.owner &&
    one.fence === other.fence &&
    (one.endsMs === null) === (other.endsMs === null) &&
    Math.abs((one.endsMs ?? 0) - (other.endsMs ?? 0)) < SAME_TIME_MS
  );
}

function isSameWaiter(one: PageWaiter, other: PageWaiter): boolean {
  return (
    one.owner === other.owner &&
    one.sinceMs === other.sinceMs &&
    isSameList(one.holds, other.holds, Object.is)
  );
}
