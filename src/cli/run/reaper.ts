import type { Socket } from 'node:net';
import type { Clock } from '../../clock/index.ts';
import type { Environment } from '../verb.ts';
import { ReaperProcess } from './reaper-process.ts';

interface ReaperOptions {
  /** Identifies the descendants of the command. */
  readonly runId: string;
  readonly environment: Environment;
  readonly clock: Clock;
  /** The socket of the session: the reaper inherits it, so that the session does not end before the reaper exits. */
  readonly socket?: Socket | undefined;
  /** A connection that ends with the server that has the lock. */
  readonly serverConnection?: Socket | undefined;
}

interface PendingCommand {
  readonly command: string;
  readonly onResult: (wasDone: boolean) => void;
}

/** A reaper that is killed more often is not replaced. */
const MAX_RESTARTS = 10;
/** The reaper checks for ten seconds that the processes it killed are gone. */
const MAX_REPLY_MS = 15_000;
const MAX_SIGNAL_MS = 1000;

/**
 * The process that ends the command when the runner cannot: because the runner was killed, or stopped for longer than
 * the lease. It also knows the descendants of the command, so that signals for all of them go through it. If it is
 * stopped, the next command continues it; if it is killed, another one replaces it.
 */
export class Reaper implements Disposable {
  readonly #options: ReaperOptions;
  #process: ReaperProcess | undefined;
  #restarts = 0;
  #pending: PendingCommand[] = [];
  /** The commands that a replacement receives again. */
  #state: string[] = [];
  #deadlineMs: number | undefined;

  /** Throws RunError if it cannot be started. */
  constructor(options: ReaperOptions) {
    this.#options = options;
    this.#process = this.#start();
  }

  /** The command runs, in its own process group or in that of the runner. */
  watch(pid: number, ownsGroup: boolean): void {
    this.#setState(`watch ${pid} ${ownsGroup ? 'own' : 'shared'}`);
  }

  /** The command has ended; its descendants may still run. */
  gone(): void {
    this.#deadlineMs = undefined;
    this.#setState('gone');
  }

  /** Kills everything after this time, unless the deadline is set again before. */
  setDeadline(leftMs: number): void {
    this.#deadlineMs = this.#options.clock.monotonicMs() + leftMs;
    this.#send(`left ${secondsText(leftMs)}`);
  }

  /** Kills everything this long after the server has ended, if the runner does not. */
  watchServer(graceMs: number): void {
    if (this.#options.serverConnection) this.#setState(`server ${secondsText(graceMs)}`);
  }

  /** Sends a signal to the command and its descendants. False: no reply. */
  signal(signal: NodeJS.Signals): Promise<boolean> {
    return this.#request(`signal ${signal.slice('SIG'.length)}`, MAX_SIGNAL_MS);
  }

  /** Ends the processes that are left in the group of the command: SIGTERM first. False: no reply. */
  tidy(): Promise<boolean> {
    return this.#request('tidy', MAX_REPLY_MS);
  }

  /** Kills the command and its descendants. True: none is left. False: unknown. */
  finish(timeoutMs = MAX_REPLY_MS): Promise<boolean> {
    return this.#request('finish', timeoutMs);
  }

  /** Dismisses the reaper: it exits without killing anything. */
  [Symbol.dispose](): void {
    this.#process?.dismiss();
    this.#process = undefined;
    this.#failPending();
  }

  #start(): ReaperProcess {
    return new ReaperProcess(this.#options, {
      onReply: () => this.#pending.shift()?.onResult(true),
      onKilled: () => this.#replace(),
    });
  }

  #replace(): void {
    this.#process = this.#startAnother();
    for (const command of this.#state) this.#send(command);
    if (this.#deadlineMs !== undefined) {
      this.setDeadline(this.#deadlineMs - this.#options.clock.monotonicMs());
    }
    for (const { command } of this.#pending) this.#send(command);
    if (this.#process === undefined) this.#failPending();
  }

  #startAnother(): ReaperProcess | undefined {
    if (this.#restarts === MAX_RESTARTS) return undefined;
    this.#restarts += 1;
    try {
      return this.#start();
    } catch {
      return undefined;
    }
  }

  #setState(command: string): void {
    this.#state.push(command);
    this.#send(command);
  }

  #request(command: string, timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.setTimer(timeoutMs, () => resolve(false));
      const onResult = (wasDone: boolean): void => {
        timer.cancel();
        resolve(wasDone);
      };
      this.#pending.push({ command, onResult });
      this.#send(command);
      if (this.#process === undefined) this.#failPending();
    });
  }

  #send(command: string): void {
    this.#process?.send(command);
  }

  #failPending(): void {
    for (const { onResult } of this.#pending.splice(0)) onResult(false);
  }
}

function secondsText(durationMs: number): string {
  return (Math.max(0, durationMs) / 1000).toFixed(3);
}
