import type { Clock, Random } from '../clock/index.ts';
import { AbortHub } from './abort-hub.ts';
import type { Attempt } from './attempt.ts';
import { LockArgumentError, LockError, LockTimeoutError, LockUnavailableError } from './errors.ts';
import { announce } from './events.ts';
import { memoryStore } from './memory-store.ts';
import { OptionReader } from './options.ts';
import { type PendingRelease, release } from './release.ts';
import { retry } from './retry.ts';
import { RunContexts } from './run-context.ts';
import type {
  Contention,
  HolderInfo,
  Inspection,
  LockRequest,
  LockStore,
  LockTarget,
} from './store.ts';
import { TimerQueue, TimerQueues } from './timer-queue.ts';
import { Watchdog } from './watchdog.ts';
import type { WorkerRenewals } from './worker-renewals.ts';

/** The state that all locks of one `createLocks` share: the store, the clock, the held leases and the waiting attempts. */
export class LockCore {
  readonly clock: Clock;
  readonly store: LockStore;
  readonly options: OptionReader;
  readonly watchdog: Watchdog;
  /** The callbacks of run() that hold locks of this store. */
  readonly runContexts = new RunContexts();
  readonly aborts = new AbortHub<{ aborted(): void }>();
  readonly #random: Random;
  readonly #info: HolderInfo;
  /** All owners of this core begin with it. */
  readonly ownerPrefix: string;
  #ownerCount = 0;
  /** All attempts, by their wait timeout. They keep the process alive. */
  readonly #attempts: TimerQueues<Attempt>;
  readonly #releases: TimerQueue<PendingRelease>;
  /** Work that close() waits for, and the name of its lock. Undefined: it is of several locks. */
  readonly #work = new Map<Promise<unknown>, string | undefined>();
  readonly #pauses = new Set<() => void>();
  /** Attempts whose wait timeout has not started. Undefined: the first connection to the store succeeded or failed. */
  #unconnected: Set<Attempt> | undefined;
  #closed: { readonly reason: unknown } | undefined;
  #closing: Promise<void> | undefined;
  /** close() has stopped waiting: pending releases resolve with `unknown`. */
  #isOver = false;

  constructor({ clock, random, store, info, worker, options = new OptionReader() }: CoreOptions) {
    this.clock = clock;
    this.store = store;
    this.options = options;
    this.#random = random;
    this.#info = { ...info, label: '' };
    // 96 random bits for each process and a counter: cheaper than random bits for each acquisition.
    this.ownerPrefix = store.ownerPrefix ?? `${Buffer.from(random.bytes(12)).toString('hex')}.`;
    this.watchdog = new Watchdog(clock, store.ownsConnections === true, worker);
    this.#attempts = new TimerQueues(clock, (attempt) => attempt.timedOut(), true);
    this.#releases = new TimerQueue(
      clock,
      RELEASE_MS,
      (pending) => pending.resolve('unknown'),
      true,
    );
    if (inUse.has(store)) throw new LockArgumentError('', TAKEN);
    inUse.add(store);
    this.store.onLost?.((reason, owner) => {
      for (const lease of this.watchdog.leases()) {
        if (owner === undefined) lease.sessionEnded(reason);
        else if (lease.request.owner === owner) lease.markStolen(reason);
      }
    });
    if (store.connected !== undefined) {
      this.#unconnected = new Set();
      store.connected.then(() => this.#connected());
    }
  }

  /** Why the library was closed. Undefined: it is open. */
  get closed(): { readonly reason: unknown } | undefined {
    return this.#closed;
  }

  /** A core with a memory store of its own and the same clock. */
  inMemory(): LockCore {
    const { clock } = this;
    return new LockCore({
      clock,
      random: this.#random,
      store: memoryStore(clock),
      info: this.#info,
    });
  }

  /** Returns a unique id for one acquisition. */
  newOwner(): string {
    return this.ownerPrefix + (this.#ownerCount++).toString(36);
  }

  infoOf(label: string): HolderInfo {
    return label === '' ? this.#info : { ...this.#info, label };
  }

  /** Starts the wait timeout of an attempt. The attempt is notified of its end, and of close(). */
  addAttempt(attempt: Attempt): void {
    this.#unconnected?.add(attempt);
    const connectMs = this.#unconnected === undefined ? 0 : MAX_CONNECT_MS;
    // With `wait: 0` the caller does not wait for a busy lock, but it does wait for the reply: the store limits that time.
    const timeoutMs = attempt.waitMs > 0 ? attempt.waitMs + connectMs : Number.POSITIVE_INFINITY;
    this.#attempts.add(attempt, timeoutMs, attempt.waitFromMs);
  }

  /** Starts the wait timeouts of all attempts. */
  #connected(): void {
    const attempts = this.#unconnected ?? [];
    this.#unconnected = undefined;
    for (const attempt of attempts) {
      if (attempt.timerQueue === undefined) continue;
      attempt.waitFromMs = this.clock.monotonicMs();
      this.addAttempt(attempt);
    }
  }

