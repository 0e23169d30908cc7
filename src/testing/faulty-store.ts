import { type Clock, systemClock } from '../clock/index.ts';
import {
  type AcquireResult,
  type Duration,
  durationMs,
  LockArgumentError,
  type LockRequest,
  type LockStore,
  type LockTarget,
  type Waiter,
} from '../lock/index.ts';
import { checkStore } from './check-store.ts';

/**
 * Wraps a store, so that a test can make it fail. Without a fault every call goes straight to the store.
 *
 * @example
 * const clock = virtualClock();
 * const store = faultyStore(memoryStore(clock), { clock });
 * const locks = createLocks({ store, clock });
 * store.faults.unreachable();
 * await expect(locks.mutex('report').tryAcquire()).rejects.toThrow(LockUnavailableError);
 *
 * @throws LockArgumentError if `store` is no store.
 */
export function faultyStore(store: LockStore, options: FaultyStoreOptions = {}): FaultyStore {
  checkStore(store, 'faultyStore');
  const faults = new StoreFaults(store, options.clock ?? systemClock);
  return new Proxy(store, {
    has: (target, name) => name === 'faults' || Reflect.has(target, name),
    get: (target, name) => (name === 'faults' ? faults : faults.member(target, name)),
  }) as FaultyStore;
}

export interface FaultyStoreOptions {
  /** The clock of `slow()`: the one that `createLocks` has. Default: the system clock. */
  readonly clock?: Clock;
}

/** A store with faults on demand. */
export interface FaultyStore extends LockStore {
  readonly faults: Faults;
}

/** What a test can do to a store. Faults concern calls for locks, not those of the cache. */
export interface Faults {
  /** Every call rejects, without reaching the store, until `recover()`. Waiters get no messages. */
  unreachable(): void;
  /**
   * Every reply takes this long, until `recover()`. The store executes the call at once.
   * @throws LockArgumentError if it is not a duration.
   */
  slow(duration: Duration): void;
  /** The next call is executed, but rejects: the caller does not learn the result. */
  dropNextReply(): void;
  /**
   * Ends leases in the store. Without a name: all of them, and the signals of their holders abort at once, as
   * when a session ends. With the name of a lock: all of that lock. Its holders get no message, so their signals
   * abort at the next renewal, after a third of the lease, as when the key is deleted in Redis.
   *
   * @throws LockArgumentError if no lock of that name was used through this store.
   */
  loseLeases(name?: string): Promise<void>;
  /** Ends all faults. Leases that are lost stay lost. */
  recover(): void;
}

type Mode =
  | { readonly type: 'healthy' }
  | { readonly type: 'unreachable' }
  | { readonly type: 'slow'; readonly replyMs: number };

type Method = (...args: unknown[]) => unknown;

/** Members that make no call to where the locks live: they have no faults. */
const LOCAL = /^(?:on[A-Z]|close$|unwatch$)/;

class StoreFaults implements Faults {
  readonly #store: LockStore;
  readonly #clock: Clock;
  #mode: Mode = { type: 'healthy' };
  #dropsNextReply = false;
  /** Every lock that was used, by kind and name. */
  readonly #targets = new Map<string, LockTarget>();
  /** Callers in the queue, by owner. */
  readonly #waiters = new Map<string, Waiter>();
  readonly #lostListeners: ((reason: Error) => void)[] = [];

