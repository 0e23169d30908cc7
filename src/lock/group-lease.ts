import { inspect } from 'node:util';
import type { Duration } from './duration.ts';
import {
  checkFence,
  type Lease,
  type ReleaseOutcome,
  type ShownLease,
  shownLease,
} from './lease.ts';
import type { StoreLease } from './store-lease.ts';
import { transferText } from './transfer.ts';

/** The lease of all(): several leases as one. It is held while every member is held. */
export class GroupLease implements Lease {
  readonly members: readonly StoreLease[];
  readonly name: string;
  /** The same for all members: larger than the fence of every earlier holder of any of them. */
  readonly grantFence: number;
  #signal: AbortSignal | undefined;
  #contended: AbortSignal | undefined;

  constructor(members: readonly StoreLease[], fence: number) {
    this.members = members;
    this.name = members.map(({ name }) => name).join(',');
    this.grantFence = fence;
  }

  get fence(): number {
    return checkFence(this.name, this.grantFence);
  }

  get signal(): AbortSignal {
    this.#signal ??= this.#joinSignals();
    // Each member checks the clock, so that a loss whose timer has not run yet aborts the signal now.
    for (const member of this.members) member.checkDeadline();
    return this.#signal;
  }

  get expiresInMs(): number {
    return Math.min(...this.members.map((member) => member.expiresInMs));
  }

  get isHeld(): boolean {
    return this.members.every((member) => member.isHeld);
  }

  assertHeld(): void {
    for (const member of this.members) member.assertHeld();
  }

  get contended(): AbortSignal {
    this.#contended ??= AbortSignal.any(this.members.map(({ contended }) => contended));
    return this.#contended;
  }

  async extend(lease?: Duration): Promise<void> {
    await Promise.all(this.members.map((member) => member.extend(lease)));
  }

  /** `unknown` if it is unknown for one member; else `released` or `kept`, if no member was `not-held`. */
  async release(): Promise<ReleaseOutcome> {
    const outcomes = await Promise.all(this.members.map((member) => member.release()));
    if (outcomes.includes('unknown')) return 'unknown';
    if (outcomes.includes('not-held')) return 'not-held';
    return outcomes.includes('kept') ? 'kept' : 'released';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.release();
  }

  transfer(): string {
    this.assertHeld();
    for (const member of this.members) member.transfer();
    return transferText(this.members.map(({ request }) => request));
  }

  toJSON(): ShownLease {
    return shownLease(this, this.grantFence);
  }

  [inspect.custom](): ShownLease {
    return shownLease(this, this.grantFence);
  }

  #joinSignals(): AbortSignal {
    return AbortSignal.any(this.members.map(({ signal }) => signal));
  }
}
