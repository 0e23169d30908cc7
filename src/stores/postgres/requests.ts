import type { Clock, Random } from '../../clock/index.ts';
import { Scheduled, TimerQueue } from '../../lock/index.ts';
import type { Database } from './database.ts';
import { isRepeatable, withAdvice } from './postgres-errors.ts';

/** The times of both clocks, just before a request was sent. */
export interface SentTimes {
  readonly sentMs: number;
  readonly sentWallMs: number;
}

/** A reply, parsed, and when its request was sent. */
export interface Replied {
  readonly reply: unknown;
  readonly sent: SentTimes;
}

/** The longest pause before a query is repeated. */
const MAX_PAUSE_MS = 64;

export interface SendOptions {
  /** Whether it is sent before others. Default false. */
  readonly isUrgent?: boolean;
  /** Receives the reply to a request that has timed out. */
  readonly onLate?: ((late: Replied) => void) | undefined;
}

/**
 * Sends requests to a database, at most `maxQueries` at the same time. The others wait here in order, urgent ones
 * first. A request times out after it was sent, or while it waits and the server replies to none. So a server that does
 * not reply costs no memory, and one that is busy with many requests fails none of them.
 */
export class Requests {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #timeouts: TimerQueue<PendingRequest>;
  readonly #urgent = new Set<PendingRequest>();
  readonly #others = new Set<PendingRequest>();
  #sentCount = 0;
  #repliedMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(database: Database, clock: Clock, random: Random, timeoutMs: number) {
    this.#database = database;
    this.#clock = clock;
    this.#random = random;
    this.#timeouts = new TimerQueue(clock, timeoutMs, (request) => {
      const isWaiting = this.#urgent.has(request) || this.#others.has(request);
      const nowMs = clock.monotonicMs();
      if (isWaiting && nowMs - this.#repliedMs < timeoutMs) {
        this.#timeouts.add(request, nowMs);
        return;
      }
      this.#urgent.delete(request);
      this.#others.delete(request);
      request.fail(new Error(`no answer within ${timeoutMs} ms`));
    });
  }

  send(text: string, values: readonly unknown[], options: SendOptions = {}): Promise<Replied> {
    const { isUrgent = false, onLate = IGNORE } = options;
    return new Promise((resolve, reject) => {
      if (this.#isClosed) {
        reject(new Error(CLOSED));
        return;
      }
      const request = new PendingRequest(text, values, resolve, reject, onLate);
      this.#timeouts.add(request, this.#clock.monotonicMs());
      (isUrgent ? this.#urgent : this.#others).add(request);
      this.#sendNext();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#urgent.clear();
    this.#others.clear();
    for (const request of this.#timeouts.close()) request.fail(new Error(CLOSED));
  }

  #sendNext(): void {
    if (this.#sentCount >= this.#database.maxQueries) return;
    const queue = this.#urgent.size > 0 ? this.#urgent : this.#others;
    const [request] = queue;
    if (request === undefined) return;
    queue.delete(request);
    this.#sentCount++;
    this.#timeouts.add(request, this.#clock.monotonicMs());
    this.#query(request, 1);
  }

  #query(request: PendingRequest, maxPauseMs: number): void {
    const sent = { sentMs: this.#clock.monotonicMs(), sentWallMs: this.#clock.wallMs() };
    this.#start(request).then(
      (reply) => {
        this.#repliedMs = this.#clock.monotonicMs();
        request.replied(reply, sent);
        this.#ended();
      },
      (error: unknown) => {
        if (isRepeatable(error) && !request.isOver) this.#repeat(request, maxPauseMs);
        else {
          request.fail(withAdvice(error));
          this.#ended();
        }
      },
    );
  }

  /** Rejects if the driver throws synchronously. */
  #start({ text, values }: PendingRequest): Promise<string | undefined> {
    try {
      return this.#database.query(text, values);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** Repeats a query that failed because of another transaction, after a random pause. Every request is idempotent. */
  #repeat(request: PendingRequest, maxPauseMs: number): void {
    const nextMs = Math.min(2 * maxPauseMs, MAX_PAUSE_MS);
    const repeat = (): void => this.#query(request, nextMs);
    // A request without a reply keeps the process alive.
    this.#clock.setTimer(this.#random.next() * maxPauseMs, repeat).keepAlive(true);
  }

  #ended(): void {
    this.#sentCount--;
    this.#sendNext();
  }
}

const CLOSED = 'the store was closed';
const IGNORE = (): void => {};

class PendingRequest extends Scheduled<PendingRequest> {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly onLate: (late: Replied) => void;
  readonly #resolve: (replied: Replied) => void;
  readonly #reject: (error: unknown) => void;
  isOver = false;

  constructor(
    text: string,
    values: readonly unknown[],
    resolve: (replied: Replied) => void,
    reject: (error: unknown) => void,
    onLate: (late: Replied) => void,
  ) {
    super();
    this.text = text;
    this.values = values;
    this.#resolve = resolve;
    this.#reject = reject;
    this.onLate = onLate;
  }

  replied(text: string | undefined, sent: SentTimes): void {
    try {
      const replied = { reply: text === undefined ? undefined : JSON.parse(text), sent };
      if (this.isOver) this.onLate(replied);
      else this.#resolve(replied);
      this.#end();
    } catch (error) {
      // It is no JSON: another function of that name has replied.
      this.fail(error);
    }
  }

  /** Does nothing if the request has ended before. */
  fail(error: unknown): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.isOver = true;
    this.unschedule();
  }
}
