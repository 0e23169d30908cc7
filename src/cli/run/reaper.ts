import type { Socket } from 'node:net';
import type { Clock } from '../../clock/index.ts';
import type { Environment } from '../verb.ts';
import { ReaperProcess } from './reaper-process.ts';

interface ReaperOptions {
  /** By which the descendants of the command are known. */
  readonly runId: string;
  readonly environment: Environment;
  readonly clock: Clock;
  /** The session's, which then ends no earlier than the reaper does. */
  readonly socket?: Socket | undefined;
  /** A connection whose end is that of the server that keeps the lock. */
  readonly serverConnection?: Socket | undefined;
}

interface Question {
  readonly order: string;
  readonly answer: (wasDone: boolean) => void;
}

/** Who kills it ten times wants something else. */
const MAX_RESTARTS = 10;
/** It looks again for ten seconds whether what it killed has gone. */
const MAX_ANSWER_MS = 15_000;
const MAX_SIGNAL_MS = 1000;

/**
 * The process that ends the command when the runner cannot: because it was killed, or stopped for longer
 * than the lease. It also knows the command's descendants, so that signals for all of them go through it.
 * If it is stopped, the next order wakes it; if it is killed, another one takes its place.
 */
export class Reaper implements Disposable {
  readonly #options: ReaperOptions;
  #process: ReaperProcess | undefined;
  #replacements = 0;
  #questions: Question[] = [];
  /** What a new one has to be told. */
  #standing: string[] = [];
  #deadlineMs: number | undefined;

  /** Throws RunError if it cannot be started. */
  constructor(options: ReaperOptions) {
    this.#options = options;
    this.#process = this.#start();
  }

  /** The command runs; whether in a group of its own. */
  watch(pid: number, ownsGroup: boolean): void {
    this.#stand(`watch ${pid} ${ownsGroup ? 'own' : 'shared'}`);
  }

  /** The command has ended; what it started may not have. */
  gone(): void {
    this.#deadlineMs = undefined;
    this.#stand('gone');
  }

  /** Unless told otherwise within this time, everything is to be killed. */
  setDeadline(leftMs: number): void {
    this.#deadlineMs = this.#options.clock.monotonicMs() + leftMs;
    this.#order(`left ${secondsText(leftMs)}`);
  }

  /** Everything is to be killed so long after the server has ended, if the runner does not do it. */
  watchServer(graceMs: number): void {
    if (this.#options.serverConnection) this.#stand(`server ${secondsText(graceMs)}`);
  }

  /** To the command and all that it started. False: it did not answer. */
  signal(signal: NodeJS.Signals): Promise<boolean> {
    return this.#ask(`signal ${signal.slice('SIG'.length)}`, MAX_SIGNAL_MS);
  }

  /** Ends what is left of the command's group, gently. False: it did not answer. */
  tidy(): Promise<boolean> {
    return this.#ask('tidy', MAX_ANSWER_MS);
  }

  /** Kills the command and all that it started; true when none of them is left, false if that is not known. */
  finish(longestMs = MAX_ANSWER_MS): Promise<boolean> {
    return this.#ask('finish', longestMs);
  }

  /** It is no longer needed. */
  [Symbol.dispose](): void {
    this.#process?.dismiss();
    this.#process = undefined;
    this.#answerAll();
  }

  #start(): ReaperProcess {
    return new ReaperProcess(this.#options, {
      onAnswer: () => this.#questions.shift()?.answer(true),
      onKilled: () => this.#replace(),
    });
  }

  #replace(): void {
    this.#process = this.#startAnother();
    for (const order of this.#standing) this.#order(order);
    if (this.#deadlineMs !== undefined) {
      this.setDeadline(this.#deadlineMs - this.#options.clock.monotonicMs());
    }
    for (const { order } of this.#questions) this.#order(order);
    if (this.#process === undefined) this.#answerAll();
  }

  #startAnother(): ReaperProcess | undefined {
    if (this.#replacements === MAX_RESTARTS) return undefined;
    this.#replacements += 1;
    try {
      return this.#start();
    } catch {
      return undefined;
    }
  }

  #stand(order: string): void {
    this.#standing.push(order);
    this.#order(order);
  }

  #ask(order: string, longestMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.setTimer(longestMs, () => resolve(false));
      const answer = (wasDone: boolean): void => {
        timer.cancel();
        resolve(wasDone);
      };
      this.#questions.push({ order, answer });
      this.#order(order);
      if (this.#process === undefined) this.#answerAll();
    });
  }

  #order(order: string): void {
    this.#process?.order(order);
  }

  #answerAll(): void {
    for (const { answer } of this.#questions.splice(0)) answer(false);
  }
}

function secondsText(durationMs: number): string {
  return (Math.max(0, durationMs) / 1000).toFixed(3);
}
