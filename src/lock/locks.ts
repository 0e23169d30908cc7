import { hostname } from 'node:os';
import { type Clock, type Random, systemClock, systemRandom } from '../clock/index.ts';
import { type AdoptOptions, adopt } from './adopt.ts';
import { LockCore } from './core.ts';
import { Election, type ElectOptions, type LeaderCallback } from './election.ts';
import { GroupLock } from './group-lock.ts';
import type { Lease } from './lease.ts';
import type { Lock } from './lock.ts';
import {
  type AcquireDefaults,
  checkCount,
  checkName,
  checkNames,
  OptionReader,
  permitsOf,
} from './options.ts';
import { SingleLock } from './single-lock.ts';
import type { LockStore } from './store.ts';
import { observeLocks } from './telemetry.ts';
import type { WorkerRenewals } from './worker-renewals.ts';

export interface LocksOptions {
  readonly store: LockStore;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Defaults for the options of every acquisition. */
  readonly defaults?: AcquireDefaults;
  /** Whether spans and metrics are sent to OpenTelemetry, if the program has registered an SDK. Default true. */
  readonly telemetry?: boolean;
}

const HOST = hostname();

/** The same in all copies of the package, such as one loaded as ESM and one as CommonJS. */
const INSIDE: unique symbol = Symbol.for('holdfast.Locks.inside');

/** What lies behind locks, for the dashboard. */
export interface InsideLocks {
  readonly store: LockStore;
  /** All owners of these locks begin with it. */
  readonly ownerPrefix: string;
}

/** Undefined: they are not the result of createLocks(). */
export function insideLocks(locks: object): InsideLocks | undefined {
  return (locks as { readonly [INSIDE]?: InsideLocks })[INSIDE];
}

/** The slots of a read/write lock: a reader takes one, a writer takes all. */
const READERS = 2 ** 30;

/** The locks of one store. */
export class Locks implements AsyncDisposable {
  readonly #core: LockCore;
  readonly #random: Random;

  constructor(
    { store, clock = systemClock, random = systemRandom, telemetry = true, defaults }: LocksOptions,
    worker?: WorkerRenewals,
  ) {
    this.#random = random;
    const info = { host: HOST, pid: process.pid };
    const options = new OptionReader(defaults);
    this.#core = new LockCore({ store, clock, random, info, worker, options });
    if (telemetry) observeLocks();
  }

  /** @internal */
  get [INSIDE](): InsideLocks {
    return this.#core;
  }

  /**
   * A lock with one holder at a time.
   *
   * @throws LockArgumentError if the name is not a string of 1 to 1024 bytes.
   * @example
   * await locks.mutex('orders:42').run((lease) => ship(order, { signal: lease.signal }));
   */
  mutex(name: string): Lock {
    return new SingleLock(this.#core, { kind: 'mutex', name: checkName(name), slots: 1 }, 1);
  }

  /**
   * A lock with many readers or one writer, in order of arrival: a reader waits behind a writer that waits.
   *
   * @throws LockArgumentError if the name is not a string of 1 to 1024 bytes.
   * @example
   * const page = await locks.readWrite('page:7').read.run(() => render());
   */
  readWrite(name: string): { readonly read: Lock; readonly write: Lock } {
    const target = { kind: 'rw', name: checkName(name), slots: READERS } as const;
    return {
      read: new SingleLock(this.#core, target, 1),
      write: new SingleLock(this.#core, target, READERS),
    };
  }

  /**
   * A lock with `count` permits; each holder has one, or `permits` of them (default 1). While it is in use, acquire()
   * with another count throws a LockArgumentError that names both.
   *
   * @throws LockArgumentError if a number is not whole, or `permits` is larger than `count`.
   * @example
   * await locks.semaphore('printers', 3).run(() => print(document));
   */
  semaphore(name: string, count: number, options?: { permits?: number }): Lock {
    checkName(name);
    const permits = permitsOf(name, options);
    const slots = checkCount(name, count, 'the count of a semaphore', READERS);
    const target = { kind: 'semaphore', name, slots } as const;
    return new SingleLock(this.#core, target, checkCount(name, permits, 'permits', count));
  }

  /**
   * Several mutexes at once, all or none, with one fence. Two such calls cannot block each other.
   *
   * @throws LockArgumentError if a name is not a string of 1 to 1024 bytes, or there is none.
   * @example
   * await locks.all(['account:1', 'account:2']).run(() => transferMoney());
   */
  all(names: readonly string[]): Lock {
    return new GroupLock(this.#core, checkNames(names));
  }

  /**
   * Leader election: of all processes that call it with this name, one at a time runs the callback. It campaigns until
   * `election.stop()` or `close()`; after each term, however it ended, it enters the queue again.
   *
   * @param callback runs while this process leads. It must stop when `leader.signal` aborts.
   * @throws LockArgumentError if the name, the callback or an option is wrong.
   * @example
   * const election = locks.elect('billing', async ({ signal, fence }) => {
   *   while (!signal.aborted) await sendNextInvoice({ signal, fence });
   * });
   * process.once('SIGTERM', () => election.stop());
   */
  elect(name: string, callback: LeaderCallback, options?: ElectOptions): Election {
    const lock = this.mutex(name);
    return new Election({ core: this.#core, lock, random: this.#random, callback, options });
  }

  /**
   * Takes over a lease that another process transferred by `lease.transfer()`. Its duration is that of the transferred
   * lease, unless `lease` is given.
   *
   * @throws NotHeldError if the transferred lease has ended, or was adopted already.
   * @throws LockUnavailableError if the store cannot be reached.
   * @throws LockArgumentError if the text is not one of `transfer()`.
   */
  adopt(text: string, options?: AdoptOptions): Promise<Lease> {
    return adopt(this.#core, text, options);
  }

  /**
   * Connects to the store and opens its session, unless that was done. Tries again for 10 seconds.
   *
   * @throws LockUnavailableError if the store cannot be reached, or has no sessions and the locks need one.
   */
  ready(): Promise<void> {
    return this.#core.ready();
  }

  /** Rejects waiting requests, aborts the signals of leases, releases them, and closes the store. */
  close(): Promise<void> {
    return this.#core.close(new Error('the locks were closed'));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
