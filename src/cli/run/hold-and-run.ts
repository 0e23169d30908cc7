import { randomBytes } from 'node:crypto';
import { systemClock } from '../../clock/index.ts';
import { LockArgumentError, LockUnavailableError } from '../../lock/index.ts';
import { type Io, printError, UsageError } from '../verb.ts';
import { Command, codeOfSignal } from './command.ts';
import { EXIT_CODES, RunError } from './exit-codes.ts';
import { Guardian } from './guardian.ts';
import { type Held, locksFor } from './held.ts';
import { type OpenStore, openStore } from './open-store.ts';
import { withoutPasswords } from './passwords.ts';
import { checkProgram } from './program.ts';
import type { RunRequest } from './run-options.ts';
import { Signals } from './signals.ts';
import { type Outcome, Supervision, type SupervisionOptions } from './supervision.ts';
import { takeAll } from './take.ts';
import { closeStreams, hasTerminal } from './terminal.ts';
import { WaitingLine } from './waiting-line.ts';
import type { Witness } from './witness.ts';

/** Runs the command while the lock is held; gives the exit code. Throws UsageError. */
export async function holdAndRun(request: RunRequest, io: Io): Promise<number> {
  const isOnTerminal = hasTerminal();
  using signals = new Signals(isOnTerminal);
  using _alive = keepAlive();
  const { code, signal } = await new Run(request, io, signals, isOnTerminal).end();
  // A script on this terminal goes on after Ctrl-C unless who it waits for dies of it.
  if (isOnTerminal && signal === 'SIGINT') signals.takeEffect(signal);
  if (isOnTerminal && !hasTerminal()) closeStreams();
  return code;
}

/** Loaded where there is a terminal: nowhere else is it needed. */
async function startWitness(): Promise<Witness> {
  const { Witness } = await import('./witness.ts');
  return new Witness(systemClock);
}

/** Whoever waits without an end, for a store that is away, has nothing else that keeps a process alive. */
function keepAlive(): Disposable {
  const timer = systemClock.setTimer(Number.MAX_SAFE_INTEGER, () => {});
  timer.keepAlive(true);
  return { [Symbol.dispose]: () => timer.cancel() };
}

/** How long a server that went away is not asked. */
const RETRY_MS = 500;

interface End {
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
}

type Helpers = Pick<SupervisionOptions, 'guardian' | 'witness' | 'store'>;

class Run {
  readonly #request: RunRequest;
  readonly #io: Io;
  readonly #signals: Signals;
  readonly #isOnTerminal: boolean;
  /** By which descendants of the command are known, also those that left its group. */
  readonly #cookie = randomBytes(12).toString('hex');

  constructor(request: RunRequest, io: Io, signals: Signals, isOnTerminal: boolean) {
    this.#request = request;
    this.#io = io;
    this.#signals = signals;
    this.#isOnTerminal = isOnTerminal;
  }

  async end(): Promise<End> {
    const end = await this.#attempt().catch((error: unknown) => this.#explain(error));
    const { interruptedBy } = this.#signals;
    if (interruptedBy === undefined) return end;
    return { code: codeOfSignal(interruptedBy), signal: interruptedBy };
  }

  async #attempt(): Promise<End> {
    checkProgram(this.#request.command, this.#io.environment.PATH);
    const untilMs = systemClock.monotonicMs() + this.#request.waitMs;
    let end = await this.#attemptOnce(untilMs);
    while (end === undefined) {
      end = await this.#attemptOnce(untilMs).catch((error: unknown) => this.#pause(error, untilMs));
    }
    return end;
  }

  /** A server that was there before may come back. The local one is started by who needs it. */
  async #pause(error: unknown, untilMs: number): Promise<undefined> {
    const isAway = error instanceof RunError && error.end === 'unavailable';
    const isOver = systemClock.monotonicMs() >= untilMs;
    if (!isAway || isOver || this.#request.place.url === undefined) throw error;
    const { interrupted } = this.#signals;
    await new Promise<void>((resolve) => {
      systemClock.setTimer(RETRY_MS, resolve);
      interrupted.addEventListener('abort', () => resolve(), { once: true });
    });
    interrupted.throwIfAborted();
  }

