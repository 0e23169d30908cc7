import { appendFileSync, chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The lines that were typed before, in a file that only its owner can read. Never one with a password. */
export class History {
  readonly #path: string;

  constructor(path: string = join(homedir(), '.holdfast_history')) {
    this.#path = path;
  }

  /** The last lines, newest first, as readline wants them. Cuts a file that has grown long. */
  load(): string[] {
    const lines = this.#read();
    const kept = lines.slice(-MOST_LINES);
    if (lines.length > 2 * MOST_LINES) this.#write(kept);
    return kept.reverse();
  }

  add(line: string): void {
    if (line.trim() === '' || isSecret(line)) return;
    this.#quietly(() => {
      appendFileSync(this.#path, `${line}\n`, { mode: OWNER_ONLY });
      chmodSync(this.#path, OWNER_ONLY);
    });
  }

  #read(): string[] {
    try {
      return readFileSync(this.#path, 'utf8').split('\n').filter(Boolean);
    } catch {
      return [];
    }
  }

  #write(lines: readonly string[]): void {
    this.#quietly(() => writeFileSync(this.#path, `${lines.join('\n')}\n`, { mode: OWNER_ONLY }));
  }

  /** A home that cannot be written to costs the history, not the session. */
  #quietly(work: () => void): void {
    try {
      work();
    } catch {}
  }
}

export const MOST_LINES = 1000;
const OWNER_ONLY = 0o600;

/**
 * Whether a line may hold a password: AUTH, HELLO with AUTH, CONFIG SET requirepass, ACL SETUSER and what
 * calls itself a password. The line is looked at as it was typed, since a slip of the fingers (AUTHsecret,
 * a quote that does not close) must not save it.
 */
export function isSecret(line: string): boolean {
  return /^\s*["']?auth|\bauth2?\b|requirepass|masterauth|setuser|passw/i.test(line);
}
