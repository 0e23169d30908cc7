/** More than the number of commands and subcommands. */
const MAX_COMMANDS = 512;

/** Scripts can return any error code, so that their number is limited. */
const MAX_CODES = 128;
const MAX_CODE_BYTES = 64;
/** A rate over a shorter time is not meaningful. */
const MIN_RATED_MS = 100;

/** The counters of INFO, which CONFIG RESETSTAT sets to zero. */
export class Statistics {
  readonly counters = {
    sessions: 0,
    commands: 0,
    changes: 0,
    expiredKeys: 0,
    keyspaceHits: 0,
    keyspaceMisses: 0,
    errors: 0,
    /** Counted by the server. */
    rejectedSessions: 0,
    evictedSessions: 0,
    inputBytes: 0,
    outputBytes: 0,
  };
  /** By `Command.number`. */
  readonly calls = new Float64Array(MAX_COMMANDS);
  readonly totalMs = new Float64Array(MAX_COMMANDS);
  readonly rejected = new Float64Array(MAX_COMMANDS);
  readonly failed = new Float64Array(MAX_COMMANDS);
  /** By error code. */
  readonly errorsByCode = new Map<string, number>();

  #rate = 0;
  #ratedMs = Number.NEGATIVE_INFINITY;
  #ratedCommands = 0;

  /** Counts every command, also inside of EXEC and scripts. */
  countCall(command: number): void {
    this.counters.commands++;
    this.calls[command]! += 1;
  }

  /** Adds the time of a client's command. The time of EXEC and scripts includes their commands. */
  countTime(command: number, durationMs: number): void {
    this.totalMs[command]! += durationMs;
  }

  /** The rate since the last call. */
  commandsPerSecond(nowMs: number): number {
    const { commands } = this.counters;
    const elapsedMs = nowMs - this.#ratedMs;
    if (elapsedMs < MIN_RATED_MS) return this.#rate;
    this.#rate = Math.max(0, Math.round(((commands - this.#ratedCommands) / elapsedMs) * 1000));
    this.#ratedMs = nowMs;
    this.#ratedCommands = commands;
    return this.#rate;
  }

  countError(code: string, command: number, outcome: 'rejected' | 'failed'): void {
    this.counters.errors++;
    if (code.length <= MAX_CODE_BYTES) this.#countCode(code);
    if (command >= 0) this[outcome][command]! += 1;
  }

  #countCode(code: string): void {
    const count = this.errorsByCode.get(code);
    if (count !== undefined || this.errorsByCode.size < MAX_CODES) {
      this.errorsByCode.set(code, (count ?? 0) + 1);
    }
  }

  /** Sets all counters to zero, but not the changes since the last save. */
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
