import type { Clock, Random } from '../clock/index.ts';
import { DueList } from './due-list.ts';
import { announce } from './events.ts';
import type { Lease, SentTimes } from './lease.ts';
import type { Answer, Claim, Hold, HolderInfo, LockStore, Target } from './store.ts';
import { Watchdog } from './watchdog.ts';

/**
 * What all locks of one `createLocks` share: the store, the clocks, the leases that are held, and who
 * waits to be called.
 */
export class LockCore {
  readonly clock: Clock;
  readonly store: LockStore;
  readonly watchdog: Watchdog;
  readonly info: Omit<HolderInfo, 'label'>;
  readonly #random: Random;
  /** What is under way, with how to give it up. */
  readonly #requests: DueList<(error: Error) => void>;
  readonly #leases = new Set<Lease>();
  /** By owner: what to do when it may be their turn. */
  readonly #calls = new Map<string, () => void>();
  #closed: { readonly reason: unknown } | undefined;

  constructor(options: CoreOptions) {
    this.clock = options.clock;
    this.store = options.store;
    this.info = options.info;
    this.#random = options.random;
    const { requestTimeoutMs } = options;
    this.#requests = new DueList(options.clock, requestTimeoutMs, (reject) =>
      reject(new Error(`no answer within ${requestTimeoutMs} ms`)),
    );
    this.watchdog = new Watchdog(options.clock);
    this.store.onCall((owner) => this.#calls.get(owner)?.());
  }

  /** Why the library was closed, once it was. */
  get closed(): { readonly reason: unknown } | undefined {
    return this.#closed;
  }

  /** A name that nobody else has: 128 bits of chance. */
  newOwner(): string {
    return Buffer.from(this.#random.bytes(16)).toString('hex');
  }

  sentTimes(): SentTimes {
    return { monotonicMs: this.clock.monotonicMs(), wallMs: this.clock.wallMs() };
  }

  /** Calls back whenever it may be the owner's turn, until it is forgotten. */
  expectCall(owner: string, callback: () => void): void {
    this.#calls.set(owner, callback);
  }

  forgetCall(owner: string): void {
    this.#calls.delete(owner);
  }

  ask(claim: Claim, queues: boolean): Promise<Answer> {
    return this.#timely(this.store.ask(claim, queues));
  }

  extend(claim: Claim): Promise<boolean> {
    return this.#timely(this.store.extend(claim, claim.leaseMs));
  }

  release(hold: Hold): Promise<boolean> {
    return this.#timely(this.store.release(hold));
  }

  /** Releases what nobody will use. If the store does not hear of it, the lease ends by itself. */
  giveBack(hold: Hold): void {
    this.release(hold).catch(() => {});
  }

  async forceRelease(target: Target): Promise<number> {
    const holders = await this.#timely(this.store.forceRelease(target));
    announce('force', () => ({ lock: target.name, holders }));
    return holders;
  }

  held(lease: Lease): void {
    this.#leases.add(lease);
  }

  settled(lease: Lease): void {
    this.#leases.delete(lease);
    this.watchdog.drop(lease);
  }

  async close(reason: unknown): Promise<void> {
    if (this.#closed !== undefined) return;
    this.#closed = { reason };
    for (const call of [...this.#calls.values()]) call();
    const leases = [...this.#leases];
    for (const lease of leases) lease.abandon();
    await Promise.all(leases.map((lease) => lease.release()));
    this.watchdog.close();
    await this.store.close();
    this.#requests.close();
  }

  /** A store that does not answer must not hold its callers for ever. */
  #timely<Result>(answer: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const due = this.#requests.add(reject, this.clock.monotonicMs());
      answer.then(
        (result) => {
          this.#requests.drop(due);
          resolve(result);
        },
        (error: unknown) => {
          this.#requests.drop(due);
          reject(error);
        },
      );
    });
  }
}

export interface CoreOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: LockStore;
  readonly info: Omit<HolderInfo, 'label'>;
  readonly requestTimeoutMs: number;
}
