import type { Clock, Random } from '../clock/index.ts';
import { AbortHub } from './abort-hub.ts';
import type { Attempt } from './attempt.ts';
import { DueList, DueLists } from './due-list.ts';
import { LockArgumentError, LockTimeoutError, LockUnavailableError } from './errors.ts';
import { announce } from './events.ts';
import { memoryStore } from './memory-store.ts';
import { OptionReader } from './options.ts';
import { type PendingRelease, release } from './release.ts';
import { retry } from './retry.ts';
import { Scopes } from './scope.ts';
import type {
  Contention,
  HolderInfo,
  Inspection,
  LockRequest,
  LockStore,
  LockTarget,
} from './store.ts';
import { Watchdog } from './watchdog.ts';
import type { WorkerRenewals } from './worker-renewals.ts';

/**
 * What all locks of one `createLocks` share: the store, the clock, the leases that are held, and the attempts that
 * wait.
 */
export class LockCore {
  readonly clock: Clock;
  readonly store: LockStore;
  readonly options: OptionReader;
  readonly watchdog: Watchdog;
  /** The bodies of run() that hold locks of this store. */
  readonly scopes = new Scopes();
  readonly aborts = new AbortHub<{ aborted(): void }>();
  readonly #random: Random;
  readonly #info: HolderInfo;
  readonly #ownerPrefix: string;
  #ownerCount = 0;
  /** All attempts, by their wait timeout. A program that waits for a lock stays alive. */
  readonly #attempts: DueLists<Attempt>;
  readonly #releases: DueList<PendingRelease>;
  /** The number of things that close() waits for, and the callback for when none is left. */
  #workCount = 0;
  #onIdle = (): void => {};
  readonly #pauses = new Set<() => void>();
  /** Attempts whose wait timeout does not run yet. Undefined: the store was reached, or could not be. */
  #unconnected: Set<Attempt> | undefined;
  #closed: { readonly reason: unknown } | undefined;
  #closing: Promise<void> | undefined;
  /** close() waits for nothing any more. */
  #isOver = false;

