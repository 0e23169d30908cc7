import type { Clock, Random } from '../clock/index.ts';
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
  readonly #requestTimeoutMs: number;
  readonly #leases = new Set<Lease>();
  /** By owner: what to do when it may be their turn. */
  readonly #calls = new Map<string, () => void>();
  readonly #closing = new AbortController();

  constructor(options: CoreOptions) {
    this.clock = options.clock;
    this.store = options.store;
    this.info = options.info;
    this.#random = options.random;
    this.#requestTimeoutMs = options.requestTimeoutMs;
    this.watchdog = new Watchdog(options.clock);
    this.store.onCall((owner) => this.#calls.get(owner)?.());
  }

  /** Aborts when the library closes. */
  get closing(): AbortSignal {
    return this.#closing.signal;
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
    if (this.#closing.signal.aborted) return;
    this.#closing.abort(reason);
    const leases = [...this.#leases];
    for (const lease of leases) lease.abandon();
    await Promise.all(leases.map((lease) => lease.release()));
    this.watchdog.close();
    await this.store.close();
  }

  /** A store that does not answer must not hold its callers for ever. */
  #timely<Result>(answer: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const timer = this.clock.setTimer(this.#requestTimeoutMs, () =>
        reject(new Error(`no answer within ${this.#requestTimeoutMs} ms`)),
      );
      answer.then(resolve, reject).finally(() => timer.cancel());
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
