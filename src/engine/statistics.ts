/** More than there are commands and subcommands. */
const MOST_COMMANDS = 512;

/** Scripts invent codes of their own, which must not fill the memory. */
const MOST_CODES = 128;
const LONGEST_CODE = 64;
/** A rate over less time says nothing. */
const SHORTEST_RATED_MS = 100;

/** What INFO counts. CONFIG RESETSTAT starts anew. */
export class Statistics {
  readonly counters = {
    sessions: 0,
    commands: 0,
    changes: 0,
    expiredKeys: 0,
    keyspaceHits: 0,
    keyspaceMisses: 0,
    errors: 0,
    /** These are counted by the server. */
    rejectedSessions: 0,
    evictedSessions: 0,
    inputBytes: 0,
    outputBytes: 0,
  };
  /** By the number of the command. */
  readonly calls = new Float64Array(MOST_COMMANDS);
  readonly totalMs = new Float64Array(MOST_COMMANDS);
  readonly rejected = new Float64Array(MOST_COMMANDS);
  readonly failed = new Float64Array(MOST_COMMANDS);
  /** By the first word of the error. */
  readonly errorsByCode = new Map<string, number>();

  #rate = 0;
  #ratedMs = Number.NEGATIVE_INFINITY;
  #ratedCommands = 0;

  /** Every command, also inside of EXEC and scripts. */
  countCall(command: number): void {
    this.counters.commands++;
    this.calls[command]! += 1;
  }

  /** Commands that came from a client: EXEC and scripts account for the time of what they run. */
  countTime(command: number, durationMs: number): void {
    this.totalMs[command]! += durationMs;
  }

  /** The rate since this was last asked: whoever asks regularly sees the current one. */
  commandsPerSecond(nowMs: number): number {
    const { commands } = this.counters;
    const elapsedMs = nowMs - this.#ratedMs;
    if (elapsedMs < SHORTEST_RATED_MS) return this.#rate;
    this.#rate = Math.max(0, Math.round(((commands - this.#ratedCommands) / elapsedMs) * 1000));
    this.#ratedMs = nowMs;
    this.#ratedCommands = commands;
    return this.#rate;
  }

  countError(code: string, command: number, outcome: 'rejected' | 'failed'): void {
    this.counters.errors++;
    if (code.length <= LONGEST_CODE) this.#countCode(code);
    if (command >= 0) this[outcome][command]! += 1;
  }

  #countCode(code: string): void {
    const count = this.errorsByCode.get(code);
    if (count !== undefined || this.errorsByCode.size < MOST_CODES) {
      this.errorsByCode.set(code, (count ?? 0) + 1);
    }
  }

  /** Changes since the last save are not a statistic, so they stay. */
  reset(): void {
    const { changes } = this.counters;
    for (const name of Object.keys(this.counters)) {
      this.counters[name as keyof typeof this.counters] = 0;
    }
    this.counters.changes = changes;
    for (const column of [this.calls, this.totalMs, this.rejected, this.failed]) column.fill(0);
    this.errorsByCode.clear();
  }
}