  constructor({ clock, random, store, info, worker, options = new OptionReader() }: CoreOptions) {
    this.clock = clock;
    this.store = store;
    this.options = options;
    this.#random = random;
    this.#info = { ...info, label: '' };
    // 96 random bits, once; counting makes the rest as unique, and costs less than a lock in memory.
    this.#ownerPrefix = store.ownerPrefix ?? `${Buffer.from(random.bytes(12)).toString('hex')}.`;
    this.watchdog = new Watchdog(clock, worker);
    this.#attempts = new DueLists(clock, (attempt) => attempt.timedOut(), true);
    this.#releases = new DueList(clock, RELEASE_MS, (pending) => pending.resolve('unknown'), true);
    if (inUse.has(store)) throw new LockArgumentError('', TAKEN);
    inUse.add(store);
    this.store.onLost?.((reason, owner) => {
      for (const lease of this.watchdog.leases()) {
        if (owner === undefined || lease.request.owner === owner) lease.stolenElsewhere(reason);
      }
    });
    if (store.connected !== undefined) {
      this.#unconnected = new Set();
      store.connected.then(() => this.#connected());
    }
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

  /** A name that no other acquisition has. */
  newOwner(): string {
    return this.#ownerPrefix + (this.#ownerCount++).toString(36);
  }

  infoOf(label: string): HolderInfo {
    return label === '' ? this.#info : { ...this.#info, label };
  }

  /** From now on the attempt is notified of its wait timeout, and of close(). */
  began(attempt: Attempt): void {
    this.#unconnected?.add(attempt);
    const connectMs = this.#unconnected === undefined ? 0 : MAX_CONNECT_MS;
    // An attempt that does not wait for a busy lock waits for the reply, for as long as the store takes.
    const timeoutMs = attempt.waitMs > 0 ? attempt.waitMs + connectMs : Number.POSITIVE_INFINITY;
    this.#attempts.add(attempt, timeoutMs, attempt.waitFromMs);
  }

  /** The wait timeouts of all attempts start now. */
  #connected(): void {
    const attempts = this.#unconnected ?? [];
    this.#unconnected = undefined;
    for (const attempt of attempts) {
      if (attempt.list === undefined) continue;
      attempt.waitFromMs = this.clock.monotonicMs();
      this.began(attempt);
    }
  }

  /** Settles when the store was reached, or could not be. */
  async connect(): Promise<void> {
    if (this.#unconnected === undefined) return;
    await this.store.inspect(ANY_LOCK).catch(() => {});
  }

  /** Settles when the store answers. */
  async ready(): Promise<void> {
    try {
      await retry(this, READY_MS, () => this.store.inspect(ANY_LOCK));
    } catch (error) {
      throw new LockUnavailableError('', error);
    }
  }

  /** From now on its caller waits no longer than RELEASE_MS. */
  releasing(pending: PendingRelease): void {
    if (this.#isOver) pending.resolve('unknown');
    else this.#releases.add(pending, this.clock.monotonicMs());
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

  /** Releases what no caller will use. If the store cannot be reached, the lease, or the place, ends by itself. */
  giveBack(request: LockRequest): void {
    const endsInMs = request.leaseMs + PLACE_MS;
    this.track((async () => release(this, () => this.store.release(request), endsInMs))());
  }

  /** The lease was stolen, or belongs to another process now. Repeats the request for as long as the lease lasts. */
  detach(request: LockRequest): void {
    const { store } = this;
    if (store.detach === undefined) return;
    this.track(retry(this, request.leaseMs, () => store.detach!(request)));
  }

  /** The lease ended by the holder's own clock: if the store keeps a record of it with a session, it is released. */
  releaseRecorded(request: LockRequest): void {
    if (this.store.detach !== undefined) this.giveBack(request);
  }

  /** close() waits for this work, for a while: a lock may stay in the store if it is cut short. */
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
    // Work that ends may have started more.
    while (this.#workCount > 0 && !isOver) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    timer.cancel();
  }

  /** What keeps a request waiting. Nothing, if the store does not answer soon. */
  async contention(request: LockRequest): Promise<Contention> {
    const unknown = { holders: [], place: undefined };
    const found = this.store.contention(request).catch(() => unknown);
    const late = this.pause(CONTENTION_MS).then(() => unknown);
    return Promise.race([found, late]);
  }

  async timeoutError(request: LockRequest, waitedMs: number): Promise<LockTimeoutError> {
    return new LockTimeoutError(request.name, waitedMs, await this.contention(request));
  }

  inspect(target: LockTarget): Promise<Inspection> {
    return this.told(target, this.store.inspect(target));
  }

  /** A failure of the store has the library's own error. */
  async told<Result>({ name }: LockTarget, answer: Result | Promise<Result>): Promise<Result> {
    try {
      return await answer;
    } catch (error) {
      throw new LockUnavailableError(name, error);
    }
  }

  async forceRelease(target: LockTarget): Promise<number> {
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
    for (const attempt of this.#attempts.toArray()) attempt.closed(reason);
    const leases = this.watchdog.leases();
    for (const lease of leases) lease.abandon(reason);
    await Promise.all(leases.map((lease) => lease.release()));
    const renewalsEnded = this.watchdog.close();
    this.#attempts.close();
    for (const end of [...this.#pauses]) end();
    await this.#finishWork();
    this.#isOver = true;
    for (const pending of this.#releases.close()) pending.resolve('unknown');
    await this.store.close();
    await renewalsEnded;
  }
}

/** Names of owners are unique in one library, not in two that share a store. */
const inUse = new WeakSet<LockStore>();
const TAKEN =
  'this store has locks already: share those, or make another store, of the same client if you like';

/** What is asked about it is of no interest. */
const ANY_LOCK: LockTarget = { kind: 'mutex', name: 'ready', slots: 1 };
/** How long a wait timeout is put off while the store was not reached yet. */
const MAX_CONNECT_MS = 10_000;
/** How long ready() waits for a store that cannot be reached. */
const READY_MS = 10_000;
/** How long the error of a wait timeout waits for the names of the holders. */
const CONTENTION_MS = 250;
/** How long a caller waits for a release. */
const RELEASE_MS = 500;
/** How long close() waits for what is released then. */
const CLOSING_MS = 500;
/** A place in the queue outlives a short lease. */
const PLACE_MS = 10_000;

export interface CoreOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: LockStore;
  readonly info: Omit<HolderInfo, 'label'>;
  /** Renews leases while this thread is blocked. */
  readonly worker?: WorkerRenewals | undefined;
  readonly options?: OptionReader;
}
