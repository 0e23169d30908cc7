import { acquire } from './attempt.ts';
import type { LockCore } from './core.ts';
import type { LockError } from './errors.ts';
import type { Lease } from './lease.ts';
import { Lock } from './lock.ts';
import type { ResolvedOptions } from './options.ts';
import { RunContext } from './run-context.ts';
import { SharedLease } from './shared-lease.ts';
import type { Inspection, LockRequest, LockTarget } from './store.ts';
import type { StoreLease } from './store-lease.ts';

/** A turn does not expire: it ends with the lease that it shares. */
const ENDLESS_MS = 100 * 365 * 86_400_000;

/** One lock of a store, and the permits that each acquisition takes. */
export class SingleLock extends Lock {
  readonly #target: LockTarget;
  readonly #permits: number;

  constructor(core: LockCore, target: LockTarget, permits: number) {
    super(core);
    this.#target = target;
    this.#permits = permits;
  }

  get name(): string {
    return this.#target.name;
  }

  inspect(): Promise<Inspection> {
    return this.core.inspect(this.#target);
  }

  forceRelease(): Promise<number> {
    return this.core.forceRelease(this.#target);
  }

  protected take(
    options: ResolvedOptions,
    context: RunContext | undefined,
  ): Lease | Promise<Lease | null> {
    const outer = options.isReentrant ? context?.findShared(this.core, this.#target) : undefined;
    if (context && outer?.lease.isHeld && outer.shared.permits >= this.#permits) {
      return this.#share(outer, options, context);
    }
    return acquire(this.core, this.#request(options), options, context);
  }

  protected enter<Result>(lease: Lease, callback: () => Promise<Result> | Result): Promise<Result> {
    return this.#runContextOf(lease as StoreLease | SharedLease).run(callback);
  }

  #runContextOf(lease: StoreLease | SharedLease): RunContext {
    if (lease instanceof SharedLease) {
      return new RunContext(lease.context.turns, lease.turn.request, lease.context.shared, lease);
    }
    const shared = { core: this.core, ...this.#target, permits: this.#permits };
    return new RunContext(this.core, lease.request, shared, lease);
  }

  async #share(
    outer: RunContext,
    options: ResolvedOptions,
    context: RunContext,
  ): Promise<Lease | null> {
    const { turns } = outer;
    const request = { ...this.#request(options), ...TURN, owner: turns.newOwner() };
    const turn = await acquire(turns, request, { ...options, ...TURN_OPTIONS }, context);
    return turn && new SharedLease(outer, turn);
  }

  protected busyError(options: ResolvedOptions): Promise<LockError> {
    return this.core.timeoutError(this.#request(options), 0);
  }

  #request({ leaseMs, label, stealReason }: ResolvedOptions): LockRequest {
    const { kind, name, slots } = this.#target;
    const owner = this.core.newOwner();
    return {
      kind,
      name,
      slots,
      owner,
      permits: this.#permits,
      leaseMs,
      info: this.core.infoOf(label),
      stealReason,
    };
  }
}

/** The outer lease decides how long a turn is held. */
const TURN_OPTIONS = {
  renews: false,
  maxHoldMs: Number.POSITIVE_INFINITY,
  keepForMs: 0,
} as const;
const TURN = { kind: 'mutex', slots: 1, permits: 1, leaseMs: ENDLESS_MS } as const;
