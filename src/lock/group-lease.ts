import { inspect } from 'node:util';
import { type Lease, type ReleaseOutcome, type ShownLease, shownLease } from './lease.ts';
import type { StoreLease } from './store-lease.ts';
import { transferText } from './transfer.ts';

/** Several leases that are one: it is held while each of them is. */
export class GroupLease implements Lease {
  readonly members: readonly StoreLease[];
  readonly name: string;
  /** One for all: larger than that of every earlier holder of any of them. */
  readonly fence: number;
  #signal: AbortSignal | undefined;

  constructor(members: readonly StoreLease[], fence: number) {
    this.members = members;
    this.name = members.map(({ name }) => name).join(',');
    this.fence = fence;
  }

  get signal(): AbortSignal {
    this.#signal ??= this.#joinSignals();
    // Each looks at the clock, so that a loss that nobody noticed yet is told now.
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

  async extend(): Promise<void> {
    await Promise.all(this.members.map((member) => member.extend()));
  }

  /** `released` only if each was; `unknown` if that is not known of one. */
  async release(): Promise<ReleaseOutcome> {
    const outcomes = await Promise.all(this.members.map((member) => member.release()));
    if (outcomes.includes('unknown')) return 'unknown';
    return outcomes.includes('not-held') ? 'not-held' : 'released';
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
    return shownLease(this);
  }

  [inspect.custom](): ShownLease {
    return shownLease(this);
  }

  #joinSignals(): AbortSignal {
    return AbortSignal.any(this.members.map(({ signal }) => signal));
  }
}
