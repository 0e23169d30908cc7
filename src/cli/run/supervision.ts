import diagnostics from 'node:diagnostics_channel';
import type { Clock, Timer } from '../../clock/index.ts';
import { LockError, LockLostError } from '../../lock/index.ts';
import type { Command, Ending } from './command.ts';
import type { LeaseGroup } from './lease-group.ts';
import type { OpenStore } from './open-store.ts';
import type { Reaper } from './reaper.ts';
import type { SignalTarget } from './signal-router.ts';
import type { Witness } from './witness.ts';

/** Part of the lease that is reserved to end the command, and of that for SIGKILL; both have a maximum. */
const ENDING_PART = 1 / 4;
const MAX_ENDING_MS = 10_000;
const KILL_PART = 1 / 12;
const MAX_KILL_MS = 2500;
/** Between SIGTERM and SIGKILL after --max-hold. */
const OVERDUE_GRACE_MS = 5000;
/** The same when the lock may already have a new holder. */
const STOLEN_GRACE_MS = 1000;
/** Reserved for SIGKILL, of the time that the next local server waits. */
const LOCAL_MARGIN_MS = 1000;
/** Maximum delay until this process notices that the server has ended. */
const NOTICE_MS = 50;
/** Maximum time that Ctrl-Z waits for the lease to be extended. */
const SUSPEND_MS = 500;

export interface SupervisionOptions {
  readonly reaper: Reaper;
  /** On a terminal only. */
  readonly witness: Witness | undefined;
  readonly leases: LeaseGroup;
  readonly store: Pick<OpenStore, 'ended' | 'graceMs'>;
  readonly leaseMs: number;
  readonly maxHoldMs: number;
  readonly clock: Clock;
  /** Prints the reason why the command is ended, as a sentence. */
  readonly report: (message: string) => void;
  /** Stops this process as Ctrl-Z does. */
  readonly stopSelf: () => void;
}

export interface Outcome extends Ending {
  /** The reason, if the run ended the command. */
  readonly endedFor: 'lost' | 'overdue' | undefined;
}

/**
 * Supervises a command while the lock is held, and ends it before the lease can end: renewals have three quarters of
 * the lease to succeed, then the command gets SIGTERM, and some time before the end SIGKILL. After each renewal the
 * reaper receives the new deadline, in case this process is stopped or killed.
 */
export class Supervision implements SignalTarget {
  readonly #options: SupervisionOptions;
  readonly #endingMs: number;
  readonly #killMs: number;
  readonly #onRenew = (): void => this.#setDeadline();
  #command: Command | undefined;
  #hasEnded = false;
  #endedFor: Outcome['endedFor'];
  #leaseTimer: Timer | undefined;
  #holdTimer: Timer | undefined;
  #killTimer: Timer | undefined;

  /** From now on the reaper kills a command with the run id at the deadline. */
  constructor(options: SupervisionOptions) {
    const { leaseMs } = options;
    this.#options = options;
    this.#endingMs = Math.min(MAX_ENDING_MS, leaseMs * ENDING_PART);
    this.#killMs = Math.min(MAX_KILL_MS, leaseMs * KILL_PART);
    this.#startCountdowns();
  }

