import { acquire } from './attempt.ts';
import type { LockCore } from './core.ts';
import type { LockError } from './errors.ts';
import type { Lease } from './lease.ts';
import { Lock } from './lock.ts';
import type { ResolvedOptions } from './options.ts';
import { Scope } from './scope.ts';
import { SharedLease } from './shared-lease.ts';
import type { Inspection, LockRequest, LockTarget } from './store.ts';
import type { StoreLease } from './store-lease.ts';

/** A turn in a shared lease ends with that lease, not by time. */
const ENDLESS_MS = 100 * 365 * 86_400_000;

/** One lock of a store, of which some is taken. */
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
    scope: Scope | undefined,
  ): Lease | Promise<Lease | null> {
    const around = options.isReentrant ? scope?.findShared(this.core, this.#target) : undefined;
    if (scope && around?.lease.isHeld && around.shared.permits >= this.#permits) {
      return this.#share(around, options, scope);
    }
    return acquire(this.core, this.#request(options), options, scope);
  }

  protected enter<Result>(lease: Lease, callback: () => Promise<Result> | Result): Promise<Result> {
    return this.#scopeOf(lease as StoreLease | SharedLease).run(callback);
  }

  #scopeOf(lease: StoreLease | SharedLease): Scope {
    if (lease instanceof SharedLease) {
      return new Scope(lease.scope.turns, lease.turn.request, lease.scope.shared, lease);
    }
    const shared = { core: this.core, ...this.#target, permits: this.#permits };
    return new Scope(this.core, lease.request, shared, lease);
  }

  async #share(around: Scope, options: ResolvedOptions, scope: Scope): Promise<Lease | null> {
    const { turns } = around;
    const request = { ...this.#request(options), ...TURN, owner: turns.newOwner() };
    const endless = { ...options, ...HELD_BY_OTHERS };
    const turn = await acquire(turns, request, endless, scope);
    return turn && new SharedLease(around, turn);
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

/** The lease around it decides how long it is held. */
const HELD_BY_OTHERS = {
  renews: false,
  maxHoldMs: Number.POSITIVE_INFINITY,
  keepForMs: 0,
} as const;
const TURN = { kind: 'mutex', slots: 1, permits: 1, leaseMs: ENDLESS_MS } as const;
