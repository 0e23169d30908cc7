import type { Readable, Writable } from 'node:stream';
import type { OptionTable } from './options.ts';
import { messageText } from './printable.ts';

/** One word after `holdfast`. */
export interface Verb {
  /** The whole of `holdfast <verb> --help`. */
  readonly help: string;
  /** What completion and the manual tell of it: the options, and what its first word may be. */
  readonly options?: OptionTable;
  readonly words?: 'locks' | readonly string[];
  /** Others may write to its stderr while it waits: that stays as it is. */
  readonly sharesStderr?: true;
  /** Does it; gives the exit code. */
  run(args: readonly string[], io: Io): Promise<number>;
}

/** What a verb touches of its process, so that tests can run it in theirs. */
export interface Io {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable & Screen;
  readonly errors: Writable & Screen;
  readonly environment: Environment;
}

/** What a stream knows of its terminal, if it has one. Some terminals say 0: they do not know. */
interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

/** The variables, of which some are asked by name. */
export type Environment = Readonly<Record<string, string | undefined>> & {
  readonly HOLDFAST_PASSWORD?: string;
  readonly HOLDFAST_RUN?: string;
  readonly LANG?: string;
  readonly LC_ALL?: string;
  readonly LC_MESSAGES?: string;
  readonly NODE_OPTIONS?: string;
  readonly NO_COLOR?: string;
  readonly PATH?: string;
  readonly TERM?: string;
};

/** Prints what was asked for, which is all that there was to do. */
export function print(io: Io, text: string): number {
  io.output.write(`${text}\n`);
  return 0;
}

/**
 * Writes `holdfast: <message>` to stderr. Every message goes through here, because parts of it may come from a
 * server or another process: no control character reaches the terminal, and the length has a limit.
 */
export function printError({ errors }: Pick<Io, 'errors'>, message: string): void {
  errors.write(`holdfast: ${messageText(message)}\n`);
}

/** The command line cannot be understood; the message says what to write instead. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Something outside stands in the way; the message says what to do. Exit code 1. */
export class VerbError extends Error {
  override readonly name = 'VerbError';
}
