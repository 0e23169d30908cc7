import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { VerbError } from '../verb.ts';

/** A `holdfast serve` on a free loopback port, for a measurement. It ends with this process. */
export class ServerProcess {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #folder: string;

  private constructor(child: ChildProcess, port: number, folder: string) {
    this.#child = child;
    this.port = port;
    this.#folder = folder;
  }

  /** Starts it with its defaults, in a new folder. Throws VerbError. */
  static async start(): Promise<ServerProcess> {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
    const main = fileURLToPath(new URL('../main.js', import.meta.url));
    const args = [main, 'serve', '--port', '0', '--log-format', 'json', '--restart-grace', '0'];
    const child = spawn(process.execPath, args, {
      cwd: folder,
      env: withoutOptions(process.env),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    process.once('exit', () => child.kill('SIGKILL'));
    const port = await listeningPort(child);
    if (port !== undefined) return new ServerProcess(child, port, folder);
    rmSync(folder, { recursive: true });
    throw new VerbError(
      'the server for the measurement did not start. Try holdfast serve --port 0.',
    );
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await exited;
    rmSync(this.#folder, { recursive: true });
  }
}

/** Variables such as HOLDFAST_PASSWORD would change what is measured. */
function withoutOptions(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !name.startsWith('HOLDFAST_')),
  );
}

/** The port from the line `listening` of the log; undefined if the process ends before. */
async function listeningPort({ stderr }: ChildProcess): Promise<number | undefined> {
  let text = '';
  for await (const chunk of stderr!) {
    text += String(chunk);
    const found = /"addresses":"127\.0\.0\.1:(\d+)/.exec(text);
    if (found === null) continue;
    return Number(found[1]);
  }
  return undefined;
}
