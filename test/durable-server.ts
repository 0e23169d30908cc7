import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CliProcess } from './cli-process.ts';

/** A data folder, and the processes of `holdfast serve` that use it one after the other, on one port. */
export class DurableServer implements AsyncDisposable {
  readonly dir: string;
  readonly #flags: readonly string[];
  #process: CliProcess | undefined;
  port = '0';

  constructor(flags: readonly string[] = [], dir = mkdtempSync(join(tmpdir(), 'holdfast-log-'))) {
    this.dir = dir;
    this.#flags = flags;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  get text(): string {
    return this.#process?.text ?? '';
  }

  get pid(): number {
    return this.#process!.child.pid!;
  }

  async start(): Promise<void> {
    const args = ['serve', '--port', this.port, '--appendonly', 'yes', '--dir', this.dir];
    this.#process = CliProcess.node([...args, ...this.#flags]);
    const [, port] = await this.#process.waitFor(/listens on 127\.0\.0\.1:(\d+)/);
    this.port = port!;
  }

  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<number | null> {
    this.#process!.child.kill(signal);
    return this.#process!.ended();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#process?.[Symbol.asyncDispose]();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