  /** Undefined: the session has ended while the lock was waited for, and there is patience left. */
  async #attemptOnce(untilMs: number): Promise<End | undefined> {
    const { environment } = this.#io;
    const { interrupted } = this.#signals;
    await using store = await openStore(this.#request.place, environment, interrupted);
    // Asked first, so that the guardian starts while the question is on its way.
    const taking = this.#take(store, untilMs);
    taking.catch(() => {});
    using guardian = new Guardian({
      socket: store.socket,
      serverLine: await store.serverLine,
      cookie: this.#cookie,
      environment,
      clock: systemClock,
    });
    using witness = this.#isOnTerminal ? await startWitness() : undefined;
    const held = await taking;
    if (held === undefined) return undefined;
    try {
      const outcome = await this.#runHeld(held, { guardian, witness, store });
      return await this.#giveBack(held, outcome);
    } finally {
      await held.release();
    }
  }

  async #take({ locks, ended }: OpenStore, untilMs: number): Promise<Held | undefined> {
    const leftMs = (): number => Math.max(0, untilMs - systemClock.monotonicMs());
    try {
      return await takeAll(locksFor(locks, this.#request), {
        request: { ...this.#request, waitMs: leftMs() },
        clock: systemClock,
        signal: AbortSignal.any([this.#signals.interrupted, ended]),
        waitingLine: new WaitingLine(this.#io, systemClock),
        report: (message) => this.#report(message),
        isNested: this.#io.environment.HOLDFAST_RUN !== undefined,
      });
    } catch (error) {
      if (!ended.aborted || this.#signals.interrupted.aborted) throw error;
      if (leftMs() > 0) return undefined;
      throw new RunError('unavailable', 'the server has ended.');
    }
  }

  async #runHeld(held: Held, helpers: Helpers): Promise<Outcome> {
    this.#signals.interrupted.throwIfAborted();
    // Both before the command starts: from then on this process may be stopped or killed at any point.
    const supervision = new Supervision({
      ...this.#request,
      ...helpers,
      held,
      clock: systemClock,
      report: (message) => this.#report(message),
      stopSelf: () => this.#signals.takeEffect('SIGTSTP'),
    });
    this.#signals.forwardTo(supervision);
    try {
      const command = await this.#start(held);
      this.#signals.forwardAll();
      return await supervision.watch(command);
    } finally {
      this.#signals.stopForwarding();
    }
  }

  async #start(held: Held): Promise<Command> {
    const { command, args } = this.#request;
    try {
      return await Command.start({
        command,
        args,
        environment: this.#environment(held),
        ownsGroup: !this.#isOnTerminal,
      });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const end = code === 'ENOENT' ? 'notFound' : 'notExecutable';
      throw new RunError(end, `'${command}' cannot be started (${code}).`);
    }
  }

  /** A run inside of a run carries the cookies of both. */
  #environment({ fence }: Held): NodeJS.ProcessEnv {
    const { environment } = this.#io;
    const cookies = `${environment.HOLDFAST_RUN ?? ''} ${this.#cookie}`.trim();
    return {
      ...withoutPasswords(environment),
      HOLDFAST_RUN: cookies,
      HOLDFAST_LOCK: this.#request.lock.name,
      HOLDFAST_FENCE: String(fence),
    };
  }

  async #giveBack(held: Held, { code, signal, endedFor }: Outcome): Promise<End> {
    const released = await held.release();
    if (endedFor !== undefined) return ownEnd(endedFor);
    if (released === 'notHeld') {
      throw new RunError('lost', 'the lock was lost while the command still ran.');
    }
    if (released === 'unknown') {
      this.#report('the store does not answer: the lock stays busy until its lease ends.');
    }
    return { code, signal };
  }

  #explain(error: unknown): End {
    if (this.#signals.interrupted.aborted) return ownEnd('failed');
    if (error instanceof LockArgumentError)
      throw new UsageError(error.message.replace(/\.?$/, '.'));
    const failure =
      error instanceof LockUnavailableError ? new RunError('unavailable', error.message) : error;
    if (!(failure instanceof RunError)) throw error;
    this.#report(failure.message);
    return ownEnd(failure.end);
  }

  #report(message: string): void {
    printError(this.#io, message);
  }
}

function ownEnd(end: keyof typeof EXIT_CODES): End {
  return { code: EXIT_CODES[end].code, signal: null };
}
