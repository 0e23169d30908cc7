import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { Environment } from '../verb.ts';
import { RunError } from './exit-codes.ts';
import { GUARDIAN_SCRIPT } from './guardian-script.ts';

/** Where standard tools are. The user's path comes after it: what is called grep there may be something else. */
const TOOLS = '/usr/bin:/bin';

interface ProcessOptions {
  readonly cookie: string;
  readonly environment: Environment;
  readonly socket?: Socket | undefined;
  readonly serverLine?: Socket | undefined;
}

interface Handlers {
  /** The first order that was not answered yet is done. */
  onAnswer(): void;
  /** It has ended, and not because it was dismissed. */
  onKilled(): void;
}

/** One process that runs the guardian's script. */
export class GuardianProcess {
  readonly #shell: ChildProcess;
  /** Not its stdin, which would be closed when the shell has left the guardian an orphan. */
  readonly #orders: Writable;
  readonly #handlers: Handlers;
  /** What it told of itself and its countdowns; 0 is none. */
  readonly #pids = new Map<string, number>();
  #heard = '';
  #isDismissed = false;

  /** Throws RunError if it cannot be started. */
  constructor({ cookie, environment, socket, serverLine }: ProcessOptions, handlers: Handlers) {
    this.#handlers = handlers;
    this.#shell = spawn('/bin/sh', ['-c', GUARDIAN_SCRIPT, 'holdfast-guardian', cookie], {
      detached: true,
      cwd: '/',
      env: { PATH: `${TOOLS}:${environment.PATH ?? ''}`, LC_ALL: 'C' },
      stdio: [serverLine ?? 'ignore', 'pipe', 'ignore', 'pipe', ...(socket ? [socket] : [])],
    });
    this.#shell.on('error', () => {});
    if (this.#shell.pid === undefined) throw new RunError('failed', 'cannot start /bin/sh.');
    this.#orders = this.#shell.stdio[3] as Writable;
    this.#orders.on('error', () => {});
    this.#shell.stdout!.setEncoding('latin1').on('data', (chunk: string) => this.#hear(chunk));
    this.#shell.stdout!.on('close', () => this.#closed());
  }

  /** A guardian that somebody stopped obeys nobody: it is woken. */
  order(order: string): void {
    this.#orders.write(`${order}\n`);
    send(this.#pids.get('self'), 'SIGCONT');
  }

  dismiss(): void {
    this.#isDismissed = true;
    this.order('dismiss');
    // Nobody waits for its end, which may be far.
    this.#orders.end(() => this.#orders.destroy());
    this.#shell.stdout!.destroy();
    this.#shell.unref();
  }

  #hear(chunk: string): void {
    const lines = `${this.#heard}${chunk}`.split('\n');
    this.#heard = lines.pop()!;
    for (const line of lines) this.#hearLine(line);
  }

  #hearLine(line: string): void {
    const [word, pid] = line.split(' ');
    if (word === 'ok') this.#handlers.onAnswer();
    else this.#pids.set(word!, Number(pid));
  }

  /** Its countdowns go on without it, and know nothing of what another one is told. */
  #closed(): void {
    if (this.#isDismissed) return;
    for (const pid of [this.#pids.get('timer'), this.#pids.get('sentry')]) {
      send(pid, 'SIGTERM');
      send(pid, 'SIGCONT');
    }
    this.#orders.destroy();
    this.#handlers.onKilled();
  }
}

function send(pid: number | undefined, signal: NodeJS.Signals): void {
  if (!pid) return;
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}
