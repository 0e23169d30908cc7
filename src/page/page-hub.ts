import { hostname, userInfo } from 'node:os';
import type { Clock, Random, Timer } from '../clock/index.ts';
import type { ForcedRelease, FoundLock } from '../stores/index.ts';
import { type EventBatch, HistoryFeed } from './history-feed.ts';
import { LockFeed, type LockUpdate } from './lock-feed.ts';
import { pageEvent } from './page-event.ts';
import { lockId, lockOfId, pageForced, pageLock, shownText } from './page-lock.ts';
import type { PageStream } from './page-request.ts';
import type { PageMetrics, PageSource } from './page-source.ts';
import type { PageForcedRelease, PageMessage, PageRequests, SourceFacts } from './protocol.ts';

const MAX_STREAMS = 100;
/** Bytes that wait for pages that do not read: for one page, and for all. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;
const MAX_ALL_UNREAD_BYTES = 4 * MAX_UNREAD_BYTES;
const HEARTBEAT_MS = 15_000;
const FIGURES_MS = 2000;
const CONTENTION_MS = 5000;
/** Events in one message. */
const MAX_BATCH = 1000;
const MAX_LOCK_EVENTS = 200;
/** Requests for one lock, and forced releases, that are sent to the store at a time. */
const MAX_REQUESTS = 4;
/** Locks whose forced releases are remembered, and how many of each. */
const MAX_FORCED = 1000;
const MAX_NOTES = 10;

interface PageHubOptions {
  readonly source: PageSource;
  readonly version: string;
  readonly canRelease: boolean;
  readonly clock: Clock;
  readonly random: Random;
}

/** A request for a forced release. */
export interface ReleaseOrder {
  readonly id: string;
  readonly reason: string;
  /** The holders that the user has seen. Undefined: any. */
  readonly owners: readonly string[] | undefined;
}

type Released = PageRequests['POST api/release {"id","reason","owners"}'];

/** A request came while MAX_REQUESTS others were pending. */
export class BusyError extends Error {
  override readonly name = 'BusyError';
}

/** What all open pages of one store share: one reader of its locks, one of its history. */
export class PageHub {
  readonly facts: Omit<SourceFacts, 'nowMs' | 'historyEpoch'>;
  readonly #options: PageHubOptions;
  readonly #streams = new Set<PageStream>();
  readonly #locks: LockFeed;
  readonly #history: HistoryFeed | undefined;
  readonly #timers = new Map<string, Timer>();
  /** The last message of each of these types, for pages that connect. */
  readonly #last = new Map<'contention' | 'server', Buffer>();
  /** Forced releases of a store that keeps no reasons, by the id of the lock. */
  readonly #forced = new Map<string, PageForcedRelease[]>();
  /** While metrics are read: until events are no longer read for them. */
  #scraping: Timer | undefined;
  #requests = 0;
  /** Requests without a token need both: those that come at the same time share one read. */
  #readingMetrics: Promise<string> | undefined;
  #checkingReady: Promise<boolean> | undefined;
  #isClosed = false;

