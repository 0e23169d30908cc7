import type { Clock, Timer } from '../clock/index.ts';
import { Contention } from './contention.ts';
import { pageEvent } from './page-event.ts';
import type { PageHistory } from './page-source.ts';
import type { ContentionFacts, PageEvent } from './protocol.ts';

const READ_MS = 500;
/** After a failure, so that a store that is down is not asked twice a second. */
const RETRY_MS = 2000;
const MAX_EVENTS = 10_000;
/** The text of the events that are kept. */
const MAX_CHARS = 8 * 1024 * 1024;
/** Requests in queues whose beginning is remembered. */
const MAX_WAITING = 100_000;

/** Events, oldest first, as JSON texts. */
export interface EventBatch {
  readonly events: readonly string[];
  readonly missed: number;
  /** What a page sends as Last-Event-ID to get the events after these. */
  readonly id: string;
}

interface HistoryFeedOptions {
  readonly history: PageHistory;
  readonly clock: Clock;
  /** A random text: ids of another feed are not those of this one. */
  readonly epoch: string;
  readonly onEvents: (batch: EventBatch) => void;
  /** Receives every event once, for metrics. */
  readonly count: (events: readonly PageEvent[], missed: number) => void;
  /** The store has begun its history again, such as after a restart. */
  readonly onReset: () => void;
}

interface KeptEvent {
  readonly id: number;
  readonly text: string;
}

/** Reads the events of a store while it is on, and keeps the newest. */
export class HistoryFeed {
  readonly #options: HistoryFeedOptions;
  readonly #contention = new Contention();
  readonly #waitingSince = new Map<string, number>();
  #kept: KeptEvent[] = [];
  #keptChars = 0;
  /** All kept events, which pages that connect before the next event share. */
  #allKept: EventBatch | undefined;
  #resets = 0;
  #timer: Timer | undefined;
  #isReading = false;
  #isOn = false;

  constructor(options: HistoryFeedOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#isOn) return;
    this.#isOn = true;
    if (!this.#isReading) this.#schedule(0);
  }

  /** The events stay: the next start reads those that have come meanwhile. */
  stop(): void {
    this.#isOn = false;
    this.#timer?.cancel();
  }

  /** When a request entered the queue of a lock. */
  waitingSince(lockId: string, owner: string): number | undefined {
    return this.#waitingSince.get(`${lockId} ${owner}`);
  }

  contention(nowMs: number): ContentionFacts {
    return this.#contention.facts(nowMs);
  }

  /** The kept events after a Last-Event-ID; all without one, and with one of another feed. */
  after(lastEventId: string | undefined): EventBatch {
    const [epoch, number = ''] = lastEventId?.split(':') ?? [];
    const isKnown = epoch === this.epoch && /^\d{1,15}$/.test(number);
    if (!isKnown) {
      this.#allKept ??= this.#batch(this.#kept, 0, 0);
      return this.#allKept;
    }
    const afterId = Number(number);
    const kept = this.#kept.filter(({ id }) => id > afterId);
    const missed = Math.max(0, (this.#kept[0]?.id ?? 0) - afterId - 1);
    return this.#batch(kept, missed, afterId);
  }

  #batch(kept: readonly KeptEvent[], missed: number, afterId: number): EventBatch {
    const id = this.#idOf(this.#kept.at(-1)?.id ?? afterId);
    return { events: kept.map(({ text }) => text), missed, id };
  }

  /** Ids of events are unique within an epoch. */
  get epoch(): string {
    return `${this.#options.epoch}-${this.#resets}`;
  }

  #idOf(id: number): string {
    return `${this.epoch}:${id}`;
  }

  /** Failures are those that the list of locks reports too: the page shows them once. */
  async #read(): Promise<void> {
    this.#isReading = true;
    let pauseMs = READ_MS;
    try {
      const { events, missed, isReset } = await this.#options.history.next();
      if (isReset) this.#reset();
      const shown = events.map(pageEvent);
      this.#options.count(shown, missed);
      const batch = this.#keep(shown);
      if (batch.length > 0 || missed > 0) this.#report(batch, missed);
    } catch {
      pauseMs = RETRY_MS;
    }
    this.#isReading = false;
    if (this.#isOn) this.#schedule(pauseMs);
  }

  #schedule(pauseMs: number): void {
    this.#timer = this.#options.clock.setTimer(pauseMs, () => void this.#read());
  }

  #report(events: readonly KeptEvent[], missed: number): void {
    this.#options.onEvents(this.#batch(events, missed, 0));
  }

  #reset(): void {
    this.#resets++;
    this.#kept = [];
    this.#keptChars = 0;
    this.#allKept = undefined;
    this.#waitingSince.clear();
    this.#contention.clear();
    this.#options.onReset();
  }

  #keep(events: readonly PageEvent[]): KeptEvent[] {
    const added = events.map((event) => {
      this.#contention.add(event);
      this.#track(event);
      return { id: event.id, text: JSON.stringify(event) };
    });
    this.#kept.push(...added);
    if (added.length > 0) this.#allKept = undefined;
    for (const { text } of added) this.#keptChars += text.length;
    this.#dropOldest();
    return added;
  }

  #dropOldest(): void {
    let count = 0;
    while (this.#kept.length - count > MAX_EVENTS || this.#keptChars > MAX_CHARS) {
      this.#keptChars -= this.#kept[count++]!.text.length;
    }
    if (count > 0) this.#kept = this.#kept.slice(count);
  }

  #track({ type, lockId, owner, atMs }: PageEvent): void {
    const key = `${lockId} ${owner}`;
    const waiting = this.#waitingSince;
    waiting.delete(key);
    if (type !== 'waiting') return;
    if (waiting.size >= MAX_WAITING) waiting.delete(waiting.keys().next().value!);
    waiting.set(key, atMs);
  }
}
