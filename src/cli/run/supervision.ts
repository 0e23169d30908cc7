import diagnostics from 'node:diagnostics_channel';
import type { Clock, Timer } from '../../clock/index.ts';
import { LockError, LockLostError } from '../../lock/index.ts';
import type { Command, Ending } from './command.ts';
import type { LeaseGroup } from './lease-group.ts';
import type { OpenStore } from './open-store.ts';
import type { Reaper } from './reaper.ts';
import type { SignalTarget } from './signal-router.ts';
import type { Witness } from './witness.ts';

/** How much of the lease is kept to end the command in, and of that for the kill itself, at most. */
const ENDING_PART = 1 / 4;
const MAX_ENDING_MS = 10_000;
const KILL_PART = 1 / 12;
const MAX_KILL_MS = 2500;
/** Between SIGTERM and SIGKILL after --max-hold. */
const OVERDUE_GRACE_MS = 5000;
/** The same when the lock may have a new holder already. */
const STOLEN_GRACE_MS = 1000;
/** What is kept for the kill of the time that the next local server waits. */
const LOCAL_MARGIN_MS = 1000;
/** How long the end of the server may take to be known here, when it has come already. */
const NEWS_MS = 50;
/** How long Ctrl-Z waits for the lease to be prolonged. */
const SUSPEND_MS = 500;

export interface SupervisionOptions {
  readonly reaper: Reaper;
  /** On a terminal. */
  readonly witness: Witness | undefined;
  readonly leases: LeaseGroup;
  readonly store: Pick<OpenStore, 'ended' | 'graceMs'>;
  readonly leaseMs: number;
  readonly maxHoldMs: number;
  readonly clock: Clock;
  /** Told why the command is ended, in a sentence. */
  readonly report: (message: string) => void;
  /** Stops this process as Ctrl-Z does. */
  readonly stopSelf: () => void;
}

export interface Outcome extends Ending {
  /** Why it was ended by us, if it was. */
  readonly endedFor: 'lost' | 'overdue' | undefined;
}

/**
 * Watches over a command while the lock is held. It is ended before the lease can end: renewals have three
 * quarters of it to succeed, then comes SIGTERM, and some time before the end SIGKILL. The reaper is told
 * after each renewal how long that is from now, in case this process cannot do it.
 */
export class Supervision implements SignalTarget {
  readonly #options: SupervisionOptions;
  readonly #endingMs: number;
  readonly #killMs: number;
  readonly #onRenew = (): void => this.#tellReaper();
  #command: Command | undefined;
  #hasEnded = false;
  #endedFor: Outcome['endedFor'];
  #leaseTimer: Timer | undefined;
  #holdTimer: Timer | undefined;
  #killTimer: Timer | undefined;

  /** From here on the reaper would kill a command that is found by its runId. */
  constructor(options: SupervisionOptions) {
    const { leaseMs } = options;
    this.#options = options;
    this.#endingMs = Math.min(MAX_ENDING_MS, leaseMs * ENDING_PART);
    this.#killMs = Math.min(MAX_KILL_MS, leaseMs * KILL_PART);
    this.#startCountdowns();
  }

  /** Resolves when the command has ended and nothing of it is left that has to end with it. */
  async watch(command: Command): Promise<Outcome> {
    const { reaper } = this.#options;
    this.#command = command;
    reaper.watch(command.pid, command.ownsGroup);
    // Anew, as a countdown knows only what the reaper knew when it began.
    this.#startCountdowns();
    this.#startWatching();
    const ending = await command.ended;
    this.#hasEnded = true;
    if (await this.#wasKilledForUs(ending)) this.#end('lost', 0);
    this.#stopWatching();
    reaper.gone();
    if (this.#endedFor !== undefined) await this.#finish();
    else if (!command.ownsGroup || command.signal(0)) await this.#tidy();
    return { ...ending, endedFor: this.#endedFor };
  }

  async forward(signal: NodeJS.Signals): Promise<void> {
    // A group that no shell looks after is not stopped by SIGTSTP.
    const sent = signal === 'SIGTSTP' ? 'SIGSTOP' : signal;
    if (this.#command?.ownsGroup) this.#command.signal(sent);
    else await this.#signalAll(sent);
  }

  /** By the reaper, which knows who belongs to the command; without it, to the command at least. */
  async #signalAll(signal: NodeJS.Signals): Promise<void> {
    const isDone = await this.#options.reaper.signal(signal);
    if (!isDone && !this.#hasEnded) this.#command?.signal(signal);
  }

  async gotIt(signal: NodeJS.Signals): Promise<boolean> {
    return this.#options.witness?.saw(signal) ?? true;
  }

  async suspend(): Promise<void> {
    const { leases, clock, stopSelf } = this.#options;
    const patience = new Promise<void>((resolve) => clock.setTimer(SUSPEND_MS, resolve));
    await Promise.race([leases.extend().catch(() => {}), patience]);
    this.#tellReaper();
    stopSelf();
  }

  #startCountdowns(): void {
    const { reaper, store } = this.#options;
    this.#tellReaper();
    reaper.watchServer(store.graceMs - LOCAL_MARGIN_MS);
  }

  #tellReaper(): void {
    const { reaper, leases } = this.#options;
    // One of two leases may be renewed after the other was lost: the time to end in is told already.
    if (this.#endedFor === 'lost') return;
    reaper.setDeadline(leases.leftMs - this.#killMs);
  }

  /** By the reaper, while this process was stopped: it may hear of that before it looks at the clock. */
  async #wasKilledForUs({ signal }: Ending): Promise<boolean> {
    const { leases, store } = this.#options;
    if (signal !== 'SIGKILL') return false;
    if (store.graceMs > 0) await this.#unless(store.ended, NEWS_MS);
    return store.ended.aborted || leases.leftMs <= this.#killMs;
  }

  /** Resolves after this time, or when the signal aborts. */
  #unless(signal: AbortSignal, durationMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#options.clock.setTimer(durationMs, resolve);
      this.#heed(signal, () => {
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

  #heed(signal: AbortSignal, listener: () => void): void {
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
    // After the signal: who is found then is known to this countdown too.
    reaper.setDeadline(graceMs);
    this.#killTimer?.cancel();
    this.#killTimer = clock.setTimer(
      Math.max(0, graceMs),
      () => void this.#finish(this.#killMs / 2),
    );
    // Last: where nobody reads stderr this process hangs here, and the reaper does the rest.
    this.#report(reason);
  }

  /**
   * By the reaper, which knows who belongs to the command as long as that lives; without it, at least
   * the command's group.
   */
  async #finish(longestMs?: number): Promise<void> {
    const isDone = await this.#options.reaper.finish(longestMs);
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
    else if (store.ended.aborted) report(`${whatEnded(store)} has ended: the command is ended.`);
    else if (leases.lost.reason instanceof LockError) {
      report(`${leases.lost.reason.message.replace(/\.?$/, '.')} The command is ended.`);
    } else report('the lease could not be renewed and is about to end: the command is ended.');
  }

  #startWatching(): void {
    const { leases, store, clock, maxHoldMs } = this.#options;
    diagnostics.subscribe('holdfast:renew', this.#onRenew);
    this.#heed(leases.lost, this.#onLost);
    this.#heed(store.ended, this.#onStoreEnded);
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

function whatEnded({ graceMs }: SupervisionOptions['store']): string {
  return graceMs > 0 ? 'the local server' : 'the session, and the lock with it,';
}