  /** Resolves when the store was reached, or could not be: then with the error. */
  async connect(): Promise<{ readonly error: unknown } | undefined> {
    if (this.#unconnected === undefined) return undefined;
    try {
      await this.store.inspect(ANY_LOCK);
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  /** Resolves when the store replies and its session is open. */
  async ready(): Promise<void> {
    try {
      await this.keepAlive(retry(this, READY_MS, () => this.#reachStore()));
    } catch (error) {
      throw new LockUnavailableError('', error);
    }
  }

  async #reachStore(): Promise<void> {
    await this.store.openSession?.();
    await this.store.inspect(ANY_LOCK);
  }

  /** Resolves the release with `unknown` after RELEASE_MS, if it has no result by then. */
  releasing(pending: PendingRelease): void {
    if (this.#isOver) pending.resolve('unknown');
    else this.#releases.add(pending, this.clock.monotonicMs());
  }

  /** Keeps the process alive until this work ends, whose caller waits for it: pauses and idle connections do not. */
  async keepAlive<Result>(work: Promise<Result>): Promise<Result> {
    const timer = this.clock.setTimer(Number.POSITIVE_INFINITY, () => {});
    timer.keepAlive(true);
    try {
      return await work;
    } finally {
      timer.cancel();
    }
  }

  /** Resolves after this time, or earlier if the library is closed. */
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

  /**
   * Releases a request that no caller uses any more: a lease, or a place in the queue. If the store cannot be reached,
   * both expire.
   */
  releaseUnused(request: LockRequest): void {
    const endsInMs = request.leaseMs + PLACE_MS;
    const released = (async () => release(this, () => this.store.release(request), endsInMs))();
    this.track(released, request.name);
  }

  /** Removes a lease that was transferred from the session of this process. Retries for one lease duration. */
  detach(request: LockRequest): void {
    const { store } = this;
    if (store.detach === undefined) return;
    const detached = retry(this, request.leaseMs, () => store.detach!(request));
    this.track(detached, request.name);
  }

  /** Releases a lease that has expired, if the store has sessions: the session still has a record of it. */
  releaseRecorded(request: LockRequest): void {
    if (this.store.detach !== undefined) this.releaseUnused(request);
  }

  /** Makes close() wait for this work, for up to CLOSING_MS. */
  track(work: Promise<unknown>, lock?: string): void {
    const done = (): void => void this.#work.delete(work);
    this.#work.set(work, lock);
    work.then(done, done);
  }

  /** Waits for the pending work of this lock, or of all locks, for up to CLOSING_MS. */
  async finishWork(lock?: string): Promise<void> {
    let isOver = false;
    let end = (): void => {};
    const late = new Promise<void>((resolve) => {
      end = resolve;
    });
    const timer = this.clock.setTimer(CLOSING_MS, () => {
      isOver = true;
      end();
    });
    // Work that ends may have started more.
    for (let work = this.#workOf(lock); work.length > 0 && !isOver; work = this.#workOf(lock)) {
      await Promise.race([Promise.allSettled(work), late]);
    }
    timer.cancel();
  }

  #workOf(lock: string | undefined): Promise<unknown>[] {
    const all = [...this.#work];
    return all.filter(([, name]) => lock === undefined || name === lock).map(([work]) => work);
  }

  /** The holders of the lock and the place of the request. Empty if the store does not reply within CONTENTION_MS. */
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
    return this.#wrapFailure(target, this.store.inspect(target));
  }

  /**
   * Rejects with a LockUnavailableError if the store fails. An error of the library, such as of a wrong argument,
   * stays.
   */
  async #wrapFailure<Result>({ name }: LockTarget, reply: Promise<Result>): Promise<Result> {
    try {
      return await reply;
    } catch (error) {
      throw error instanceof LockError ? error : new LockUnavailableError(name, error);
    }
  }

  async forceRelease(target: LockTarget): Promise<number> {
    const holders = await this.#wrapFailure(target, this.store.forceRelease(target));
    announce('force', () => ({ lock: target.name, kind: target.kind, holders }));
    return holders;
  }

  /** May be called more than once: every call resolves when the library is closed. */
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
    await this.finishWork();
    this.#isOver = true;
    for (const pending of this.#releases.close()) pending.resolve('unknown');
    await this.store.close();
    await renewalsEnded;
  }
}

/** Two cores must not share a store: each counts its own owner ids. */
const inUse = new WeakSet<LockStore>();
const TAKEN =
  'this store has locks already: share those, or make another store, of the same client if you like';

/** Any request shows whether the store can be reached. */
const ANY_LOCK: LockTarget = { kind: 'mutex', name: 'ready', slots: 1 };
/** How long a wait timeout is put off while the store was not reached yet. */
const MAX_CONNECT_MS = 10_000;
/** How long ready() waits for a store that cannot be reached. */
const READY_MS = 10_000;
/** How long the error of a wait timeout waits for the names of the holders. */
const CONTENTION_MS = 250;
/** How long a caller waits for a release. */
const RELEASE_MS = 500;
/** How long close() waits for pending work, such as releases. */
const CLOSING_MS = 500;
/** How long a place in the queue can outlive the lease. */
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
