import { isUtf8 } from 'node:buffer';
import { readFileSync } from 'node:fs';

/**
 * The arguments that are not UTF-8, as Node decodes them. Node replaces their bytes, so that the command would receive
 * other arguments than the user wrote. The original bytes are known on Linux only; elsewhere the result is empty.
 */
export function nonUtf8Arguments(args: readonly string[]): string[] {
  const written = entriesOf('/proc/self/cmdline').slice(-args.length);
  return args.filter((arg, index) => isChanged(arg, written[index]));
}

/** The names of the variables that are not UTF-8. */
export function nonUtf8Variables(
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const written = entriesOf('/proc/self/environ').filter((entry) => !isUtf8(entry));
  const changed = new Set(written.map(String));
  return Object.entries(environment)
    .filter((pair) => changed.has(pair.join('=')))
    .map(([name]) => name);
}

function isChanged(arg: string, written: Buffer | undefined): boolean {
  return written !== undefined && !isUtf8(written) && String(written) === arg;
}

/** The entries of a file in /proc, each ended by a zero byte. */
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
