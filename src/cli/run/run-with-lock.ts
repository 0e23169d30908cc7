import { randomBytes } from 'node:crypto';
import { systemClock } from '../../clock/index.ts';
import { isFinal, LockArgumentError, LockUnavailableError } from '../../lock/index.ts';
import { storeAdvice } from '../store-advice.ts';
import { type Io, printError, UsageError } from '../verb.ts';
import { acquireAll } from './acquire.ts';
import { Command, codeOfSignal } from './command.ts';
import { EXIT_CODES, type OwnEnd, RunError } from './exit-codes.ts';
import { type LeaseGroup, locksOf } from './lease-group.ts';
import { type OpenStore, openStore } from './open-store.ts';
import { withoutPasswords } from './passwords.ts';
import { checkProgram } from './program.ts';
import { Reaper } from './reaper.ts';
import type { RunRequest } from './run-options.ts';
import { SignalRouter } from './signal-router.ts';
import { type Outcome, Supervision, type SupervisionOptions } from './supervision.ts';
import { closeStreams, hasTerminal } from './terminal.ts';
import { WaitStatus } from './wait-status.ts';
import type { Witness } from './witness.ts';

/** Runs the command while the lock is held. Returns the exit code. Throws UsageError. */
export async function runWithLock(request: RunRequest, io: Io): Promise<number> {
  const isOnTerminal = hasTerminal();
  using signals = new SignalRouter(isOnTerminal);
  using _alive = keepAlive();
  const { code, signal } = await new Run(request, io, signals, isOnTerminal).end();
  // A shell script continues after Ctrl-C unless the process that it waits for dies by SIGINT.
  if (isOnTerminal && signal === 'SIGINT') signals.takeEffect(signal);
  if (isOnTerminal && !hasTerminal()) closeStreams();
  return code;
}

/** Loaded on a terminal only. */
async function startWitness(): Promise<Witness> {
  const { Witness } = await import('./witness.ts');
  return new Witness(systemClock);
}

/** While a run waits for an unreachable store, nothing else keeps the process alive. */
function keepAlive(): Disposable {
  const timer = systemClock.setTimer(Number.MAX_SAFE_INTEGER, () => {});
  timer.keepAlive(true);
  return { [Symbol.dispose]: () => timer.cancel() };
}

/** Pause before a store that became unreachable is tried again. */
const RETRY_MS = 500;

interface End {
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
}

type Helpers = Pick<SupervisionOptions, 'reaper' | 'witness' | 'store'>;

class Run {
  readonly #request: RunRequest;
  readonly #io: Io;
  readonly #signals: SignalRouter;
  readonly #isOnTerminal: boolean;
  readonly #waitStatus: WaitStatus;
  /** In the environment of the command: identifies its descendants, also those that left its process group. */
  readonly #runId = randomBytes(12).toString('hex');

