import type { Clock } from '../clock/index.ts';

/** What a connection does when its turn comes. */
export interface Runner {
  /** Runs commands that have arrived. */
  run(): void;
  /** Writes replies that were collected. */
  flush(): void;
}

/**
 * Shares time between connections. In one turn of the event loop the server reads every connection that has
 * sent something and runs its commands; at the end of the turn it writes all replies.
 *
 * - A connection runs for SLICE_MS of a turn at most. After that it yields: it waits in a queue, of which one
 *   long run, or several short ones, go on at the end of a turn.
 * - Between two such runs REST_TURNS turns pass, in which every other client is read and answered: one turn
 *   to accept a new connection, one to read its first command.
 * - After a turn of more than BUSY_MS, scripts and transactions of all connections yield too, so that those of
 *   many clients do not add up to a long turn.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #afterTurn: () => void;
  #unflushed: Runner[] = [];
  readonly #yielded = new Set<Runner>();
  #isEndScheduled = false;
  /** When the first connection ran in this turn. */
  #beganMs: number | undefined;
  /** Turns that must pass before one that has yielded goes on. */
  #restTurns = 0;
  /** Turns in which scripts and transactions yield. */
  #deferTurns = 0;
  #isResuming = false;
  /** The number of the current turn. */
  current = 0;

  /** `afterTurn` is called before the replies of a turn are written. */
  constructor(clock: Clock, afterTurn: () => void) {
    this.#clock = clock;
    this.#afterTurn = afterTurn;
  }

  /** Calls `flush` at the end of the turn. */
  flushLater(runner: Runner): void {
    this.#unflushed.push(runner);
    this.#scheduleEnd();
  }

  /** Calls `run` in a later turn, after the other connections had theirs. */
  runLater(runner: Runner): void {
    if (this.#yielded.size === 0) this.#restTurns = REST_TURNS;
    this.#yielded.add(runner);
    this.#scheduleEnd();
  }

  /** The connection is gone. */
  forget(runner: Runner): void {
    this.#yielded.delete(runner);
  }

  /** Until when a connection that begins to run commands now may go on in this turn. */
  sliceEndMs(nowMs: number): number {
    this.#beganMs ??= nowMs;
    this.#scheduleEnd();
    const isCrowded = nowMs - this.#beganMs > CROWDED_MS;
    return nowMs + (isCrowded ? CROWDED_SLICE_MS : SLICE_MS);
  }

  /** Whether scripts and transactions must yield because others have just taken long. */
  defersScripts(nowMs: number): boolean {
    if (this.#isResuming) return nowMs - this.#beganMs! > SLICE_MS;
    return this.#deferTurns > 0 || nowMs - this.#beganMs! > BUSY_MS;
  }

  #scheduleEnd(): void {
    if (this.#isEndScheduled) return;
    this.#isEndScheduled = true;
    this.#clock.defer(() => this.#end());
  }

  #end(): void {
    this.#isEndScheduled = false;
    this.#deferTurns--;
    this.#beginNext();
    this.#afterTurn();
    const unflushed = this.#unflushed;
    this.#unflushed = [];
    for (const runner of unflushed) runner.flush();
    if (this.#restTurns-- <= 0) this.#runYielded();
    if (this.#yielded.size > 0) this.#scheduleEnd();
  }

  #runYielded(): void {
    this.#isResuming = true;
    const endMs = this.#clock.monotonicMs() + SLICE_MS;
    for (const runner of this.#yielded) {
      this.#yielded.delete(runner);
      runner.run();
      if (this.#clock.monotonicMs() > endMs) break;
    }
    this.#isResuming = false;
    this.#beginNext();
    this.#restTurns = REST_TURNS;
  }

  #beginNext(): void {
    const beganMs = this.#beganMs;
    this.current++;
    this.#beganMs = undefined;
    if (beganMs === undefined || this.#clock.monotonicMs() - beganMs <= BUSY_MS) return;
    this.#restTurns = REST_TURNS;
    this.#deferTurns = REST_TURNS;
  }
}

const SLICE_MS = 10;
/** After so long in one turn, each connection gets no more than its first chunk run. */
const CROWDED_MS = 100;
const CROWDED_SLICE_MS = 0;
const BUSY_MS = 50;
const REST_TURNS = 2;
