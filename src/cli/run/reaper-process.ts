import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { Environment } from '../verb.ts';
import { RunError } from './exit-codes.ts';
import { REAPER_SCRIPT } from './reaper-script.ts';

/** The standard tools come first: a program called grep on the PATH of the user may be another one. */
const TOOLS = '/usr/bin:/bin';

interface ProcessOptions {
  readonly runId: string;
  readonly environment: Environment;
  readonly socket?: Socket | undefined;
  readonly serverConnection?: Socket | undefined;
}

interface Handlers {
  /** The oldest command without a reply is done. */
  onReply(): void;
  /** The process has ended without `dismiss`. */
  onKilled(): void;
}

/** One process that runs the script of the reaper. */
export class ReaperProcess {
  readonly #shell: ChildProcess;
  /** Not stdin: Node closes that when the shell exits and leaves the reaper as an orphan. */
  readonly #commands: Writable;
  readonly #handlers: Handlers;
  /** Its process group, which has its countdowns too. */
  readonly #group: number;
  #isDismissed = false;

  /** Throws RunError if it cannot be started. */
  constructor(
    { runId, environment, socket, serverConnection }: ProcessOptions,
    handlers: Handlers,
  ) {
    this.#handlers = handlers;
    // When a killed reaper is replaced, the session may have ended already.
    const inherited = socket === undefined || socket.destroyed ? [] : [socket];
    this.#shell = spawn('/bin/sh', ['-c', REAPER_SCRIPT, 'holdfast-reaper', runId], {
      detached: true,
      cwd: '/',
      env: { PATH: `${TOOLS}:${environment.PATH ?? ''}`, LC_ALL: 'C' },
      stdio: [serverConnection ?? 'ignore', 'pipe', 'ignore', 'pipe', ...inherited],
    });
    // Node pauses a socket that a child inherits: the end of the session would go unnoticed.
    for (const each of inherited) each.resume();
    this.#shell.on('error', () => {});
    if (this.#shell.pid === undefined) throw new RunError('failed', 'cannot start /bin/sh.');
    this.#group = this.#shell.pid;
    this.#commands = this.#shell.stdio[3] as Writable;
    this.#commands.on('error', () => {});
    this.#shell.stdout!.setEncoding('latin1').on('data', (chunk: string) => this.#receive(chunk));
    this.#shell.stdout!.on('close', () => this.#closed());
  }

  /** Sends a command, and SIGCONT: a stopped reaper would not read it. */
  send(command: string): void {
    this.#commands.write(`${command}\n`);
    this.#signal('SIGCONT');
  }

  dismiss(): void {
    this.#isDismissed = true;
    this.send('dismiss');
    // This process does not wait for the exit of the reaper, which may take seconds.
    this.#commands.end(() => this.#commands.destroy());
    this.#shell.stdout!.destroy();
    this.#shell.unref();
  }

  /** Every reply is the line `ok`. */
  #receive(chunk: string): void {
    for (const character of chunk) if (character === '\n') this.#handlers.onReply();
  }

  /** Ends the countdowns of a killed reaper: its replacement cannot control them. */
  #closed(): void {
    if (this.#isDismissed) return;
    this.#signal('SIGTERM');
    this.#signal('SIGCONT');
    this.#commands.destroy();
    this.#handlers.onKilled();
  }

  #signal(signal: NodeJS.Signals): void {
    try {
      process.kill(-this.#group, signal);
    } catch {
      // The group is empty.
    }
  }
}
