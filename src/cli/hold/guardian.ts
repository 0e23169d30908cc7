import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Writable } from 'node:stream';
import type { Environment } from '../verb.ts';
import { RunError } from './exit-codes.ts';
import { GUARDIAN_SCRIPT } from './guardian-script.ts';

/** Where standard tools are. The user's path comes after it: what is called grep there may be something else. */
const TOOLS = '/usr/bin:/bin';

interface GuardianOptions {
  /** By which the descendants of the command are known. */
  readonly cookie: string;
  readonly environment: Environment;
  /** The session's, which then ends no earlier than the guardian does. */
  readonly socket?: Socket | undefined;
}

/**
 * The process that ends the command when the runner cannot: because it was killed, or stopped for longer
 * than the lease. It also knows the command's descendants, so that signals for all of them go through it.
 */
export class Guardian implements Disposable {
  readonly #shell: ChildProcess;
  /** Not its stdin, which would be closed when the shell has left the guardian an orphan. */
  readonly #orders: Writable;
  #answers: (() => void)[] = [];

  constructor({ cookie, environment, socket }: GuardianOptions) {
    this.#shell = spawn('/bin/sh', ['-c', GUARDIAN_SCRIPT, 'holdfast-guardian', cookie], {
      detached: true,
      cwd: '/',
      env: { PATH: `${TOOLS}:${environment.PATH ?? ''}`, LC_ALL: 'C' },
      stdio: ['ignore', 'pipe', 'ignore', 'pipe', ...(socket ? [socket] : [])],
    });
    this.#shell.on('error', () => {});
    if (this.#shell.pid === undefined) throw new RunError('failed', 'cannot start /bin/sh.');
    this.#orders = this.#shell.stdio[3] as Writable;
    this.#orders.on('error', () => {});
    this.#shell.stdout!.on('data', () => this.#answers.shift()?.());
    this.#shell.stdout!.on('close', () => this.#answered());
  }

  /** The command runs; whether in a group of its own. */
  watch(pid: number, ownsGroup: boolean): void {
    this.#order(`watch ${pid} ${ownsGroup ? 'own' : 'shared'}`);
  }

  /** The command has ended; what it started may not have. */
  gone(): void {
    this.#order('gone');
  }

  /** Unless told otherwise within this time, everything is to be killed. */
  setDeadline(leftMs: number): void {
    this.#order(`left ${(Math.max(0, leftMs) / 1000).toFixed(3)}`);
  }

  /** To the command and all that it started. False: there is no guardian any more. */
  signal(signal: NodeJS.Signals): boolean {
    this.#order(`signal ${signal.slice('SIG'.length)}`);
    return !this.#shell.stdout!.destroyed;
  }

  /** Ends what is left of the command's group, gently. */
  tidy(): Promise<void> {
    return this.#ask('tidy');
  }

  /** Kills the command and all that it started; resolves when none of them is left. */
  finish(): Promise<void> {
    return this.#ask('finish');
  }

  /** It is no longer needed. */
  [Symbol.dispose](): void {
    this.#order('dismiss');
    // Nobody waits for its end, which may be far if it was stopped.
    this.#orders.end(() => this.#orders.destroy());
    this.#shell.stdout!.destroy();
    this.#shell.unref();
  }

  #ask(order: string): Promise<void> {
    return new Promise((resolve) => {
      if (this.#shell.stdout!.destroyed) resolve();
      else this.#answers.push(resolve);
      this.#order(order);
    });
  }

  #order(order: string): void {
    this.#orders.write(`${order}\n`);
  }

  #answered(): void {
    for (const resolve of this.#answers.splice(0)) resolve();
  }
}
