import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';

/**
 * The arguments that are not UTF-8, as Node shows them: a command that gets these would get others than
 * were written. Only Linux tells what was written; elsewhere none is found.
 */
export function changedArguments(args: readonly string[]): string[] {
  const written = entriesOf('/proc/self/cmdline').slice(-args.length);
  return args.filter((word, at) => isOtherThan(word, written[at]));
}

/** The names of the variables that are not UTF-8. */
export function changedVariables(
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const written = entriesOf('/proc/self/environ').filter((entry) => !isUtf8(entry));
  const changed = new Set(written.map(String));
  return Object.entries(environment)
    .filter((pair) => changed.has(pair.join('=')))
    .map(([name]) => name);
}

function isOtherThan(word: string, written: Buffer | undefined): boolean {
  return written !== undefined && !isUtf8(written) && String(written) === word;
}

/** What a file of the system lists, each ended by a zero. */
function entriesOf(path: string): Buffer[] {
  try {
    const bytes = readFileSync(path);
    const entries: Buffer[] = [];
    for (let start = 0; start < bytes.length; ) {
      const end = bytes.indexOf(0, start);
      entries.push(bytes.subarray(start, end < 0 ? bytes.length : end));
      start = end < 0 ? bytes.length : end + 1;
    }
    return entries;
  } catch {
    return [];
  }
}
