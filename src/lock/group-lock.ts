import { acquire, throwIfAborted } from './attempt.ts';
import type { LockCore } from './core.ts';
import {
  LockAbortedError,
  LockArgumentError,
  LockError,
  LockLostError,
  LockTimeoutError,
  LockUnavailableError,
  SlowStoreError,
} from './errors.ts';
import { announceAcquire, announceFail, announceGrant, type LockEvents } from './events.ts';
import { GroupLease } from './group-lease.ts';
import type { Lease } from './lease.ts';
import { Lock } from './lock.ts';
import type { ResolvedOptions } from './options.ts';
import { RunContext } from './run-context.ts';
import type { AcquireResult, Inspection, LockRequest, LockTarget } from './store.ts';
import { StoreLease, safeMs } from './store-lease.ts';

/**
 * Several mutexes as one lock. First one request acquires all or none. If one of them is busy, or they are in different
 * slots of a cluster, they are acquired one by one in the order of their names. That order is the same in all clients, so
 * that they cannot deadlock. If one cannot be acquired, the others are released.
 */
export class GroupLock extends Lock {
  readonly name: string;
  readonly #targets: readonly LockTarget[];

  constructor(core: LockCore, names: readonly string[]) {
    super(core);
    const ordered = [...new Set(names)].sort();
    this.name = ordered.join(',');
    this.#targets = ordered.map((name) => ({ kind: 'mutex', name, slots: 1 }));
  }

  /** The holders and waiters of all members, in the order of their names. */
  async inspect(): Promise<Inspection> {
    const each = await Promise.all(this.#targets.map((target) => this.core.inspect(target)));
    return {
      holders: each.flatMap(({ holders }) => holders),
      waiters: each.flatMap(({ waiters }) => waiters),
    };
  }

  async forceRelease(): Promise<number> {
    const counts = await Promise.all(this.#targets.map((target) => this.core.forceRelease(target)));
    return counts.reduce((sum, count) => sum + count, 0);
  }

  protected take(options: ResolvedOptions, context: RunContext | undefined): Promise<Lease | null> {
    const taken = this.#take(options, context);
    // close() waits for it: a request that is granted meanwhile must be released.
    this.core.track(taken);
    return taken;
  }

  async #take(options: ResolvedOptions, context: RunContext | undefined): Promise<Lease | null> {
    if (options.isReentrant) throw reentrantError(this.name);
    if (options.stealReason !== undefined) throw stealError(this.name);
    await this.#connect(options);
    const { clock } = this.core;
    const beganMs = clock.monotonicMs();
    for (;;) {
      const lateMs = clock.monotonicMs() - beganMs;
      try {
        return await this.#takeOnce(options, context, lateMs);
      } catch (error) {
        // A member was lost while the others were acquired. The caller never held it: acquire all again.
        if (!(error instanceof LockLostError)) throw error;
        const waitedMs = clock.monotonicMs() - beganMs;
        if (waitedMs >= options.waitMs) throw await this.busyError(options, waitedMs);
      }
    }
  }

  /** The wait timeout does not count this. */
  async #connect(options: ResolvedOptions): Promise<void> {
    const failed = await this.#inTime([], this.core.connect(), { ...options, waitMs: 0 });
    if (failed && options.waitMs === 0) throw new LockUnavailableError(this.name, failed.error);
  }

