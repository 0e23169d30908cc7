import type { Command } from './command.ts';
import { argumentBytes, stringBytes } from './footprint.ts';
import { NewestEntries } from './newest-entries.ts';
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
const ENTRY_BYTES = 128;

/**
 * The slow commands, newest first. EXEC and scripts have one entry: the engine's time does not change inside of them,
 * so that their commands have no duration of their own.
 */
export class SlowLog {
  /** Commands that took at least this long are logged; Infinity: none. */
  thresholdMs = 10;
  readonly #newest = new NewestEntries<SlowLogEntry>(entryBytes);
  #nextId = 0;

  get entries(): readonly SlowLogEntry[] {
    return this.#newest.list;
  }

  add(session: Session, command: Command, argv: readonly string[], durationMs: number): void {
    this.#newest.add({
      id: this.#nextId++,
      unixSeconds: Math.floor(session.engine.wallMs() / 1000),
      durationMs,
      argv: shortenedAll(withoutSecrets(command, argv)),
      address: session.address,
      name: session.name,
    });
  }

  limit(maxLength: number): void {
    this.#newest.limit(maxLength);
  }

  reset(): void {
    this.#newest.reset();
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