  constructor(options: PageHubOptions) {
    const { source, version, canRelease, clock, random } = options;
    this.#options = options;
    this.#history = source.history && this.#newHistory(source.history, random);
    this.#locks = new LockFeed({
      source: source.locks,
      clock,
      waitingSince: (id, owner) => this.#history?.waitingSince(id, owner),
      onUpdate: (update) => this.#broadcast(lockEvent(update)),
    });
    this.facts = {
      label: source.locks.label,
      version,
      canRelease,
      history: source.history?.kind ?? 'none',
      hasServer: source.figures !== undefined,
      hasWaitGraph: source.locks.hasWaitGraph,
    };
  }

  get isFull(): boolean {
    return this.#streams.size >= MAX_STREAMS;
  }

  /** Sends the present state, then what changes. Returns a function that ends this. */
  connect(stream: PageStream, lastEventId?: string): () => void {
    if (this.#isClosed) {
      stream.end();
      return () => {};
    }
    this.#endStalled();
    for (const chunk of this.#greeting(lastEventId)) stream.send(chunk);
    this.#streams.add(stream);
    if (this.#streams.size === 1) this.#start();
    return () => this.#disconnect(stream);
  }

  /** Rejects if the store does not answer. */
  async lock(id: string): Promise<PageRequests['GET api/lock?id=…']> {
    const target = this.#find(id);
    if (target === undefined) return { lock: null, events: [], forced: [] };
    return this.#request(async () => {
      const found = await this.#read(target);
      const events = (await this.#options.source.history?.ofName(target.nameBytes, 1000)) ?? [];
      const nowMs = this.#options.clock.wallMs();
      const since = (lock: string, owner: string): number | undefined =>
        this.#history?.waitingSince(lock, owner);
      const isUsed = found !== undefined && found.lock.holderCount + found.lock.waiterCount > 0;
      return {
        lock: isUsed ? pageLock(found.lock, nowMs, since) : null,
        events: events
          .filter(({ kind }) => kind === target.kind)
          .slice(-MAX_LOCK_EVENTS)
          .map(pageEvent),
        forced: [
          ...(this.#forced.get(id) ?? []),
          ...(found === undefined ? [] : pageForced(found.forced)),
        ],
      };
    });
  }

  /**
   * Ends all leases of a lock. Returns the number of its holders; undefined, without a change, if none of the given owners
   * holds it and others do. Rejects if the store does not answer.
   */
  async release({ id, reason, owners }: ReleaseOrder): Promise<Released | undefined> {
    const target = this.#find(id);
    if (target === undefined) return { holders: 0 };
    return this.#request(async () => {
      const found = await this.#read(target);
      if (found === undefined || found.lock.holderCount === 0) return { holders: 0 };
      const isSeen = ({ owner }: { readonly owner: string }): boolean =>
        owners === undefined || owners.includes(shownText(owner));
      const seen = found.lock.holders.filter(isSeen).map(({ owner }) => owner);
      if (seen.length === 0) return undefined;
      const note = { host: hostname(), pid: process.pid, user: `${userName()} (page)`, reason };
      const { locks } = this.#options.source;
      // The lock may have changed hands since the read.
      const done = await locks.force(found.lock, note, owners && seen);
      if (done === undefined) return undefined;
      const { holderCount: holders } = done.before;
      if (!locks.keepsReasons) this.#remember(id, { ...note, atMs: 0, holders });
      return { holders };
    });
  }

  /** The text of /metrics; undefined: there is none. Afterwards events are read for a while, until the next request. */
  async metricsText(): Promise<string | undefined> {
    const { source, clock } = this.#options;
    const { metrics } = source;
    if (metrics === undefined || this.#isClosed) return undefined;
    this.#scraping?.cancel();
    this.#scraping = clock.setTimer(SCRAPED_MS, () => {
      this.#scraping = undefined;
      if (this.#streams.size === 0) this.#history?.stop();
    });
    this.#history?.start();
    this.#readingMetrics ??= this.#readMetrics(metrics);
    return this.#readingMetrics;
  }

  /** Whether the store answers. */
  isReady(): Promise<boolean> {
    this.#checkingReady ??= this.#checkReady();
    return this.#checkingReady;
  }

  /** Ends all streams, and closes the source. Safe to call twice. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const stream of [...this.#streams]) {
      this.#disconnect(stream);
      stream.end();
    }
    this.#scraping?.cancel();
    this.#history?.stop();
    this.#options.source.close();
  }

  async #readMetrics(metrics: PageMetrics): Promise<string> {
    try {
      return await metrics.text(() => this.#locks.read());
    } finally {
      this.#readingMetrics = undefined;
    }
  }

  async #checkReady(): Promise<boolean> {
    try {
      await this.#options.source.locks.read('holdfast-page-ready');
      return true;
    } catch {
      return false;
    } finally {
      this.#checkingReady = undefined;
    }
  }

  #remember(id: string, note: ForcedRelease): void {
    const atMs = this.#options.clock.wallMs();
    const notes = [...pageForced([{ ...note, atMs }]), ...(this.#forced.get(id) ?? [])];
    this.#forced.delete(id);
    if (this.#forced.size >= MAX_FORCED) this.#forced.delete(this.#forced.keys().next().value!);
    this.#forced.set(id, notes.slice(0, MAX_NOTES));
  }

  #newHistory(history: NonNullable<PageSource['history']>, random: Random): HistoryFeed {
    return new HistoryFeed({
      history,
      clock: this.#options.clock,
      epoch: Buffer.from(random.bytes(6)).toString('hex'),
      onEvents: (batch) => {
        for (const chunk of historyEvents(batch)) this.#broadcast(chunk);
      },
      count: (events, missed) => this.#options.source.metrics?.add(events, missed),
      onReset: () => this.#broadcast(this.#sourceEvent()),
    });
  }

  #sourceEvent(): Buffer {
    const nowMs = this.#options.clock.wallMs();
    const historyEpoch = this.#history?.epoch ?? '';
    return eventOf({ type: 'source', source: { ...this.facts, historyEpoch, nowMs } });
  }

  *#greeting(lastEventId: string | undefined): Generator<Buffer> {
    yield Buffer.from('retry: 2000\n\n');
    yield this.#sourceEvent();
    for (const update of this.#locks.current) {
      yield* shared(update, (all) => [lockEvent(all)]);
    }
    if (this.#history !== undefined) {
      yield* shared(this.#history.after(lastEventId), (batch) => [...historyEvents(batch)]);
    }
    yield* this.#last.values();
  }

  #disconnect(stream: PageStream): void {
    if (!this.#streams.delete(stream) || this.#streams.size > 0) return;
    this.#locks.stop();
    if (this.#scraping === undefined) this.#history?.stop();
    for (const timer of this.#timers.values()) timer.cancel();
    this.#timers.clear();
    this.#last.clear();
  }

  #start(): void {
    this.#history?.start();
    this.#locks.start();
    this.#repeat('heartbeat', HEARTBEAT_MS, async () => this.#broadcast(HEARTBEAT));
    if (this.#history !== undefined) {
      this.#repeat('contention', CONTENTION_MS, () => this.#sendContention(), READ_FIRST_MS);
    }
    if (this.facts.hasServer) this.#repeat('server', FIGURES_MS, () => this.#sendFigures(), 0);
  }

  async #sendContention(): Promise<void> {
    const contention = this.#history!.contention(this.#options.clock.wallMs());
    this.#sendLast({ type: 'contention', contention });
  }

  /** The list of locks reports failures of the store. */
  async #sendFigures(): Promise<void> {
    const server = await this.#options.source.figures!().catch(() => undefined);
    if (server !== undefined && this.#streams.size > 0) this.#sendLast({ type: 'server', server });
  }

  #sendLast(message: PageMessage & { readonly type: 'contention' | 'server' }): void {
    const chunk = eventOf(message);
    this.#last.set(message.type, chunk);
    this.#broadcast(chunk);
  }

  /** The next turn begins when the work of the last has ended. */
  #repeat(name: string, everyMs: number, work: () => Promise<void>, firstMs = everyMs): void {
    const timer = this.#options.clock.setTimer(firstMs, () => {
      void work().then(() => {
        if (this.#timers.get(name) === timer) this.#repeat(name, everyMs, work);
      });
    });
    this.#timers.set(name, timer);
  }

  #broadcast(chunk: Buffer): void {
    this.#endStalled();
    for (const stream of this.#streams) stream.send(chunk);
  }

  /**
   * Ends the pages for which the most bytes wait, until the others are within both limits. They connect again. A message
   * of any size is sent to a page that has read the earlier ones.
   */
  #endStalled(): void {
    for (;;) {
      let all = 0;
      let largest: PageStream | undefined;
      for (const stream of this.#streams) {
        all += stream.unreadBytes;
        if (stream.unreadBytes > (largest?.unreadBytes ?? 0)) largest = stream;
      }
      if (largest === undefined) return;
      if (all <= MAX_ALL_UNREAD_BYTES && largest.unreadBytes <= MAX_UNREAD_BYTES) return;
      this.#disconnect(largest);
      largest.destroy();
    }
  }

  #find(id: string): ReturnType<typeof lockOfId> {
    return lockOfId(id) ?? this.#locks.find(id);
  }

  async #read(target: NonNullable<ReturnType<typeof lockOfId>>): Promise<FoundLock | undefined> {
    const { kind, nameBytes } = target;
    const found = await this.#options.source.locks.read(nameBytes);
    return found.find(({ lock }) => lockId(lock.kind, lock.nameBytes) === lockId(kind, nameBytes));
  }

  async #request<Result>(send: () => Promise<Result>): Promise<Result> {
    if (this.#requests >= MAX_REQUESTS) throw new BusyError('too many requests are pending');
    this.#requests++;
    try {
      return await send();
    } finally {
      this.#requests--;
    }
  }
}