  constructor(store: LockStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  unreachable(): void {
    this.#mode = { type: 'unreachable' };
    // A store that loses its connection tells its waiters, which then retry until their wait ends.
    for (const waiter of [...this.#waiters.values()]) {
      waiter.notify({ type: 'failed', error: unreachableError() });
    }
  }

  slow(duration: Duration): void {
    this.#mode = { type: 'slow', replyMs: durationMs(duration, 'slow', '', { leastMs: 0 }) };
  }

  dropNextReply(): void {
    this.#dropsNextReply = true;
  }

  recover(): void {
    this.#mode = { type: 'healthy' };
    this.#dropsNextReply = false;
  }

  async loseLeases(name?: string): Promise<void> {
    const targets = [...this.#targets.values()];
    const lost = name === undefined ? targets : targets.filter((each) => each.name === name);
    if (name !== undefined && lost.length === 0) throw unknownLock(name, targets);
    for (const target of lost) await this.#store.forceRelease(target);
    if (name !== undefined) return;
    const reason = new Error('faultyStore: loseLeases() was called');
    for (const listener of this.#lostListeners) listener(reason);
  }

  /** A member of the store, with the faults. The contract may grow: unknown members are passed on. */
  member(target: LockStore, name: string | symbol): unknown {
    if (name === 'onLost') return this.#onLost;
    if (name === 'acquire') return this.#acquire;
    if (name === 'watch') return this.#watch;
    if (name === 'release') return this.#release;
    const member: unknown = Reflect.get(target, name, target);
    if (typeof member !== 'function') return member;
    const method = member.bind(target) as Method;
    if (typeof name === 'symbol' || LOCAL.test(name)) return method;
    return (...args: unknown[]) => this.#call(args[0], () => method(...args));
  }

  readonly #onLost = (listener: (reason: Error, owner?: string) => void): void => {
    this.#lostListeners.push(listener);
    this.#store.onLost?.((reason, owner) => {
      // A message to one holder does not arrive while the store is unreachable.
      if (owner === undefined || this.#mode.type !== 'unreachable') listener(reason, owner);
    });
  };

  readonly #watch: NonNullable<LockStore['watch']> = (request, onContended) => {
    this.#store.watch?.(request, () => {
      if (this.#mode.type !== 'unreachable') onContended();
    });
  };

  readonly #acquire: LockStore['acquire'] = (request, waiter) => {
    if (waiter === undefined) return this.#call(request, () => this.#store.acquire(request));
    return this.#call(request, () => this.#enqueue(request, waiter));
  };

  readonly #release: LockStore['release'] = (request, fence) => {
    this.#waiters.delete(request.owner);
    return this.#call(request, () => this.#store.release(request, fence));
  };

  /** The waiter receives nothing while the store is unreachable. */
  #enqueue(request: LockRequest, waiter: Waiter): AcquireResult | Promise<AcquireResult> {
    const { owner } = request;
    this.#waiters.set(owner, waiter);
    const result = this.#store.acquire(request, {
      notify: (event) => {
        if (this.#mode.type === 'unreachable') return;
        if (event.type === 'granted') this.#waiters.delete(owner);
        waiter.notify(event);
      },
    });
    void Promise.resolve(result).then(
      ({ type }) => type === 'granted' && this.#waiters.delete(owner),
      () => {},
    );
    return result;
  }

  #call<Result>(
    subject: unknown,
    execute: () => Result | Promise<Result>,
  ): Result | Promise<Result> {
    for (const each of [subject].flat()) {
      if (isTarget(each)) this.#targets.set(`${each.kind} ${each.name}`, each);
    }
    if (this.#mode.type === 'unreachable') return Promise.reject(unreachableError());
    const isDropped = this.#dropsNextReply;
    this.#dropsNextReply = false;
    return isDropped || this.#mode.type === 'slow' ? this.#reply(execute(), isDropped) : execute();
  }

  async #reply<Result>(reply: Result | Promise<Result>, isDropped: boolean): Promise<Result> {
    const mode = this.#mode;
    const result = await reply;
    if (mode.type === 'slow') {
      await new Promise<void>((resolve) => void this.#clock.setTimer(mode.replyMs, resolve));
    }
    if (isDropped) {
      throw new Error(
        'faultyStore: the reply was dropped by dropNextReply(). The store has executed the call.',
      );
    }
    if (this.#mode.type === 'unreachable') throw unreachableError();
    return result;
  }
}

function unreachableError(): Error {
  return new Error('faultyStore: unreachable() was called');
}

function unknownLock(name: string, targets: readonly LockTarget[]): LockArgumentError {
  const names = new Set(targets.map((target) => `'${target.name}'`));
  return new LockArgumentError(
    name,
    `loseLeases('${name}'): no lock of this name was used through this store. Used so far: ` +
      (names.size === 0 ? 'none' : [...names].join(', ')),
  );
}

function isTarget(value: unknown): value is LockTarget {
  return typeof value === 'object' && value !== null && 'kind' in value && 'name' in value;
}