  constructor(request: RunRequest, io: Io, signals: SignalRouter, isOnTerminal: boolean) {
    this.#request = request;
    this.#io = io;
    this.#signals = signals;
    this.#isOnTerminal = isOnTerminal;
    this.#waitStatus = new WaitStatus(io, systemClock);
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

  /** A server that was reachable before may come back. The local server needs no pause: the run starts it. */
  async #pause(error: unknown, untilMs: number): Promise<undefined> {
    const isUnavailable = error instanceof RunError && error.end === 'unavailable';
    const isOver = systemClock.monotonicMs() >= untilMs;
    if (!isUnavailable || isOver || this.#request.store === undefined) throw error;
    const { interrupted } = this.#signals;
    await new Promise<void>((resolve) => {
      systemClock.setTimer(RETRY_MS, resolve);
      interrupted.addEventListener('abort', () => resolve(), { once: true });
    });
    interrupted.throwIfAborted();
  }

  /** Undefined: the session ended while the run waited for the lock, and the wait timeout is not over. */
  async #attemptOnce(untilMs: number): Promise<End | undefined> {
    const { environment } = this.#io;
    const { interrupted } = this.#signals;
    await using store = await openStore(this.#request, environment, interrupted);
    // The request is sent first, so that the reaper starts while the reply is under way.
    const acquiring = this.#acquire(store, untilMs);
    acquiring.catch(() => {});
    using reaper = new Reaper({
      socket: store.socket,
      serverConnection: await store.serverConnection,
      runId: this.#runId,
      environment,
      clock: systemClock,
    });
    using witness = this.#isOnTerminal ? await startWitness() : undefined;
    const leases = await acquiring;
    if (leases === undefined) return undefined;
    // If the command cannot be started, closing the store releases the locks, also with --keep-for.
    const outcome = await this.#runCommand(leases, { reaper, witness, store });
    return await this.#release(leases, outcome);
  }

  async #acquire({ locks, ended }: OpenStore, untilMs: number): Promise<LeaseGroup | undefined> {
    const leftMs = (): number => Math.max(0, untilMs - systemClock.monotonicMs());
    try {
      return await acquireAll(locksOf(locks, this.#request), {
        request: { ...this.#request, waitMs: leftMs() },
        clock: systemClock,
        signal: AbortSignal.any([this.#signals.interrupted, ended]),
        waitStatus: this.#waitStatus,
        report: (message) => this.#report(message),
        isNested: this.#io.environment.HOLDFAST_RUN !== undefined,
      });
    } catch (error) {
      if (!ended.aborted || this.#signals.interrupted.aborted) throw error;
      if (leftMs() > 0) return undefined;
      throw new RunError('unavailable', 'the server has ended.');
    }
  }

  async #runCommand(leases: LeaseGroup, helpers: Helpers): Promise<Outcome> {
    this.#signals.interrupted.throwIfAborted();
    // Both before the command starts: from then on this process may be stopped or killed at any time.
    const supervision = new Supervision({
      ...this.#request,
      ...helpers,
      leases,
      clock: systemClock,
      report: (message) => this.#report(message),
      stopSelf: () => this.#signals.takeEffect('SIGTSTP'),
    });
    this.#signals.forwardTo(supervision);
    try {
      const command = await this.#start(leases);
      this.#signals.forwardAll();
      return await supervision.watch(command);
    } finally {
      this.#signals.stopForwarding();
    }
  }

  async #start(leases: LeaseGroup): Promise<Command> {
    const { command, args } = this.#request;
    try {
      return await Command.start({
        command,
        args,
        environment: this.#environment(leases),
        ownsGroup: !this.#isOnTerminal,
      });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const end = code === 'ENOENT' ? 'notFound' : 'notExecutable';
      throw new RunError(end, `'${command}' cannot be started (${code}).`);
    }
  }

  /** The command of a nested run has the ids of both runs. */
  #environment({ fence }: LeaseGroup): NodeJS.ProcessEnv {
    const { environment } = this.#io;
    const runIds = `${environment.HOLDFAST_RUN ?? ''} ${this.#runId}`.trim();
    return {
      ...withoutPasswords(environment),
      HOLDFAST_RUN: runIds,
      HOLDFAST_LOCK: this.#request.lock.name,
      // Undefined also removes the fence of an outer run.
      HOLDFAST_FENCE: fence === undefined ? undefined : String(fence),
    };
  }

  async #release(leases: LeaseGroup, { code, signal, endedFor }: Outcome): Promise<End> {
    const released = await leases.release();
    if (endedFor !== undefined) return this.#ownEnd(endedFor);
    if (released === 'not-held') {
      throw new RunError('lost', 'the lock was lost while the command still ran.');
    }
    if (released === 'unknown') {
      this.#report('the store does not answer: the lock stays busy until its lease ends.');
    }
    return { code, signal };
  }

  #explain(error: unknown): End {
    if (this.#signals.interrupted.aborted) return this.#ownEnd('failed');
    if (error instanceof LockArgumentError) throw new UsageError(withStop(error.message));
    const failure = this.#failureOf(error);
    if (!(failure instanceof RunError)) throw error;
    const end = this.#ownEnd(failure.end);
    // --busy-code 0: a busy lock is no failure, and cron sends a mail for each line.
    if (failure.end !== 'busy' || end.code !== 0) this.#report(failure.message);
    return end;
  }

  #failureOf(error: unknown): unknown {
    if (error instanceof LockUnavailableError) return this.#unavailable(error);
    // The code of the store cannot be loaded.
    return isFinal(error) ? new RunError('failed', withStop((error as Error).message)) : error;
  }

  #unavailable(error: LockUnavailableError): RunError {
    const { store } = this.#request;
    const advice = store === undefined || 'scheme' in store ? '' : storeAdvice(error, store);
    return new RunError('unavailable', `${withStop(error.message)}${advice}`);
  }

  #ownEnd(end: OwnEnd): End {
    const code = end === 'busy' ? this.#request.busyCode : EXIT_CODES[end].code;
    return { code, signal: null };
  }

  #report(message: string): void {
    printError(this.#io, message);
  }
}

function withStop(message: string): string {
  return message.replace(/\.?$/, '.');
}