/** Longer than the usual interval of a scraper. */
const SCRAPED_MS = 120_000;
const HEARTBEAT = Buffer.from(': still here\n\n');
/** The first events have come by then. */
const READ_FIRST_MS = 700;

/** In a container the user may have a number and no name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid ${process.getuid?.() ?? '?'}`;
  }
}

function eventOf(message: PageMessage, id?: string): Buffer {
  return textEvent(message.type, JSON.stringify(message), id);
}

/** JSON has no line feed outside of its strings, and `\n` inside of them. */
function textEvent(type: PageMessage['type'], data: string, id?: string): Buffer {
  return Buffer.from(`${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${data}\n\n`);
}

const SHARED = new WeakMap<LockUpdate | EventBatch, readonly Buffer[]>();

/** Pages that do not read keep what they were sent: the same buffer for all that connect between two changes. */
function shared<Message extends LockUpdate | EventBatch>(
  message: Message,
  encode: (message: Message) => readonly Buffer[],
): readonly Buffer[] {
  const chunks = SHARED.get(message) ?? encode(message);
  SHARED.set(message, chunks);
  return chunks;
}

/** The texts of locks are JSON already. */
function lockEvent(update: LockUpdate): Buffer {
  if (update.type === 'failed') return eventOf(update);
  const { type, locks, isCut } = update;
  const free = type === 'changes' ? `,"free":${JSON.stringify(update.free)}` : '';
  return textEvent(type, `{"type":"${type}","locks":[${locks.join()}]${free},"isCut":${isCut}}`);
}

function* historyEvents({ events, missed, id }: EventBatch): Generator<Buffer> {
  for (let at = 0; at === 0 || at < events.length; at += MAX_BATCH) {
    const part = events.slice(at, at + MAX_BATCH);
    const isLast = at + MAX_BATCH >= events.length;
    const data = `{"type":"history","events":[${part.join()}],"missed":${at === 0 ? missed : 0}}`;
    yield textEvent('history', data, isLast ? id : undefined);
  }
}
