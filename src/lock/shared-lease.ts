import { inspect } from 'node:util';
import type { Duration } from './duration.ts';
import { LockArgumentError, NotHeldError } from './errors.ts';
import { type Lease, type ReleaseOutcome, type ShownLease, shownLease } from './lease.ts';
import type { Scope } from './scope.ts';
import type { StoreLease } from './store-lease.ts';

/**
 * The lease of somebody who asked again, reentrantly, inside the body that holds the lock: that body's
 * lease, for as long as it is their turn among their siblings.
 */
export class SharedLease implements Lease {
  readonly scope: Scope;
  readonly turn: StoreLease;

  constructor(scope: Scope, turn: StoreLease) {
    this.scope = scope;
    this.turn = turn;
  }

  get #outer(): Lease {
    return this.scope.lease;
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
      `this lease of '${this.name}' is shared with the body around it: transfer the lease of that body`,
    );
  }

  toJSON(): ShownLease {
    return shownLease(this);
  }

  [inspect.custom](): ShownLease {
    return shownLease(this);
  }
}
