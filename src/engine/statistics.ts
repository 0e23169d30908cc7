/** More than there are commands and subcommands. */
const MOST_COMMANDS = 512;

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
  };
  /** By the number of the command. */
  readonly calls = new Float64Array(MOST_COMMANDS);
  readonly totalMs = new Float64Array(MOST_COMMANDS);
  readonly rejected = new Float64Array(MOST_COMMANDS);
  readonly failed = new Float64Array(MOST_COMMANDS);
  /** By the first word of the error. */
  readonly errorsByCode = new Map<string, number>();

  countCall(command: number, durationMs: number): void {
    this.counters.commands++;
    this.calls[command]! += 1;
    this.totalMs[command]! += durationMs;
  }

  countError(code: string, command: number, outcome: 'rejected' | 'failed'): void {
    this.counters.errors++;
    this.errorsByCode.set(code, (this.errorsByCode.get(code) ?? 0) + 1);
    if (command >= 0) this[outcome][command]! += 1;
  }

  reset(): void {
    for (const name of Object.keys(this.counters)) {
      this.counters[name as keyof typeof this.counters] = 0;
    }
    for (const column of [this.calls, this.totalMs, this.rejected, this.failed]) column.fill(0);
    this.errorsByCode.clear();
  }
}
