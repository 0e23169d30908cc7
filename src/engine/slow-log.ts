import type { Command } from './command.ts';
import { argumentBytes, stringBytes } from './footprint.ts';
import { withoutSecrets } from './redaction.ts';
import type { Session } from './session.ts';
import { moreArguments, shortened } from './shortened.ts';

export interface SlowLogEntry {
  readonly id: number;
  readonly unixSeconds: number;
  readonly durationMs: number;
  readonly argv: readonly string[];
  readonly address: string;
  readonly name: string;
}

const MAX_ARGUMENTS = 32;
const MAX_ARGUMENT_BYTES = 128;
/** Memory limit of all entries: slowlog-max-len has no upper limit, and client names may be long. */
const MAX_BYTES = 4 * 1024 * 1024;
const ENTRY_BYTES = 128;

/**
 * The slow commands, newest first. EXEC and scripts have one entry: the engine's time does not change inside of them,
 * so that their commands have no duration of their own.
 */
export class SlowLog {
  /** Commands that took at least this long are logged; Infinity: none. */
  thresholdMs = 10;
  readonly entries: SlowLogEntry[] = [];
  #maxLength = 128;
  #nextId = 0;
  #bytes = 0;

  add(session: Session, command: Command, argv: readonly string[], durationMs: number): void {
    const entry = {
      id: this.#nextId++,
      unixSeconds: Math.floor(session.engine.wallMs() / 1000),
      durationMs,
      argv: shortenedAll(withoutSecrets(command, argv)),
      address: session.address,
      name: session.name,
    };
    this.entries.unshift(entry);
    this.#bytes += entryBytes(entry);
    this.limit(this.#maxLength);
  }

  limit(maxLength: number): void {
    this.#maxLength = maxLength;
    while (this.entries.length > maxLength || this.#bytes > MAX_BYTES) {
      this.#bytes -= entryBytes(this.entries.pop()!);
    }
  }

  reset(): void {
    this.entries.length = 0;
    this.#bytes = 0;
  }
}

function entryBytes({ argv, name }: SlowLogEntry): number {
  return ENTRY_BYTES + argumentBytes(argv) + stringBytes(name);
}

function shortenedAll(argv: readonly string[]): string[] {
  const shown = (text: string): string => shortened(text, MAX_ARGUMENT_BYTES);
  if (argv.length <= MAX_ARGUMENTS) return argv.map(shown);
  const first = argv.slice(0, MAX_ARGUMENTS - 1).map(shown);
  return [...first, moreArguments(argv.length - first.length)];
}
