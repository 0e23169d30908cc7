import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, mkdtempSync, type ReadStream, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { CliProcess, MAIN } from './cli-process.ts';

/** Starts `holdfast run …` without a controlling terminal, even if the tests have one. */
export function startRun(
  args: readonly string[],
  environment: Record<string, string | undefined> = {},
): CliProcess {
  return new CliProcess('setsid', [process.execPath, MAIN, 'run', ...args], {
    HOLDFAST_STORE: undefined,
    ...environment,
  });
}

/** Starts a program on a new pseudo-terminal, for shells with job control. */
export function startOnTerminal(command: string): CliProcess {
  return new CliProcess('script', ['-qec', `stty cols 200 -echo && ${command}`, '/dev/null'], {
    NO_COLOR: '1',
    TERM: 'xterm',
    // Shells differ: some replace themselves by their last command.
    SHELL: '/bin/sh',
  });
}

/** A shell command that starts a run. */
export function runCommand(args: string): string {
  return `'${process.execPath}' '${MAIN}' run ${args}`;
}

/** A shell command that prints `dead` or `alive`. A zombie is dead. */
export function isDead(pid: string): string {
  return `case $(cat /proc/${pid}/stat 2>/dev/null) in "" | *") Z "*) echo dead ;; *) echo alive ;; esac`;
}

/**
 * A named pipe that a command and its descendants write lines to. It ends when the last of them that has it open has
 * ended.
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
    if (done) throw new Error('no process has the pipe open any more');
    return value;
  }

  /** Resolves when the last of them has ended. */
  async ended(): Promise<void> {
    await this.#ended;
  }

  [Symbol.dispose](): void {
    this.#stream.destroy();
    rmSync(this.#folder, { recursive: true });
  }
}
