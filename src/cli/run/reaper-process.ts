import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { Environment } from '../verb.ts';
import { RunError } from './exit-codes.ts';
import { REAPER_SCRIPT } from './reaper-script.ts';

/** Where standard tools are. The user's path comes after it: what is called grep there may be something else. */
const TOOLS = '/usr/bin:/bin';

interface ProcessOptions {
  readonly runId: string;
  readonly environment: Environment;
  readonly socket?: Socket | undefined;
  readonly serverConnection?: Socket | undefined;
}

interface Handlers {
  /** The first order that was not answered yet is done. */
  onAnswer(): void;
  /** It has ended, and not because it was dismissed. */
  onKilled(): void;
}

/** One process that runs the reaper's script. */
export class ReaperProcess {
  readonly #shell: ChildProcess;
  /** Not its stdin, which would be closed when the shell has left the reaper an orphan. */
  readonly #orders: Writable;
  readonly #handlers: Handlers;
  /** Its own, in which its countdowns are too. */
  readonly #group: number;
  #isDismissed = false;

  /** Throws RunError if it cannot be started. */
  constructor(
    { runId, environment, socket, serverConnection }: ProcessOptions,
    handlers: Handlers,
  ) {
    this.#handlers = handlers;
    // One that takes the place of another may come when the session has ended already.
    const kept = socket === undefined || socket.destroyed ? [] : [socket];
    this.#shell = spawn('/bin/sh', ['-c', REAPER_SCRIPT, 'holdfast-reaper', runId], {
      detached: true,
      cwd: '/',
      env: { PATH: `${TOOLS}:${environment.PATH ?? ''}`, LC_ALL: 'C' },
      stdio: [serverConnection ?? 'ignore', 'pipe', 'ignore', 'pipe', ...kept],
    });
    // Node stops to read what a child gets; then the end of the session would not be heard.
    for (const each of kept) each.resume();
    this.#shell.on('error', () => {});
    if (this.#shell.pid === undefined) throw new RunError('failed', 'cannot start /bin/sh.');
    this.#group = this.#shell.pid;
    this.#orders = this.#shell.stdio[3] as Writable;
    this.#orders.on('error', () => {});
    this.#shell.stdout!.setEncoding('latin1').on('data', (chunk: string) => this.#hear(chunk));
    this.#shell.stdout!.on('close', () => this.#closed());
  }

  /** A reaper that somebody stopped obeys nobody: it is woken. */
  order(order: string): void {
    this.#orders.write(`${order}\n`);
    this.#signal('SIGCONT');
  }

  dismiss(): void {
    this.#isDismissed = true;
    this.order('dismiss');
    // Nobody waits for its end, which may be far.
    this.#orders.end(() => this.#orders.destroy());
    this.#shell.stdout!.destroy();
    this.#shell.unref();
  }

  /** All that it says is `ok`. */
  #hear(chunk: string): void {
    for (const character of chunk) if (character === '\n') this.#handlers.onAnswer();
  }

  /** Its countdowns go on without it, and know nothing of what another one is told. */
  #closed(): void {
    if (this.#isDismissed) return;
    this.#signal('SIGTERM');
    this.#signal('SIGCONT');
    this.#orders.destroy();
    this.#handlers.onKilled();
  }

  #signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.#group, signal);
    } catch {
      // Nobody is left in it.
    }
  }
}
