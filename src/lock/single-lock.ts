import { acquire } from './attempt.ts';
import type { LockCore } from './core.ts';
import type { Lease } from './lease.ts';
import { Lock } from './lock.ts';
import type { ResolvedOptions } from './options.ts';
import { Scope } from './scope.ts';
import { SharedLease } from './shared-lease.ts';
import type { Claim, Inspection, Target } from './store.ts';
import type { StoreLease } from './store-lease.ts';

/** A turn in a shared lease ends with that lease, not by time. */
const ENDLESS_MS = 100 * 365 * 86_400_000;

/** One lock of a store, of which some is taken. */
export class SingleLock extends Lock {
  readonly #core: LockCore;
  readonly #target: Target;
  readonly #take: number;

  constructor(core: LockCore, target: Target, take: number) {
    super();
    this.#core = core;
    this.#target = target;
    this.#take = take;
  }

  get name(): string {
    return this.#target.name;
  }

  inspect(): Promise<Inspection> {
    return this.#core.inspect(this.#target);
  }

  forceRelease(): Promise<number> {
    return this.#core.forceRelease(this.#target);
  }

  protected take(
    options: ResolvedOptions,
    scope: Scope | undefined,
  ): Lease | Promise<Lease | null> {
    const around = options.isReentrant ? scope?.findShared(this.#core, this.#target) : undefined;
    if (scope && around?.lease.isHeld && around.shared.take >= this.#take) {
      return this.#share(around, options, scope);
    }
    return acquire(this.#core, this.#claim(options), options, scope);
  }

  protected enter<Result>(lease: Lease, body: () => Promise<Result> | Result): Promise<Result> {
    return this.#scopeOf(lease as StoreLease | SharedLease).run(body);
  }

  #scopeOf(lease: StoreLease | SharedLease): Scope {
    if (lease instanceof SharedLease) {
      return new Scope(lease.scope.turns, lease.turn.claim, lease.scope.shared, lease);
    }
    const shared = { core: this.#core, ...this.#target, take: this.#take };
    return new Scope(this.#core, lease.claim, shared, lease);
  }

  async #share(around: Scope, options: ResolvedOptions, scope: Scope): Promise<Lease | null> {
    const { turns } = around;
    const claim = { ...this.#claim(options), ...TURN, owner: turns.newOwner() };
    const endless = { ...options, renews: false, maxHoldMs: Number.POSITIVE_INFINITY };
    const turn = await acquire(turns, claim, endless, scope);
    return turn && new SharedLease(around, turn);
  }

  #claim({ leaseMs, label }: ResolvedOptions): Claim {
    const { kind, name, slots } = this.#target;
    const owner = this.#core.newOwner();
    return {
      kind,
      name,
      slots,
      owner,
      take: this.#take,
      leaseMs,
      info: this.#core.infoOf(label),
      // Always the same fields in the same order, for the sake of V8.
      words: undefined,
      waiter: undefined,
      isInLine: false,
      before: undefined,
      after: undefined,
    };
  }
}

const TURN = { kind: 'mutex', slots: 1, take: 1, leaseMs: ENDLESS_MS } as const;
