import { acquire, throwIfOver } from './attempt.ts';
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
import { Scope } from './scope.ts';
import type { AcquireResult, Inspection, LockRequest, LockTarget } from './store.ts';
import { StoreLease, safeMs } from './store-lease.ts';

/**
 * Several mutexes that are taken together. Where they live together one request takes all or none; if
 * one of them is busy, or they do not, each is taken in the order of their names, which is the same for
 * everybody and so cannot end in a circle, and what was taken is given back if one is not to be had.
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

  /** Of all of them, in the order of their names. */
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

  protected take(options: ResolvedOptions, scope: Scope | undefined): Promise<Lease | null> {
    const taken = this.#take(options, scope);
    // What is under way when the library is closed may be granted, and is then to be given back.
    this.core.track(taken);
    return taken;
  }

  async #take(options: ResolvedOptions, scope: Scope | undefined): Promise<Lease | null> {
    if (options.isReentrant) throw reentrantError(this.name);
    if (options.stealReason !== undefined) throw stealError(this.name);
    await this.core.connect();
    const { clock } = this.core;
    const beganMs = clock.monotonicMs();
    for (;;) {
      const lateMs = clock.monotonicMs() - beganMs;
      try {
        return await this.#takeOnce(options, scope, lateMs);
      } catch (error) {
        // The caller has not held what was lost while the others were taken: ask again.
        if (!(error instanceof LockLostError)) throw error;
        const waitedMs = clock.monotonicMs() - beganMs;
        if (waitedMs >= options.waitMs) throw await this.busyError(options, waitedMs);
      }
    }
  }

  async #takeOnce(
    options: ResolvedOptions,
    scope: Scope | undefined,
    lateMs: number,
  ): Promise<Lease | null> {
    const beganMs = this.core.clock.monotonicMs();
    const requests = this.#requests(options);
    const together = await this.#takeTogether(requests, options);
    if (together !== undefined) return together;
    const spentMs = lateMs + this.core.clock.monotonicMs() - beganMs;
    return this.#takeInOrder(requests, options, scope, spentMs);
  }

  protected enter<Result>(lease: Lease, body: () => Promise<Result> | Result): Promise<Result> {
    const { members } = lease as GroupLease;
    const inside = members.reduce(
      (inner: () => Promise<Result>, member) => {
        return () => this.#scopeOf(member).run(inner);
      },
      async () => body(),
    );
    return inside();
  }

  #scopeOf(member: StoreLease, parent?: Scope): Scope {
    const { request } = member;
    return new Scope(this.core, request, { core: this.core, ...request }, member, parent);
  }

  /** Undefined: try in order. Null: busy, and nobody wants to wait. */
  async #takeTogether(
    requests: readonly LockRequest[],
    options: ResolvedOptions,
  ): Promise<GroupLease | null | undefined> {
    const core = this.core;
    throwIfOver(core, this.name, options);
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

  /** If the store cannot be reached, trying in order will find out for how long. */
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
      for (const request of requests) this.core.giveBack(request);
      this.#fail(requests, 'unavailable');
      throw new LockUnavailableError(this.name, error);
    }
  }

  /** What the store says, unless the caller gives up before: what is granted after that is given back. */
  #inTime<Result>(
    requests: readonly LockRequest[],
    asked: Promise<Result>,
    { waitMs, signal }: ResolvedOptions,
  ): Promise<Result> {
    const core = this.core;
    return new Promise((resolve, reject) => {
      const giveUp = (error: LockError): void => {
        reject(error);
        done();
        const giveBack = (): void => {
          for (const request of requests) core.giveBack(request);
        };
        core.track(asked.then(giveBack, giveBack));
      };
      const waiter = {
        aborted: () => giveUp(new LockAbortedError(this.name, signal?.reason)),
      };
      // Who asks once waits for the answer, for as long as the store takes.
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
      asked.then(resolve, reject).finally(done);
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
    for (const request of requests) this.core.giveBack(request);
    this.#fail(requests, 'unavailable');
    const { leaseMs } = requests[0]!;
    return new LockUnavailableError(this.name, new SlowStoreError(tookMs, leaseMs));
  }

  /** Which of them stood in the way is not known: they are told of as one. */
  #fail([request]: readonly LockRequest[], code: LockEvents['fail']['code']): null {
    const all = { ...request!, name: this.name };
    announceAcquire(all);
    announceFail(all, code, 0);
    return null;
  }

  async #takeInOrder(
    requests: readonly LockRequest[],
    options: ResolvedOptions,
    scope: Scope | undefined,
    lateMs: number,
  ): Promise<Lease | null> {
    const { clock } = this.core;
    const untilMs = clock.monotonicMs() + options.waitMs - lateMs;
    const leftMs = (): number =>
      options.waitMs === 0 ? 0 : Math.max(1, untilMs - clock.monotonicMs());
    const members: StoreLease[] = [];
    // Who waits for the next one holds those before it, as the bodies of nested runs would.
    const holding: Scope[] = [];
    try {
      for (const request of requests) {
        const inside = holding.at(-1) ?? scope;
        const waiting = { ...options, ...WHILE_WAITING, waitMs: leftMs() };
        const lease = await acquire(this.core, request, waiting, inside);
        if (lease === null) return await this.#rollBack(members);
        members.push(lease);
        holding.push(this.#scopeOf(lease, inside));
        this.core.scopes.add(holding.at(-1)!);
      }
      const joined = this.#join(members, options);
      const lease = await this.#inTime(requests, joined, { ...options, waitMs: leftMs() });
      return await this.#checked(lease, options);
    } catch (error) {
      // The request for all of them may have been granted, and its answer lost; or one was lost, and taken anew
      // when its fence was raised.
      for (const [index, request] of requests.entries()) {
        if (!members[index]?.isHeld) this.core.giveBack(request);
      }
      await this.#rollBack(members);
      throw error;
    } finally {
      for (const each of holding) this.core.scopes.delete(each);
    }
  }

  /** What was taken one by one becomes one lease, held as it is to be. */
  async #join(members: readonly StoreLease[], options: ResolvedOptions): Promise<GroupLease> {
    // To raise the fence of one that was lost would take it anew.
    for (const member of members) member.assertHeld();
    const lease = new GroupLease(members, await this.#raise(members));
    for (const member of members) if (member.isHeld) member.holdAs(options);
    // Else its time would be that since the last renewal.
    if (!options.renews) await lease.extend();
    return lease;
  }

  async #rollBack(members: readonly StoreLease[]): Promise<null> {
    await Promise.all(members.map((member) => member.release()));
    return null;
  }

  /** One fence for all: the store must know of it, or a later holder could be given a smaller one. */
  async #raise(members: readonly StoreLease[]): Promise<number> {
    const most = Math.max(...members.map(({ fence }) => fence));
    const lower = members.filter(({ fence }) => fence < most);
    const results = await Promise.all(
      lower.map(({ request }) => this.core.store.acquireAll([request], most)),
    ).catch((error: unknown) => {
      throw new LockUnavailableError(this.name, error);
    });
    const areRaised = results.every((each) => each?.type === 'granted' && each.fence === most);
    if (!areRaised) throw new LockLostError(this.name, 'stolen');
    for (const lease of lower) lease.fence = most;
    return most;
  }

  /** What was granted too late, or is not wanted any more, is given back. */
  async #checked(lease: GroupLease, options: ResolvedOptions): Promise<GroupLease> {
    try {
      throwIfOver(this.core, this.name, options);
      lease.assertHeld();
      return lease;
    } catch (error) {
      await lease.release();
      throw error;
    }
  }

  #requests({ leaseMs, label }: ResolvedOptions): LockRequest[] {
    const info = this.core.infoOf(label);
    // Each has an owner of its own: a call for one must not be taken for a call for another.
    return this.#targets.map((target) => ({
      ...target,
      owner: this.core.newOwner(),
      permits: 1,
      leaseMs,
      info,
    }));
  }
}

/** What is held already is kept for as long as the others take: how it is to be held counts from the last. */
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
    'all() cannot share a lease: ask for the one lock that is missing, or leave out reentrant',
  );
}

function stealError(name: string): LockArgumentError {
  return new LockArgumentError(
    name,
    'all() cannot steal: steal each lock that is missing by mutex(name).acquire({ steal: true, reason })',
  );
}
