import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { run } from '../src/cli/dispatch.ts';

export const ROOT = join(import.meta.dirname, '..');
/** The built program: in dist/, or beside HOLDFAST_BUILD. */
export const MAIN = join(
  dirname(process.env['HOLDFAST_BUILD'] ?? join(ROOT, 'dist', 'index.js')),
  'cli',
  'main.js',
);

export interface Ended {
  readonly code: number;
  /** One char for each byte. */
  readonly output: string;
  readonly errors: string;
}

/** `holdfast …` in this process, with pipes for its streams. */
export async function runCli(
  args: readonly string[],
  { input = '', environment = {} }: { input?: string; environment?: Record<string, string> } = {},
): Promise<Ended> {
  const output = new PassThrough();
  const errors = new PassThrough();
  const io = { input: Readable.from([Buffer.from(input, 'latin1')], { objectMode: false }) };
  const code = await run(args, { ...io, output, errors, environment });
  return { code, output: textIn(output), errors: textIn(errors) };
}

function textIn(stream: PassThrough): string {
  return ((stream.read() as Buffer | null) ?? Buffer.alloc(0)).toString('latin1');
}

/** The built `holdfast …` as a process. It ends with the test. */
export class CliProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  text = '';
  readonly #closed: Promise<unknown>;
  #onData: () => void = () => {};

  constructor(
    program: string,
    args: readonly string[],
    environment: Record<string, string | undefined> = {},
  ) {
    this.child = spawn(program, args, { cwd: ROOT, env: { ...process.env, ...environment } });
    this.#closed = once(this.child, 'close');
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.setEncoding('latin1').on('data', (chunk: string) => {
        this.text += chunk;
        this.#onData();
      });
    }
  }

  static node(
    args: readonly string[],
    {
      flags = [],
      environment = {},
    }: { flags?: string[]; environment?: Record<string, string> } = {},
  ): CliProcess {
    return new CliProcess(process.execPath, [...flags, MAIN, ...args], environment);
  }

  /** Starts it on a pseudo-terminal. */
  static terminal(args: readonly string[], environment: Record<string, string>): CliProcess {
    const command = `stty cols 200 && exec '${process.execPath}' '${MAIN}' ${args.join(' ')}`;
    return new CliProcess('script', ['-qec', command, '/dev/null'], {
      NO_COLOR: '1',
      TERM: 'xterm',
      SHELL: '/bin/sh',
      ...environment,
    });
  }

  /** The output without escape sequences. */
  get screen(): string {
    return this.text.replace(/\x1b\[[0-9;]*[A-Za-z]/g, '').replaceAll('\r', '');
  }

  type(text: string): void {
    this.child.stdin!.write(text);
  }

  /** Resolves when the text after `start` of the screen fits; fails when the process ends before. */
  async waitFor(pattern: RegExp, start = 0): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.screen.slice(start));
      if (match !== null) return match;
      const more = new Promise<boolean>((resolve) => {
        this.#onData = () => resolve(true);
      });
      if (await Promise.race([more, this.#closed.then(() => false)])) continue;
      throw new Error(`ended before ${pattern} came: ${this.screen}`);
    }
  }

  /** The exit code. */
  async ended(): Promise<number | null> {
    await this.#closed;
    return this.child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGKILL');
    await this.#closed;
  }
}
