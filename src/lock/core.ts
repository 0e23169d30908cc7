import type { Clock, Random } from '../clock/index.ts';
import { AbortHub } from './abort-hub.ts';
import type { Attempt } from './attempt.ts';
import { DueLists } from './due-list.ts';
import { LockArgumentError, LockUnavailableError } from './errors.ts';
import { announce } from './events.ts';
import { letGo } from './let-go.ts';
import { memoryStore } from './memory-store.ts';
import { Scopes } from './scope.ts';
import type { Hold, HolderInfo, Inspection, LockStore, Target } from './store.ts';
import { Watchdog } from './watchdog.ts';
import type { WorkerRenewals } from './worker-renewals.ts';

/**
 * What all locks of one `createLocks` share: the store, the clock, the leases that are held, and who
 * waits to be called.
 */
export class LockCore {
  readonly clock: Clock;
  readonly store: LockStore;
  readonly watchdog: Watchdog;
  /** The bodies of run() that hold locks of this store. */
  readonly scopes = new Scopes();
  readonly aborts = new AbortHub<{ aborted(): void }>();
  readonly #random: Random;
  readonly #info: HolderInfo;
  readonly #ownerPrefix: string;
  /** Owners are named in blocks, by the names of the blocks and those within one. */
  #ownerCount = 0;
  #ownerBlock = '';
  /** All attempts, by how long they wait. Who waits for a lock wants to live until then. */
  readonly #patience: DueLists<Attempt>;
  /** How much there is that close() waits for, and who is told when nothing is left. */
  #workCount = 0;
  #onIdle = (): void => {};
  readonly #pauses = new Set<() => void>();
  #closed: { readonly reason: unknown } | undefined;
  #closing: Promise<void> | undefined;

  constructor({ clock, random, store, info, worker }: CoreOptions) {
    this.clock = clock;
    this.store = store;
    this.#random = random;
    this.#info = { ...info, label: '' };
    // 96 bits of chance, once; counting makes the rest as unique, and costs less than a lock in memory.
    this.#ownerPrefix = store.ownerPrefix ?? `${Buffer.from(random.bytes(12)).toString('hex')}.`;
    this.watchdog = new Watchdog(clock, worker);
    this.#patience = new DueLists(clock, (attempt) => attempt.outOfPatience(), true);
    if (inUse.has(store)) throw new LockArgumentError('', TAKEN);
    inUse.add(store);
    this.store.onLost?.((reason) => {
      for (const lease of this.watchdog.leases()) lease.stolenElsewhere(reason);
    });
  }

  /** Why the library was closed, once it was. */
  get closed(): { readonly reason: unknown } | undefined {
    return this.#closed;
  }

  /** Locks of this process alone, with the same clock. */
  inMemory(): LockCore {
    const { clock } = this;
    return new LockCore({
      clock,
      random: this.#random,
      store: memoryStore(clock),
      info: this.#info,
    });
  }

  /** A name that nobody else has. */
  newOwner(): string {
    const within = this.#ownerCount % NAMES.length;
    const block = (this.#ownerCount - within) / NAMES.length;
    if (within === 0) this.#ownerBlock = this.#ownerPrefix + block.toString(36);
    this.#ownerCount++;
    return this.#ownerBlock + NAMES[within];
  }

  infoOf(label: string): HolderInfo {
    return label === '' ? this.#info : { ...this.#info, label };
  }

  /** From now on the attempt is told of the end of its patience, and of close(). */
  began(attempt: Attempt): void {
    // Who asks once waits for the answer, for as long as the store takes.
    this.#patience.add(attempt, attempt.waitMs || Number.POSITIVE_INFINITY, attempt.beganMs);
  }

  /** Ends early when the library is closed. */
  async pause(durationMs: number): Promise<void> {
    if (this.closed !== undefined) return;
    await new Promise<void>((resolve) => {
      const end = (): void => {
        this.#pauses.delete(end);
        timer.cancel();
        resolve();
      };
      const timer = this.clock.setTimer(durationMs, end);
      this.#pauses.add(end);
    });
  }

  /** Releases what nobody will use. If the store does not hear of it, the lease, or place, ends by itself. */
  giveBack(hold: Hold, leaseMs: number): void {
    const endsInMs = leaseMs + PLACE_MS;
    const nowMs = this.clock.monotonicMs();
    this.track((async () => letGo(this, hold, undefined, nowMs, endsInMs))());
  }

  /** Something that close() waits for, for a while: a lock may be left behind if it is cut short. */
  track(work: Promise<unknown>): void {
    this.#workCount++;
    const done = (): void => {
      if (--this.#workCount === 0) this.#onIdle();
    };
    work.then(done, done);
  }

  async #finishWork(): Promise<void> {
    let isOver = false;
    const timer = this.clock.setTimer(CLOSING_MS, () => {
      isOver = true;
      this.#onIdle();
    });
    // What ends may have led to more.
    while (this.#workCount > 0 && !isOver) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    timer.cancel();
  }

  inspect(target: Target): Promise<Inspection> {
    return this.told(target, this.store.inspect(target));
  }

  /** A failure of the store has the library's own error. */
  async told<Result>({ name }: Target, answer: Result | Promise<Result>): Promise<Result> {
    try {
      return await answer;
    } catch (error) {
      throw new LockUnavailableError(name, error);
    }
  }

  async forceRelease(target: Target): Promise<number> {
    const holders = await this.told(target, this.store.forceRelease(target));
    announce('force', () => ({ lock: target.name, kind: target.kind, holders }));
    return holders;
  }

  /** However often it is called: when it resolves, all is done. */
  close(reason: unknown): Promise<void> {
    this.#closing ??= this.#close(reason);
    return this.#closing;
  }

  async #close(reason: unknown): Promise<void> {
    this.#closed = { reason };
    for (const attempt of this.#patience.toArray()) attempt.closed(reason);
    const leases = this.watchdog.leases();
    for (const lease of leases) lease.abandon(reason);
    await Promise.all(leases.map((lease) => lease.release()));
    const renewalsEnded = this.watchdog.close();
    this.#patience.close();
    for (const end of [...this.#pauses]) end();
    await this.#finishWork();
    await this.store.close();
    await renewalsEnded;
  }
}

/** Names of owners are unique in one library, not in two that share a store. */
const inUse = new WeakSet<LockStore>();
const TAKEN =
  'this store has locks already: share those, or make another store, of the same client if you like';

/** Two digits each. To look one up takes a third of writing a number down. */
const NAMES = Array.from({ length: 36 * 36 }, (_, index) => index.toString(36).padStart(2, '0'));

/** How long close() waits for what is given back. */
const CLOSING_MS = 500;
/** A place in line outlives a short lease. */
const PLACE_MS = 10_000;

export interface CoreOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: LockStore;
  readonly info: Omit<HolderInfo, 'label'>;
  /** Renews leases while this thread is blocked. */
  readonly worker?: WorkerRenewals | undefined;
}
