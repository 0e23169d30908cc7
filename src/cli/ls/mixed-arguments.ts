import { bytesOf } from '../bytes.ts';
import { type OptionTable, type OptionValues, readOptions } from '../options.ts';
import { bytesFromPrintable } from '../printable.ts';
import { type Environment, UsageError } from '../verb.ts';

/** Options and words in any order, up to so many words; what follows `--` is words. Throws UsageError. */
export function readMixed<Table extends OptionTable>(
  table: Table,
  args: readonly string[],
  environment: Environment,
  mostWords = 1,
): { readonly values: OptionValues<Table>; readonly words: readonly string[] } {
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
  if (words.length > mostWords) throw new UsageError(`'${words[mostWords]}' is one word too many.`);
  return { values: { ...readOptions(table, [], environment).environment, ...flags }, words };
}

/** For names with signs that no shell can pass, or that are hard to type. */
export const ESCAPED_OPTION = {
  escaped: { short: 'E', help: 'the name is written as ls prints it: \\n, \\x00, \\\\ and so on' },
} as const satisfies OptionTable;

/** The name of a lock, one char a byte: the word that must be there. Throws UsageError. */
export function nameBytesOf([name]: readonly string[], isEscaped = false): string {
  if (name === undefined || name === '') throw new UsageError('The name of a lock is missing.');
  return isEscaped ? bytesFromPrintable(name) : bytesOf(name);
}