  async #takeOnce(
    options: ResolvedOptions,
    context: RunContext | undefined,
    lateMs: number,
  ): Promise<Lease | null> {
    const beganMs = this.core.clock.monotonicMs();
    const requests = this.#requests(options);
    const together = await this.#takeTogether(requests, options);
    if (together !== undefined) return together;
    const spentMs = lateMs + this.core.clock.monotonicMs() - beganMs;
    return this.#takeInOrder(requests, options, context, spentMs);
  }

  protected enter<Result>(lease: Lease, callback: () => Promise<Result> | Result): Promise<Result> {
    const { members } = lease as GroupLease;
    const inside = members.reduce(
      (inner: () => Promise<Result>, member) => {
        return () => this.#runContextOf(member).run(inner);
      },
      async () => callback(),
    );
    return inside();
  }

  #runContextOf(member: StoreLease, parent?: RunContext): RunContext {
    const { request } = member;
    return new RunContext(this.core, request, { core: this.core, ...request }, member, parent);
  }

  /** Undefined: acquire them in order instead. Null: one is busy, and the caller does not wait. */
  async #takeTogether(
    requests: readonly LockRequest[],
    options: ResolvedOptions,
  ): Promise<GroupLease | null | undefined> {
    const core = this.core;
    throwIfAborted(core, this.name, options);
    const sentMs = core.clock.monotonicMs();
    const sentWallMs = core.clock.wallMs();
    const result = await this.#acquireAll(requests, options);
    if (result === undefined) return undefined;
    if (result.type === 'busy')
      return options.waitMs === 0 ? this.#fail(requests, 'busy') : undefined;
    const tookMs = core.clock.monotonicMs() - sentMs;
    if (tookMs >= safeMs(options.leaseMs)) throw this.#tooSlow(requests, tookMs);
    const { fence } = result;
    const members = requests.map((request) => {
      announceAcquire(request);
      const lease = new StoreLease(core, request, options);
      lease.begin(fence, sentMs, sentWallMs);
      announceGrant(request, fence, core.clock.monotonicMs() - sentMs);
      return lease;
    });
    return this.#checked(new GroupLease(members, fence), options);
  }

  /** Undefined if the store fails and the caller waits: acquiring them in order retries until the wait timeout. */
  async #acquireAll(
    requests: readonly LockRequest[],
    options: ResolvedOptions,
  ): Promise<AcquireResult | undefined> {
    try {
      return await this.#inTime(requests, this.core.store.acquireAll(requests, 0), options);
    } catch (error) {
      if (error instanceof LockError) {
        this.#fail(requests, error.code);
        throw error;
      }
      if (options.waitMs > 0) return undefined;
      for (const request of requests) this.core.releaseUnused(request);
      this.#fail(requests, 'unavailable');
      throw new LockUnavailableError(this.name, error);
    }
  }

  /**
   * The result of the store, or an error when the wait timeout or the signal ends the wait first. Then all requests are
   * released when the store has replied.
   */
  #inTime<Result>(
    requests: readonly LockRequest[],
    pending: Promise<Result>,
    { waitMs, signal }: ResolvedOptions,
  ): Promise<Result> {
    const core = this.core;
    return new Promise((resolve, reject) => {
      const giveUp = (error: LockError): void => {
        reject(error);
        done();
        const releaseAll = (): void => {
          for (const request of requests) core.releaseUnused(request);
        };
        core.track(pending.then(releaseAll, releaseAll));
      };
      const waiter = {
        aborted: () => giveUp(new LockAbortedError(this.name, signal?.reason)),
      };
      // With `wait: 0` the caller waits for the reply: the store limits that time.
      const hasEnd = waitMs > 0 && waitMs !== Number.POSITIVE_INFINITY;
      const timer = hasEnd
        ? core.clock.setTimer(waitMs, () => giveUp(noAnswer(this.name)))
        : undefined;
      timer?.keepAlive(true);
      if (signal) core.aborts.add(signal, waiter);
      const done = (): void => {
        timer?.cancel();
        if (signal) core.aborts.remove(signal, waiter);
      };
      pending.then(resolve, reject).finally(done);
    });
  }

  protected async busyError(options: ResolvedOptions, waitedMs = 0): Promise<LockError> {
    const each = await Promise.all(
      this.#requests(options).map((request) => this.core.contention(request)),
    );
    const holders = each.flatMap((contention) => contention.holders);
    return new LockTimeoutError(this.name, waitedMs, { holders, place: undefined });
  }

  #tooSlow(requests: readonly LockRequest[], tookMs: number): LockError {
    for (const request of requests) this.core.releaseUnused(request);
    this.#fail(requests, 'unavailable');
    const { leaseMs } = requests[0]!;
    return new LockUnavailableError(this.name, new SlowStoreError(tookMs, leaseMs));
  }

  /** Announces one event for all members: the store does not say which one is busy. */
  #fail([request]: readonly LockRequest[], code: LockEvents['fail']['code']): null {
    const all = { ...request!, name: this.name };
    announceAcquire(all);
    announceFail(all, code, 0);
    return null;
  }

  async #takeInOrder(
    requests: readonly LockRequest[],
    options: ResolvedOptions,
    context: RunContext | undefined,
    lateMs: number,
  ): Promise<Lease | null> {
    const { clock } = this.core;
    const untilMs = clock.monotonicMs() + options.waitMs - lateMs;
    const leftMs = (): number =>
      options.waitMs === 0 ? 0 : Math.max(1, untilMs - clock.monotonicMs());
    const members: StoreLease[] = [];
    // While it waits for the next member, it holds the ones before: for deadlock detection, that is like nested runs.
    const holding: RunContext[] = [];
    try {
      for (const request of requests) {
        const inside = holding.at(-1) ?? context;
        const waiting = { ...options, ...WHILE_WAITING, waitMs: leftMs() };
        const lease = await acquire(this.core, request, waiting, inside);
        if (lease === null) return await this.#rollBack(members);
        members.push(lease);
        holding.push(this.#runContextOf(lease, inside));
        this.core.runContexts.add(holding.at(-1)!);
      }
      const joined = this.#join(members, options);
      const lease = await this.#inTime(requests, joined, { ...options, waitMs: leftMs() });
      return await this.#checked(lease, options);
    } catch (error) {
      // The request for all of them may have been granted although its reply was lost. And raising the fence of a
      // member that was lost may have acquired it again.
      for (const [index, request] of requests.entries()) {
        if (!members[index]?.isHeld) this.core.releaseUnused(request);
      }
      await this.#rollBack(members);
      throw error;
    } finally {
      for (const each of holding) this.core.runContexts.delete(each);
    }
  }

  /** Makes one lease of the members, and applies the caller's options, which count from now. */
  async #join(members: readonly StoreLease[], options: ResolvedOptions): Promise<GroupLease> {
    // Raising the fence of a member that was lost would acquire it again.
    for (const member of members) member.assertHeld();
    const lease = new GroupLease(members, await this.#raise(members));
    for (const member of members) if (member.isHeld) member.setOptions(options);
    // The lease starts now, not with the last renewal of each member.
    if (!options.renews) await lease.extend();
    return lease;
  }

  async #rollBack(members: readonly StoreLease[]): Promise<null> {
    await Promise.all(members.map((member) => member.release()));
    return null;
  }

  /** Raises all fences to the largest one, also in the store: otherwise a later holder could get a smaller fence. */
  async #raise(members: readonly StoreLease[]): Promise<number> {
    const highest = Math.max(...members.map(({ grantFence }) => grantFence));
    const lower = members.filter(({ grantFence }) => grantFence < highest);
    const results = await Promise.all(
      lower.map(({ request }) => this.core.store.acquireAll([request], highest)),
    ).catch((error: unknown) => {
      throw new LockUnavailableError(this.name, error);
    });
    const areRaised = results.every((each) => each?.type === 'granted' && each.fence === highest);
    if (!areRaised) throw new LockLostError(this.name, 'stolen');
    for (const lease of lower) lease.grantFence = highest;
    return highest;
  }

  /** Releases the lease if it was lost, the signal has aborted or the library is closed. */
  async #checked(lease: GroupLease, options: ResolvedOptions): Promise<GroupLease> {
    try {
      throwIfAborted(this.core, this.name, options);
      lease.assertHeld();
      return lease;
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  #requests({ leaseMs, label }: ResolvedOptions): LockRequest[] {
    const info = this.core.infoOf(label);
    // One owner for each: a store must not take a request for one member as a repeated request for another.
    return this.#targets.map((target) => ({
      ...target,
      owner: this.core.newOwner(),
      permits: 1,
      leaseMs,
      info,
    }));
  }
}

/** Members are renewed without limit while the others are acquired. The caller's options apply afterwards. */
const WHILE_WAITING = {
  renews: true,
  maxHoldMs: Number.POSITIVE_INFINITY,
  keepForMs: 0,
} as const;

function noAnswer(name: string): LockUnavailableError {
  return new LockUnavailableError(name, new Error('no answer yet'));
}

function reentrantError(name: string): LockArgumentError {
  return new LockArgumentError(
    name,
    'all() cannot share a lease: acquire the one lock that is missing, or leave out reentrant',
  );
}

function stealError(name: string): LockArgumentError {
  return new LockArgumentError(
    name,
    'all() cannot steal: steal each lock that is missing by mutex(name).acquire({ steal: true, reason })',
  );
}