  /** Resolves when the command and the processes that must end with it have ended. */
  async watch(command: Command): Promise<Outcome> {
    const { reaper } = this.#options;
    this.#command = command;
    reaper.watch(command.pid, command.ownsGroup);
    // Again: a countdown kills the processes that the reaper knew when the countdown began.
    this.#startCountdowns();
    this.#startWatching();
    const ending = await command.ended;
    this.#hasEnded = true;
    if (await this.#wasKilledByReaper(ending)) this.#end('lost', 0);
    this.#stopWatching();
    reaper.gone();
    if (this.#endedFor !== undefined) await this.#finish();
    else if (!command.ownsGroup || command.signal(0)) await this.#tidy();
    return { ...ending, endedFor: this.#endedFor };
  }

  async forward(signal: NodeJS.Signals): Promise<void> {
    // The kernel does not stop an orphaned process group by SIGTSTP.
    const sent = signal === 'SIGTSTP' ? 'SIGSTOP' : signal;
    if (this.#command?.ownsGroup) this.#command.signal(sent);
    else await this.#signalAll(sent);
  }

  /** Through the reaper, which knows the descendants of the command; if it fails, to the command alone. */
  async #signalAll(signal: NodeJS.Signals): Promise<void> {
    const isDone = await this.#options.reaper.signal(signal);
    if (!isDone && !this.#hasEnded) this.#command?.signal(signal);
  }

  async wasShared(signal: NodeJS.Signals): Promise<boolean> {
    return this.#options.witness?.saw(signal) ?? true;
  }

  async suspend(): Promise<void> {
    const { leases, clock, stopSelf } = this.#options;
    const timeout = new Promise<void>((resolve) => clock.setTimer(SUSPEND_MS, resolve));
    await Promise.race([leases.extend().catch(() => {}), timeout]);
    this.#setDeadline();
    stopSelf();
  }

  #startCountdowns(): void {
    const { reaper, store } = this.#options;
    this.#setDeadline();
    reaper.watchServer(store.graceMs - LOCAL_MARGIN_MS);
  }

  #setDeadline(): void {
    const { reaper, leases } = this.#options;
    // One of two leases may be renewed after the other was lost: the deadline is set already.
    if (this.#endedFor === 'lost') return;
    reaper.setDeadline(leases.leftMs - this.#killMs);
  }

  /** Whether the reaper killed the command while this process was stopped, before its own timers could run. */
  async #wasKilledByReaper({ signal }: Ending): Promise<boolean> {
    const { leases, store } = this.#options;
    if (signal !== 'SIGKILL') return false;
    if (store.graceMs > 0) await this.#unless(store.ended, NOTICE_MS);
    return store.ended.aborted || leases.leftMs <= this.#killMs;
  }

  /** Resolves after this time, or when the signal aborts. */
  #unless(signal: AbortSignal, durationMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.setTimer(durationMs, resolve);
      this.#onAbort(signal, () => {
        timer.cancel();
        resolve();
      });
    });
  }

  #watchLease(): void {
    const { clock, leases } = this.#options;
    const leftMs = leases.leftMs - this.#endingMs;
    if (leftMs <= 0) this.#end('lost', leases.leftMs - this.#killMs);
    else this.#leaseTimer = clock.setTimer(leftMs, () => this.#watchLease());
  }

  readonly #onLost = (): void => {
    const { reason } = this.#options.leases.lost;
    const isStolen = reason instanceof LockLostError && reason.reason === 'stolen';
    this.#end('lost', isStolen ? STOLEN_GRACE_MS : 0);
  };

  readonly #onStoreEnded = (): void => {
    const { graceMs } = this.#options.store;
    this.#end('lost', graceMs > 0 ? graceMs - LOCAL_MARGIN_MS : STOLEN_GRACE_MS);
  };

  #onAbort(signal: AbortSignal, listener: () => void): void {
    signal.addEventListener('abort', listener);
    if (signal.aborted) listener();
  }

  /** SIGTERM now, SIGKILL later, or sooner if that was to come later. */
  #end(reason: 'lost' | 'overdue', graceMs: number): void {
    const { reaper, clock } = this.#options;
    if (this.#endedFor === 'lost') return;
    const isFirst = this.#endedFor === undefined;
    this.#endedFor = reason;
    if (isFirst) void this.#signalAll('SIGTERM');
    // After the signal: the countdown then kills the processes that the signal found.
    reaper.setDeadline(graceMs);
    this.#killTimer?.cancel();
    this.#killTimer = clock.setTimer(
      Math.max(0, graceMs),
      () => void this.#finish(this.#killMs / 2),
    );
    // Last: if stderr is a full pipe this process blocks here, and the reaper ends the command.
    this.#report(reason);
  }

  /** Through the reaper, which knows the descendants of the command; if it fails, the process group at least. */
  async #finish(timeoutMs?: number): Promise<void> {
    const isDone = await this.#options.reaper.finish(timeoutMs);
    if (!isDone) this.#killGroup();
  }

  async #tidy(): Promise<void> {
    const isDone = await this.#options.reaper.tidy();
    if (!isDone) this.#killGroup();
  }

  #killGroup(): void {
    const command = this.#command;
    if (command === undefined || (this.#hasEnded && !command.ownsGroup)) return;
    command.signal('SIGKILL');
  }

  #report(reason: 'lost' | 'overdue'): void {
    const { report, leases, store } = this.#options;
    if (reason === 'overdue') report('--max-hold is over: the command is ended.');
    else if (store.ended.aborted) report(`${endedText(store)} has ended: the command is ended.`);
    else if (leases.lost.reason instanceof LockError) {
      report(`${leases.lost.reason.message.replace(/\.?$/, '.')} The command is ended.`);
    } else report('the lease could not be renewed and is about to end: the command is ended.');
  }

  #startWatching(): void {
    const { leases, store, clock, maxHoldMs } = this.#options;
    diagnostics.subscribe('holdfast:renew', this.#onRenew);
    this.#onAbort(leases.lost, this.#onLost);
    this.#onAbort(store.ended, this.#onStoreEnded);
    this.#watchLease();
    if (Number.isFinite(maxHoldMs)) {
      this.#holdTimer = clock.setTimer(maxHoldMs, () => this.#end('overdue', OVERDUE_GRACE_MS));
    }
  }

  #stopWatching(): void {
    diagnostics.unsubscribe('holdfast:renew', this.#onRenew);
    const { leases, store } = this.#options;
    leases.lost.removeEventListener('abort', this.#onLost);
    store.ended.removeEventListener('abort', this.#onStoreEnded);
    for (const timer of [this.#leaseTimer, this.#holdTimer, this.#killTimer]) timer?.cancel();
  }
}

function endedText({ graceMs }: SupervisionOptions['store']): string {
  return graceMs > 0 ? 'the local server' : 'the session, and the lock with it,';
}
