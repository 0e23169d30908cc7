import type {
  ContentionFacts,
  PageEvent,
  PageLock,
  PageMessage,
  ServerFigures,
  SourceFacts,
} from '../../src/page/protocol.ts';

/** `refused`: the server does not accept the cookie of this page. */
export type Connection = 'connecting' | 'open' | 'reconnecting' | 'refused';

const MAX_EVENTS = 2000;
const MAX_FIGURES = 120;

/** All that the page knows. Messages change it; views read it. */
export class PageModel {
  connection: Connection = 'connecting';
  source: SourceFacts | null = null;
  readonly locks = new Map<string, PageLock>();
  /** Whether a `locks` message has come. */
  hasLocks = false;
  isCut = false;
  /** The message of a store that does not answer. */
  failed: string | null = null;
  /** Oldest first. A new array with each message, so that views can compare it. */
  events: readonly PageEvent[] = [];
  missed = 0;
  contention: ContentionFacts | null = null;
  /** Oldest first, the last one is current. */
  figures: readonly ServerFigures[] = [];
  /** Counts changes of locks. */
  version = 0;
  #frozenMs: number | null = null;
  /** The clock of the page's server minus that of this machine. */
  #offsetMs = 0;
  #clearsEvents = false;
  readonly #wallMs: () => number;

  constructor(wallMs: () => number = Date.now) {
    this.#wallMs = wallMs;
  }

  /** Whether what is shown may be old. */
  get isStale(): boolean {
    return this.hasLocks && (this.connection !== 'open' || this.failed !== null);
  }

  /** The wall time of the page's server, as far as it is known. It stands still while the data is old. */
  nowMs(): number {
    return this.#frozenMs ?? this.#wallMs() + this.#offsetMs;
  }

  setConnection(connection: Connection): void {
    this.connection = connection;
    this.#freeze();
  }

  /** A new stream has no Last-Event-ID: its first history has the events that are here already. */
  restartHistory(): void {
    this.#clearsEvents = true;
  }

  apply(message: PageMessage): void {
    switch (message.type) {
      case 'source':
        this.#startHistory(message.source.historyEpoch);
        this.source = message.source;
        this.#offsetMs = message.source.nowMs - this.#wallMs();
        break;
      case 'locks':
        this.locks.clear();
        this.#addLocks(message.locks);
        this.hasLocks = true;
        this.isCut = message.isCut;
        this.failed = null;
        break;
      case 'changes':
        for (const id of message.free) this.locks.delete(id);
        this.#addLocks(message.locks);
        this.isCut = message.isCut;
        break;
      case 'history':
        this.#addEvents(message.events, message.missed);
        break;
      case 'contention':
        this.contention = message.contention;
        break;
      case 'server':
        this.figures = [...this.figures, message.server].slice(-MAX_FIGURES);
        break;
      case 'failed':
        this.failed = message.message;
        break;
    }
    this.#freeze();
  }

  /** Ids of events are unique within an epoch: those of another are dropped. */
  #startHistory(epoch: string): void {
    if (this.source === null || this.source.historyEpoch === epoch) return;
    this.events = [];
    this.missed = 0;
  }

  #addLocks(locks: readonly PageLock[]): void {
    for (const lock of locks) this.locks.set(lock.id, lock);
    this.version++;
  }

  #addEvents(events: readonly PageEvent[], missed: number): void {
    if (this.#clearsEvents) {
      this.events = [];
      this.missed = 0;
      this.#clearsEvents = false;
    }
    this.events = [...this.events, ...events].slice(-MAX_EVENTS);
    this.missed += missed;
  }

  #freeze(): void {
    if (!this.isStale) this.#frozenMs = null;
    else this.#frozenMs ??= this.#wallMs() + this.#offsetMs;
  }
}
