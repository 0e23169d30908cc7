import { closeSync, fstatSync, openSync, readSync, type Stats } from 'node:fs';
import { VerbError } from './verb.ts';

/** A file with a longer first line is no password file; it may be endless, such as /dev/zero. */
const MAX_BYTES = 4096;

/**
 * Reads the first line of a file or pipe (`/dev/stdin`), and nothing after it. Warns of a file that other users can
 * read or replace, but uses it: secrets of containers often have mode 0444.
 * Throws VerbError.
 */
export function readPasswordFile(path: string, warn: (message: string) => void): string {
  const { password, stats } = firstLine(path);
  if (password === '') throw new VerbError(`the password file ${path} begins with an empty line.`);
  const danger = dangerIn(stats);
  if (danger !== undefined) warn(`the password file ${path} ${danger}. Use chmod 600 ${path}.`);
  return password;
}

function firstLine(path: string): { readonly password: string; readonly stats: Stats } {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const bytes = readLine(file);
    if (bytes.length > MAX_BYTES) throw tooLong(path);
    return { password: bytes.toString('utf8').replace(/\r$/, ''), stats: fstatSync(file) };
  } catch (error) {
    if (error instanceof VerbError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    throw new VerbError(`cannot read the password file ${path} (${code}).`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** The bytes before the first line feed or the end; of a longer line one byte more than the maximum. */
function readLine(file: number): Buffer {
  const buffer = Buffer.alloc(MAX_BYTES + 1);
  let length = 0;
  let count: number;
  do {
    count = readSync(file, buffer, length, buffer.length - length, null);
    length += count;
    const end = buffer.subarray(0, length).indexOf('\n');
    if (end >= 0) return buffer.subarray(0, end);
  } while (count > 0 && length < buffer.length);
  return buffer.subarray(0, length);
}

function tooLong(path: string): VerbError {
  return new VerbError(
    `the first line of the password file ${path} has more than ${MAX_BYTES} bytes.`,
  );
}

/** Only files and pipes are checked: the mode of a device, such as a terminal, is no danger. */
function dangerIn(stats: Stats): string | undefined {
  if (!stats.isFile() && !stats.isFIFO()) return undefined;
  const owners = [0, process.geteuid?.() ?? stats.uid];
  if (!owners.includes(stats.uid)) return `belongs to another user (uid ${stats.uid})`;
  if ((stats.mode & 0o077) === 0) return undefined;
  return `is open to other users (mode ${(stats.mode & 0o777).toString(8).padStart(4, '0')})`;
}
