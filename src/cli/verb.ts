import type { Readable, Writable } from 'node:stream';
import type { OptionTable } from './options.ts';
import { messageText } from './printable.ts';

/** One verb of the command line: the first argument of `holdfast`. */
export interface Verb {
  /** The output of `holdfast <verb> --help`. */
  readonly help: string;
  /** For completion and the manual page: the options, and the values of the first argument. */
  readonly options?: OptionTable;
  readonly words?: 'locks' | readonly string[];
  /** Other processes may write to its stderr while it waits: the descriptor stays blocking. */
  readonly sharesStderr?: true;
  /** Returns the exit code. */
  run(args: readonly string[], io: Io): Promise<number>;
}

/** The streams and variables of the process, so that tests can replace them. */
export interface Io {
  readonly input: Readable & { readonly isTTY?: boolean };
  readonly output: Writable & Screen;
  readonly errors: Writable & Screen;
  readonly environment: Environment;
}

/** The terminal of a stream, if it has one. The size is 0 if the terminal does not know it. */
interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

/** The environment variables. */
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

/** Prints a text with a line feed. Returns the exit code 0. */
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

/** The command line is wrong. The message says what to write instead. Exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** An error outside of the command line. The message says what to do. Exit code 1. */
export class VerbError extends Error {
  override readonly name = 'VerbError';
}
