import { type Clock, systemClock } from '../clock/index.ts';
import { createLocks, type Locks } from '../index.ts';
import {
  type AcquireResult,
  LockArgumentError,
  type LockRequest,
  type LockStore,
  type Waiter,
} from '../lock/index.ts';
import { checkStore } from './check-store.ts';
import { ProcessClock } from './process-clock.ts';
import { ProcessGate } from './process-gate.ts';

/**
 * A fake second process on the same store in memory: its own locks, with another host and pid. A test can let it
 * compete with the code under test, freeze it and kill it.
 *
 * @example
 * const store = memoryStore(clock);
 * const locks = createLocks({ store, clock });
 * const other = otherProcess(store, { clock });
 * await other.locks.mutex('report').acquire();
 * expect(await locks.mutex('report').tryAcquire()).toBeNull();
 * other.kill(); // its lease stays until it expires
 *
 * @throws LockArgumentError if `store` is no store, or not in memory.
 */
export function otherProcess(store: LockStore, options: OtherProcessOptions = {}): OtherProcess {
  checkStore(store, 'otherProcess');
  if (store.ownerPrefix !== undefined) throw new LockArgumentError('', NOT_IN_MEMORY);
  return new FakeProcess(store, options.clock ?? systemClock);
}

export interface OtherProcessOptions {
  /** The clock of the store. Default: the system clock. */
  readonly clock?: Clock;
}

/** A fake second process. */
export interface OtherProcess {
  /** The locks of that process. `locks.close()` ends it in an orderly way: it releases what it holds. */
  readonly locks: Locks;
  /** The host that `inspect()` shows. */
  readonly host: string;
  /** The process id that `inspect()` shows. No real process has it. */
  readonly pid: number;
  /**
   * Stops the process, as SIGSTOP or a long garbage collection does. It renews nothing, so its leases expire; its
   * timers, requests, replies and messages wait for `thaw()`.
   * @throws LockArgumentError after `kill()`.
   */
  freeze(): void;
  /**
   * Lets the process continue. Signals of leases that expired meanwhile abort now.
   * @throws LockArgumentError after `kill()`.
   */
  thaw(): void;
  /**
   * Ends the process without a release, as SIGKILL does: its leases stay until they expire, and its waiters leave
   * their queues. What it was waiting for never settles.
   */
  kill(): void;
}

const NOT_IN_MEMORY =
  'otherProcess needs a store in memory: this one belongs to one client. With Redis a second ' +
  'createLocks(address) is another process for the store';
const KILLED = 'this process was killed. Start another: otherProcess(store)';

/** Above the largest process id of Linux, macOS and Windows in practice. */
let lastPid = 5_000_000;

class FakeProcess implements OtherProcess {
  readonly host = 'other-host';
  readonly pid = ++lastPid;
  readonly locks: Locks;
  readonly #store: LockStore;
  readonly #clock: ProcessClock;
  readonly #gate = new ProcessGate();
  /** Its requests that may be in queues, by owner: a release in kill() of one that has left is harmless. */
  readonly #queued = new Map<string, LockRequest>();

  constructor(store: LockStore, clock: Clock) {
    this.#store = store;
    this.#clock = new ProcessClock(clock, this.#gate);
    this.locks = createLocks({ store: this.#connection(), clock: this.#clock });
  }

  freeze(): void {
    this.#refuseKilled();
    this.#gate.freeze();
  }

  thaw(): void {
    this.#refuseKilled();
    this.#gate.thaw();
  }

  kill(): void {
    if (this.#gate.isKilled) return;
    this.#gate.kill();
    this.#clock.cancelAll();
    for (const request of this.#queued.values()) {
      // A faulty store may be unreachable: then the places in its queues stay.
      Promise.resolve(this.#store.release(request)).catch(() => {});
    }
    this.#queued.clear();
  }

  #refuseKilled(): void {
    if (this.#gate.isKilled) throw new LockArgumentError('', KILLED);
  }

  /** The store as this process sees it. The contract may grow: unknown members are passed on. */
  #connection(): LockStore {
    return new Proxy(this.#store, { get: (store, name) => this.#member(store, name) });
  }

  #member(store: LockStore, name: string | symbol): unknown {
    if (name === 'acquire') return this.#acquire;
    if (name === 'watch') return this.#watch;
    if (name === 'unwatch') return (request: LockRequest) => store.unwatch?.(request);
    // The store outlives this process.
    if (name === 'close') return async () => {};
    const member: unknown = Reflect.get(store, name, store);
    if (typeof member !== 'function') return member;
    const method = member.bind(store) as (...args: unknown[]) => unknown;
    if (typeof name === 'string' && /^on[A-Z]/.test(name)) return this.#subscribe(method);
    return (...args: unknown[]) => this.#call(() => method(...args.map((each) => this.#own(each))));
  }

  readonly #acquire: LockStore['acquire'] = (given, waiter) => {
    const request = this.#own(given);
    if (waiter === undefined) return this.#call(() => this.#store.acquire(request));
    return this.#call(() => this.#enqueue(request, waiter));
  };

  readonly #watch: NonNullable<LockStore['watch']> = (request, onContended) => {
    this.#store.watch?.(request, () => this.#gate.pass(onContended));
  };

  async #enqueue(request: LockRequest, waiter: Waiter): Promise<AcquireResult> {
    const { owner } = request;
    this.#queued.set(owner, request);
    const result = await this.#store.acquire(request, {
      notify: (event) => {
        if (event.type === 'granted') this.#queued.delete(owner);
        this.#gate.pass(() => waiter.notify(event));
      },
    });
    if (result.type === 'granted') this.#queued.delete(owner);
    return result;
  }

  async #call<Result>(execute: () => Result | Promise<Result>): Promise<Result> {
    if (this.#gate.isKilled) throw Object.assign(new Error(KILLED), { isFinal: true });
    await this.#gate.passed();
    const result = await execute();
    await this.#gate.passed();
    return result;
  }

  /** Listeners of the store are called only while the process runs. */
  #subscribe(method: (listener: Listener) => unknown) {
    return (listener: Listener): unknown =>
      method((...args) => this.#gate.pass(() => listener(...args)));
  }

  /** Requests show the host and pid of this process. */
  #own<Value>(value: Value): Value;
  #own(value: unknown): unknown {
    if (Array.isArray(value)) return value.map((each) => this.#own(each));
    if (!isRequest(value)) return value;
    return { ...value, info: { ...value.info, host: this.host, pid: this.pid } };
  }
}

type Listener = (...args: unknown[]) => void;

function isRequest(value: unknown): value is LockRequest {
  return typeof value === 'object' && value !== null && 'owner' in value && 'info' in value;
}
