import type { Clock } from '../clock/index.ts';

/** A connection, as Turns uses it. */
export interface Runner {
  /** Runs requests that have arrived. */
  run(): void;
  /** Writes collected replies. */
  flush(): void;
}

/**
 * Shares time between connections. In one turn of the event loop the server reads every connection that has sent
 * requests, and runs them. At the end of the turn it writes all replies.
 *
 * - A connection runs for at most SLICE_MS of a turn. Then it yields: it waits in a queue. At the end of a turn, queued
 *   connections run for SLICE_MS in all.
 * - Between two runs of the queue REST_TURNS turns pass, in which all other clients are served: one turn to accept a
 *   new connection, one to read its first command.
 * - After a turn of more than BUSY_MS, scripts and transactions of all connections yield too, so that those of many
 *   clients do not add up to a long turn.
 */
export class Turns {
  readonly #clock: Clock;
  readonly #afterTurn: () => void;
  #unflushed: Runner[] = [];
  readonly #yielded = new Set<Runner>();
  #isEndScheduled = false;
  /** When the first connection ran in this turn. */
  #beganMs: number | undefined;
  /** Turns that must pass before a yielded connection continues. */
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

  /** Calls `run` in a later turn, after the other connections have run. */
  runLater(runner: Runner): void {
    if (this.#yielded.size === 0) this.#restTurns = REST_TURNS;
    this.#yielded.add(runner);
    this.#scheduleEnd();
  }

  /** Removes a closed connection. */
  forget(runner: Runner): void {
    this.#yielded.delete(runner);
  }

  /** The end of the time slice of a connection that begins to run commands now. */
  sliceEndMs(nowMs: number): number {
    this.#beganMs ??= nowMs;
    this.#scheduleEnd();
    return nowMs + (this.isCrowded(nowMs) ? CROWDED_SLICE_MS : SLICE_MS);
  }

  /** Whether this turn, which has begun, has taken so long that each connection runs one chunk only. */
  isCrowded(nowMs: number): boolean {
    return nowMs - this.#beganMs! > CROWDED_MS;
  }

  /** Whether scripts and transactions must yield, because earlier ones have taken long. */
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
/** When a turn has taken this long, each further connection runs its first chunk only, for a shorter time. */
const CROWDED_MS = 100;
const CROWDED_SLICE_MS = 0.2;
const BUSY_MS = 50;
const REST_TURNS = 2;
