import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The history of the prompt, in a file with mode 0600. Lines with passwords are not saved. */
export class History {
  readonly #path: string;

  constructor(path: string = join(homedir(), '.holdfast_history')) {
    this.#path = path;
  }

  /** The last lines, newest first, as readline wants them. Cuts a file that has grown long. */
  load(): string[] {
    const lines = this.#read();
    const kept = lines.slice(-MAX_LINES);
    if (lines.length > 2 * MAX_LINES) this.#write(kept);
    return kept.reverse();
  }

  add(line: string): void {
    if (line.trim() === '' || isSecret(line)) return;
    this.#withFile(APPEND, (file) => {
      fchmodSync(file, OWNER_ONLY);
      writeSync(file, `${line}\n`);
    });
  }

  #read(): string[] {
    const lines = this.#withFile(constants.O_RDONLY, (file) => endOf(file).split('\n'));
    return lines?.filter(Boolean) ?? [];
  }

  #write(lines: readonly string[]): void {
    this.#withFile(APPEND, (file) => {
      ftruncateSync(file);
      writeSync(file, `${lines.join('\n')}\n`);
    });
  }

  /**
   * Undefined: there is none, or it cannot be used, which costs the history, not the session. With the HOME of another
   * user, as under sudo, it could be a link to any file of this one, or a pipe that never ends.
   */
  #withFile<Result>(flags: number, work: (file: number) => Result): Result | undefined {
    let file: number | undefined;
    try {
      file = openSync(this.#path, flags | SAFELY, OWNER_ONLY);
      const stats = fstatSync(file);
      const isOwn = stats.isFile() && stats.uid === (process.geteuid?.() ?? stats.uid);
      return isOwn ? work(file) : undefined;
    } catch {
      return undefined;
    } finally {
      if (file !== undefined) closeSync(file);
    }
  }
}

const APPEND = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;
/** Windows has neither of them. */
const SAFELY = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
/** How much of the file is read. */
const MAX_BYTES = 1024 * 1024;

function endOf(file: number): string {
  const { size } = fstatSync(file);
  const bytes = Buffer.alloc(Math.min(size, MAX_BYTES));
  const count = readSync(file, bytes, 0, bytes.length, size - bytes.length);
  const text = bytes.subarray(0, count).toString('utf8');
  // A line that began before is left out.
  return size > MAX_BYTES ? text.slice(text.indexOf('\n') + 1) : text;
}

export const MAX_LINES = 1000;
const OWNER_ONLY = 0o600;

/**
 * Whether a line may contain a password: AUTH, HELLO with AUTH, CONFIG SET requirepass, ACL SETUSER and any word with
 * `passw`. Tests the text of the line, so that a typing error (AUTHsecret, an open quote) does not save a password.
 */
export function isSecret(line: string): boolean {
  return /^\s*["']?auth|\bauth2?\b|requirepass|masterauth|setuser|passw/i.test(line);
}
