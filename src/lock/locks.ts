import { hostname } from 'node:os';
import { type Clock, type Random, systemClock, systemRandom } from '../clock/index.ts';
import { LockCore } from './core.ts';
import { type Duration, durationMs } from './duration.ts';
import { Lock } from './lock.ts';
import { checkCount, checkName } from './options.ts';
import type { LockStore } from './store.ts';

export interface LocksOptions {
  readonly store: LockStore;
  readonly clock?: Clock;
  readonly random?: Random;
  /** How long one request to the store may take. Default 5 s. */
  readonly requestTimeout?: Duration;
}

/** A reader takes one, a writer all. */
const READERS = 2 ** 30;

/** The locks of one store. */
export class Locks implements AsyncDisposable {
  readonly #core: LockCore;

  constructor(options: LocksOptions) {
    const { store, clock = systemClock, random = systemRandom, requestTimeout = '5s' } = options;
    const requestTimeoutMs = durationMs(requestTimeout, 'requestTimeout', '', { leastMs: 1 });
    const info = { host: hostname(), pid: process.pid };
    this.#core = new LockCore({ store, clock, random, requestTimeoutMs, info });
  }

  /** One holder at a time. */
  mutex(name: string): Lock {
    return new Lock(this.#core, { kind: 'mutex', name: checkName(name), slots: 1 }, 1);
  }

  /** Many readers or one writer, in order of arrival: a reader waits behind a writer that waits. */
  readWrite(name: string): { readonly read: Lock; readonly write: Lock } {
    const target = { kind: 'rw', name: checkName(name), slots: READERS } as const;
    return {
      read: new Lock(this.#core, target, 1),
      write: new Lock(this.#core, target, READERS),
    };
  }

  /** As many holders as there are permits; each takes one, or `take` of them. */
  semaphore(name: string, permits: number, { take = 1 }: { take?: number } = {}): Lock {
    checkName(name);
    const slots = checkCount(name, permits, 'permits', READERS);
    const target = { kind: 'semaphore', name, slots } as const;
    return new Lock(this.#core, target, checkCount(name, take, 'take', permits));
  }

  /** Rejects who waits, aborts the signals of who holds, releases, and closes the store. */
  close(): Promise<void> {
    return this.#core.close(new Error('the locks were closed'));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
