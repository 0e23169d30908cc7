import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, mkdtempSync, type ReadStream, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { CliProcess, MAIN } from './cli-process.ts';

/** `holdfast run …` in a process of its own, without a terminal, even where the tests have one. */
export function startRun(
  args: readonly string[],
  environment: Record<string, string | undefined> = {},
): CliProcess {
  return new CliProcess('setsid', [process.execPath, MAIN, 'run', ...args], {
    HOLDFAST_STORE: undefined,
    ...environment,
  });
}

/** A program on a terminal of its own, in which shells run that can stop and continue jobs. */
export function startOnTerminal(command: string): CliProcess {
  return new CliProcess('script', ['-qec', `stty cols 200 -echo && ${command}`, '/dev/null'], {
    NO_COLOR: '1',
    TERM: 'xterm',
    // The user's own may be one that gives way to its last command, or one that does not.
    SHELL: '/bin/sh',
  });
}

/** The words that start a run in a shell. */
export function runWords(words: string): string {
  return `'${process.execPath}' '${MAIN}' run ${words}`;
}

/** Says in a shell whether a process is dead; who has not been buried is. */
export function isDead(pid: string): string {
  return `case $(cat /proc/${pid}/stat 2>/dev/null) in "" | *") Z "*) echo dead ;; *) echo alive ;; esac`;
}

/**
 * A pipe with a name, for a command and its descendants: they tell lines through it, and when it ends
 * none of them is left that has it open.
 */
export class Lifeline implements Disposable {
  readonly path: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'holdfast-run-'));
  readonly #stream: ReadStream;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;

  constructor() {
    this.path = join(this.#folder, 'line');
    execFileSync('mkfifo', [this.path]);
    this.#stream = createReadStream(this.path, 'utf8');
    this.#lines = createInterface({ input: this.#stream })[Symbol.asyncIterator]();
    this.#ended = once(this.#stream, 'end');
  }

  async next(): Promise<string> {
    const { value, done } = await this.#lines.next();
    if (done) throw new Error('nobody has the pipe open any more');
    return value;
  }

  /** When the last of them has ended. */
  async ended(): Promise<void> {
    await this.#ended;
  }

  [Symbol.dispose](): void {
    this.#stream.destroy();
    rmSync(this.#folder, { recursive: true });
  }
}
