import { inspect } from 'node:util';
import type { Duration } from './duration.ts';
import { LockArgumentError, NotHeldError } from './errors.ts';
import { type Lease, type ReleaseOutcome, type ShownLease, shownLease } from './lease.ts';
import type { RunContext } from './run-context.ts';
import type { StoreLease } from './store-lease.ts';

/**
 * The lease of a reentrant request inside a callback that holds the lock. It shares the lease of that callback. Several
 * such requests take turns: each holds a turn, a mutex in memory.
 */
export class SharedLease implements Lease {
  readonly context: RunContext;
  readonly turn: StoreLease;

  constructor(context: RunContext, turn: StoreLease) {
    this.context = context;
    this.turn = turn;
  }

  get #outer(): Lease {
    return this.context.lease;
  }

  get name(): string {
    return this.#outer.name;
  }

  get fence(): number {
    return this.#outer.fence;
  }

  get signal(): AbortSignal {
    return this.#outer.signal;
  }

  get expiresInMs(): number {
    return this.isHeld ? this.#outer.expiresInMs : 0;
  }

  get isHeld(): boolean {
    return this.turn.isHeld && this.#outer.isHeld;
  }

  assertHeld(): void {
    this.#outer.assertHeld();
    if (!this.turn.isHeld) throw new NotHeldError(this.name);
  }

  get contended(): AbortSignal {
    return this.#outer.contended;
  }

  async extend(lease?: Duration): Promise<void> {
    this.assertHeld();
    await this.#outer.extend(lease);
  }

  release(): Promise<ReleaseOutcome> {
    return this.turn.release();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  transfer(): string {
    throw new LockArgumentError(
      this.name,
      `this lease of '${this.name}' is shared with the callback around it: transfer the lease of that callback`,
    );
  }

  toJSON(): ShownLease {
    return shownLease(this, this.#outer.toJSON().fence);
  }

  [inspect.custom](): ShownLease {
    return shownLease(this, this.#outer.toJSON().fence);
  }
}
