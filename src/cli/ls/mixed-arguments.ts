import { bytesOf } from '../bytes.ts';
import { type OptionTable, type OptionValues, readOptions } from '../options.ts';
import { bytesFromPrintable } from '../printable.ts';
import { type Environment, UsageError } from '../verb.ts';

interface MixedArguments<Table extends OptionTable> {
  readonly flags: OptionValues<Table>;
  /** The flags, and the environment where there is no flag. */
  readonly values: OptionValues<Table>;
  readonly words: readonly string[];
}

/** Reads options and up to `maxWords` words in any order. All arguments after `--` are words. Throws UsageError. */
export function readMixed<Table extends OptionTable>(
  table: Table,
  args: readonly string[],
  environment: Environment,
  maxWords = 1,
): MixedArguments<Table> {
  let flags = {} as OptionValues<Table>;
  const words: string[] = [];
  let rest = args;
  do {
    const parsed = readOptions(table, rest, {});
    flags = { ...flags, ...parsed.flags };
    const isRestWords =
      rest.at(-parsed.rest.length - 1) === '--' && rest.length > parsed.rest.length;
    words.push(...parsed.rest.slice(0, isRestWords ? parsed.rest.length : 1));
    rest = isRestWords ? [] : parsed.rest.slice(1);
  } while (rest.length > 0);
  if (words.length > maxWords) throw new UsageError(`'${words[maxWords]}' is one word too many.`);
  const values = { ...readOptions(table, [], environment).environment, ...flags };
  return { flags, values, words };
}

/** For names with characters that a shell cannot pass, or that are hard to type. */
export const ESCAPED_OPTION = {
  escaped: { short: 'E', help: 'reads the name as ls prints it, with escapes: \\n, \\x00, \\\\' },
} as const satisfies OptionTable;

/** The name of a lock, one char a byte. Throws UsageError if it is missing. */
export function nameBytesOf([name]: readonly string[], isEscaped = false): string {
  if (name === undefined || name === '') throw new UsageError('The name of a lock is missing.');
  return isEscaped ? bytesFromPrintable(name) : bytesOf(name);
}
