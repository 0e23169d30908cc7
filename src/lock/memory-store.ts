import type { Clock, Timer } from '../clock/index.ts';
import { otherSlots, StolenError } from './errors.ts';
import { type Linked, LinkedList } from './linked-list.ts';
import type {
  AcquireResult,
  Contention,
  HoldfastHolder,
  Inspection,
  ListFilter,
  LockKind,
  LockListing,
  LockRequest,
  LockStore,
  LockTarget,
  Waiter,
} from './store.ts';

const READY = Promise.resolve();

/** A store in the memory of this process. Its locks end with the process. */
export function memoryStore(clock: Clock): LockStore {
  return new MemoryStore(clock);
}

/** Locks that are not in use are removed when there are at least this many. */
const MIN_SWEEP_COUNT = 1000;

/** Maximum number of holders that a LockTimeoutError names. */
const MAX_SHOWN = 10;
/** Places beyond this are not counted. */
const MAX_PLACE = 1000;

class MemoryStore implements LockStore {
  readonly #clock: Clock;
  /** Locks of different kinds may have the same name, as in Redis. */
  readonly #locks = {
    mutex: new Map(),
    semaphore: new Map(),
    rw: new Map(),
  } as const satisfies Record<LockKind, Map<string, MemoryLock>>;
  readonly #fences: Fences;
  readonly #lossListeners: ((reason: Error, owner: string) => void)[] = [];
  #count = 0;
  #sweepAtCount = MIN_SWEEP_COUNT;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#fences = new Fences(clock);
  }

  acquire(request: LockRequest, waiter?: Waiter): AcquireResult {
    const lock = this.#opened(request);
    if (lock.slots !== request.slots) lock.changeSlots(request);
    return request.stealReason === undefined
      ? lock.acquire(request, waiter)
      : this.#steal(lock, request);
  }

  async acquireAll(requests: readonly LockRequest[], minFence: number): Promise<AcquireResult> {
    if (this.#count > this.#sweepAtCount) this.#sweep();
    // Sweep before: a sweep while the others are opened could remove a lock that was just opened.
    const locks = requests.map((request) => this.#find(request) ?? this.#open(request));
    const isFree = locks.every((lock, index) => lock.admits(requests[index]!));
    if (!isFree) return { type: 'busy', retryInMs: 0 };
    const fences = locks.map((lock, index) => lock.take(requests[index]!));
    const fence = Math.max(minFence, ...fences);
    for (const [index, lock] of locks.entries()) lock.raise(requests[index]!, fence);
    this.#fences.skip(fence);
    return { type: 'granted', fence };
  }

  async adopt(request: LockRequest, from: LockRequest): Promise<AcquireResult> {
    return this.#opened(request).adopt(request, from.owner);
  }

  extend(request: LockRequest): boolean {
    return this.#find(request)?.extend(request) ?? false;
  }

  keep(request: LockRequest): boolean {
    return this.#find(request)?.keep(request) ?? false;
  }

  release(request: LockRequest, fence?: number): boolean {
    return this.#find(request)?.release(request, fence) ?? false;
  }

  async forceRelease(target: LockTarget): Promise<number> {
    return this.#find(target)?.releaseAll() ?? 0;
  }

  onLost(listener: (reason: Error, owner?: string) => void): void {
    this.#lossListeners.push(listener);
  }

  watch(request: LockRequest, onContended: () => void): void {
    this.#find(request)?.watch(request, onContended);
  }

  unwatch(request: LockRequest): void {
    this.#find(request)?.unwatch(request);
  }

  async inspect(target: LockTarget): Promise<Inspection> {
    return this.#find(target)?.inspect() ?? { holders: [], waiters: [] };
  }

  async contention(request: LockRequest): Promise<Contention> {
    return this.#find(request)?.contention(request) ?? { holders: [], place: undefined };
  }

  async list({ name, maxLocks, maxParties }: ListFilter): Promise<LockListing> {
    const found: (LockTarget & { readonly lock: MemoryLock })[] = [];
    for (const [kind, locks] of Object.entries(this.#locks)) {
      const named: Iterable<[string, MemoryLock | undefined]> =
        name === undefined ? locks : [[name, locks.get(name)]];
      for (const [each, lock] of named) {
        if (lock === undefined || lock.isIdle) continue;
        found.push({ kind: kind as LockKind, name: each, slots: lock.slots, lock });
      }
    }
    found.sort((one, other) => (one.name < other.name ? -1 : 1));
    const locks = found.slice(0, maxLocks).map(({ lock, ...target }) => {
      const { holders, waiters } = lock.inspect();
      return {
        ...target,
        holders: holders.slice(0, maxParties),
        waiters: waiters.slice(0, maxParties),
        holderCount: holders.length,
        waiterCount: waiters.length,
      };
    });
    return { locks, isCut: found.length > maxLocks };
  }

  async close(): Promise<void> {
    for (const locks of Object.values(this.#locks)) {
      for (const lock of locks.values()) lock.close();
      locks.clear();
    }
  }

  #steal(lock: MemoryLock, request: LockRequest): AcquireResult {
    const { fence, formerOwners } = lock.steal(request);
    const reason = new StolenError(request.info, request.stealReason!);
    // In a microtask: the caller receives its lease first.
    READY.then(() => {
      for (const listener of this.#lossListeners)
        for (const owner of formerOwners) listener(reason, owner);
    });
    return { type: 'granted', fence };
  }

  #find({ kind, name }: LockTarget): MemoryLock | undefined {
    return this.#locks[kind].get(name);
  }

  #opened(target: LockTarget): MemoryLock {
    let lock = this.#find(target);
    if (lock === undefined) {
      if (this.#count >= this.#sweepAtCount) this.#sweep();
      lock = this.#open(target);
    }
    return lock;
  }

  #open({ kind, name, slots }: LockTarget): MemoryLock {
    const lock = new MemoryLock(this.#clock, this.#fences, slots);
    this.#locks[kind].set(name, lock);
    this.#count++;
    return lock;
  }

  /** Removes locks that are not in use. Runs when the number of locks has doubled since the last sweep. */
  #sweep(): void {
    this.#count = 0;
    for (const locks of Object.values(this.#locks)) {
      for (const [name, lock] of locks as Map<string, MemoryLock>) {
        if (lock.isIdle) locks.delete(name);
        else this.#count++;
      }
    }
    this.#sweepAtCount = Math.max(MIN_SWEEP_COUNT, 2 * this.#count);
  }
}

/** Counts from the wall clock in microseconds, so that fences are larger than those of an earlier run of the program. */
class Fences {
  #last: number;

  constructor(clock: Clock) {
    this.#last = Math.floor(clock.wallMs() * 1000);
  }

  next(): number {
    return ++this.#last;
  }

  skip(fence: number): void {
    this.#last = Math.max(this.#last, fence);
  }
}

interface MemoryHolder {
  readonly request: LockRequest;
  fence: number;
  readonly grantedMs: number;
  deadlineMs: number;
}

/** The holders of a lock, by owner. Most locks have at most one holder: only others need a Map. */
class Holders {
  #one: MemoryHolder | undefined;
  #others: Map<string, MemoryHolder> | undefined;

  get size(): number {
    return (this.#one === undefined ? 0 : 1) + (this.#others?.size ?? 0);
  }

  get(owner: string): MemoryHolder | undefined {
    return this.#one?.request.owner === owner ? this.#one : this.#others?.get(owner);
  }

  add(holder: MemoryHolder): void {
    if (this.#one === undefined) this.#one = holder;
    else {
      this.#others ??= new Map();
      this.#others.set(holder.request.owner, holder);
    }
  }

  remove(holder: MemoryHolder): void {
    if (this.#one === holder) this.#one = undefined;
    else this.#others?.delete(holder.request.owner);
  }

  toArray(): MemoryHolder[] {
    const others = [...(this.#others?.values() ?? [])];
    return this.#one === undefined ? others : [this.#one, ...others];
  }
}

interface Queued extends Linked<Queued> {
  readonly request: LockRequest;
  readonly waiter: Waiter;
}

/** The queue of a lock, in order of arrival. */
class Queue {
  readonly #list = new LinkedList<Queued>();
  readonly #byOwner = new Map<string, Queued>();

  get first(): LockRequest | undefined {
    return this.#list.first?.request;
  }

  add(request: LockRequest, waiter: Waiter): void {
    if (this.#byOwner.has(request.owner)) return;
    const queued = { request, waiter, before: undefined, after: undefined };
    this.#list.push(queued);
    this.#byOwner.set(request.owner, queued);
  }

  /** Undefined: it is not in the queue. */
  remove(owner: string): Waiter | undefined {
    const queued = this.#byOwner.get(owner);
    if (queued === undefined) return undefined;
    this.#list.remove(queued);
    this.#byOwner.delete(owner);
    return queued.waiter;
  }

  /** From 1 on. Undefined: it is not in the queue, or its place is beyond MAX_PLACE. */
  placeOf(owner: string): number | undefined {
    const queued = this.#byOwner.get(owner);
    let place = 1;
    for (let each = queued?.before; each !== undefined; each = each.before) {
      if (++place > MAX_PLACE) return undefined;
    }
    return queued && place;
  }

  toArray(): LockRequest[] {
    return this.#list.toArray().map(({ request }) => request);
  }
}

/** One lock. Its waiters need no expiry: they end with the process. */
class MemoryLock {
  slots: number;
  readonly #clock: Clock;
  readonly #fences: Fences;
  readonly #holders = new Holders();
  readonly #queue = new Queue();
  #used = 0;
  #lastFence = 0;
  /** No lease ends before this time. The first lease may end later, if it was extended. */
  #firstEndMs = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;
  /** Callbacks of holders that use `lease.contended`, by owner. */
  #watchers: Map<string, () => void> | undefined;

  constructor(clock: Clock, fences: Fences, slots: number) {
    this.#clock = clock;
    this.#fences = fences;
    this.slots = slots;
  }

  /** Whether the lock has neither holders nor waiters, so that it can be removed. */
  get isIdle(): boolean {
    this.#expire(this.#clock.monotonicMs());
    return this.#holders.size === 0 && !this.#hasWaiters;
  }

  get #hasWaiters(): boolean {
    return this.#queue.first !== undefined;
  }

  acquire(request: LockRequest, waiter?: Waiter): AcquireResult {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    if (this.#hasWaiters) this.#serve(nowMs);
    const holder = this.#holders.get(request.owner);
    if (holder !== undefined) {
      this.#extend(holder, request.leaseMs, nowMs);
      return { type: 'granted', fence: holder.fence };
    }
    if (!this.#hasWaiters && this.#fits(request)) {
      return { type: 'granted', fence: this.#grant(request, nowMs) };
    }
    if (waiter === undefined) return { type: 'busy', retryInMs: this.#firstEndMs - nowMs };
    this.#queue.add(request, waiter);
    if (this.#watchers !== undefined) this.#notifyWatchers();
    if (this.#timer === undefined) this.#setTimer(nowMs);
    // No retry is needed: in memory no event is lost.
    return { type: 'busy', retryInMs: Number.POSITIVE_INFINITY };
  }

  /** The number of slots changes only while the lock is free. Of a stolen lock, the holders do not count. */
  changeSlots({ name, slots, stealReason }: LockRequest): void {
    const isInUse = stealReason === undefined ? !this.isIdle : this.#hasWaiters;
    if (isInUse) throw otherSlots(name, this.slots, slots);
    this.slots = slots;
  }

  /** Ends all leases and grants the lock, before any waiter. Returns the fence and the former owners. */
  steal(request: LockRequest): {
    readonly fence: number;
    readonly formerOwners: readonly string[];
  } {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    const holder = this.#holders.get(request.owner);
    if (holder !== undefined) return { fence: holder.fence, formerOwners: [] };
    const former = this.#holders.toArray();
    for (const each of former) this.#drop(each);
    const fence = this.#grant(request, nowMs);
    // The former holders may have had more permits.
    if (this.#hasWaiters) this.#serve(nowMs);
    return { fence, formerOwners: former.map((each) => each.request.owner) };
  }

  watch({ owner }: LockRequest, onContended: () => void): void {
    if (this.#holders.get(owner) === undefined) return;
    this.#watchers ??= new Map();
    this.#watchers.set(owner, onContended);
    if (this.#hasWaiters) this.#notifyWatchers();
  }

  unwatch({ owner }: LockRequest): void {
    this.#watchers?.delete(owner);
  }

  /** Whether the owner holds the lock, or would be granted it now. */
  admits(request: LockRequest): boolean {
    this.#expire(this.#clock.monotonicMs());
    const isHeld = this.#holders.get(request.owner) !== undefined;
    return isHeld || (!this.#hasWaiters && this.#fits(request));
  }

  /** Grants the lock and returns the fence. Call it only if `admits` is true. */
  take(request: LockRequest): number {
    const result = this.acquire(request);
    return result.type === 'granted' ? result.fence : 0;
  }

  raise({ owner }: LockRequest, fence: number): void {
    const holder = this.#holders.get(owner);
    if (holder !== undefined) holder.fence = fence;
    this.#lastFence = fence;
  }

  adopt(request: LockRequest, from: string): AcquireResult {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    if (this.#drop(this.#holders.get(from)))
      return { type: 'granted', fence: this.#grant(request, nowMs) };
    if (this.#holders.get(request.owner) !== undefined) return this.acquire(request);
    return { type: 'busy', retryInMs: 0 };
  }

  extend({ owner, leaseMs }: LockRequest): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    const holder = this.#holders.get(owner);
    if (holder === undefined) return false;
    this.#extend(holder, leaseMs, nowMs);
    return true;
  }

  keep({ owner, leaseMs }: LockRequest): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    const holder = this.#holders.get(owner);
    if (holder === undefined) return false;
    this.#setDeadline(holder, nowMs + leaseMs, nowMs);
    return true;
  }

  release({ owner }: LockRequest, fence: number | undefined): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    if (this.#hasWaiters) this.#queue.remove(owner);
    const wasHeld =
      this.#drop(this.#holders.get(owner)) ||
      (this.#holders.size === 0 && fence === this.#lastFence);
    if (this.#hasWaiters) this.#serve(nowMs);
    else this.#cancelTimer();
    return wasHeld;
  }

  releaseAll(): number {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    const count = this.#holders.size;
    for (const holder of this.#holders.toArray()) this.#drop(holder);
    this.#lastFence = this.#fences.next();
    this.#serve(nowMs);
    return count;
  }

  inspect(): Inspection {
    const holders = this.#shownHolders();
    const waiters = this.#queue
      .toArray()
      .map(({ owner, info, permits }) => ({ owner, ...info, permits }));
    return { holders, waiters };
  }

  contention({ owner }: LockRequest): Contention {
    return { holders: this.#shownHolders().slice(0, MAX_SHOWN), place: this.#queue.placeOf(owner) };
  }

  close(): void {
    this.#cancelTimer();
  }

  #shownHolders(): HoldfastHolder[] {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    return this.#holders.toArray().map(({ request, fence, grantedMs, deadlineMs }) => ({
      foreign: false,
      owner: request.owner,
      ...request.info,
      permits: request.permits,
      fence,
      ageMs: nowMs - grantedMs,
      leftMs: deadlineMs - nowMs,
    }));
  }

  #fits({ permits }: LockRequest): boolean {
    return this.#used + permits <= this.slots;
  }

  #notifyWatchers(): void {
    const watchers = [...(this.#watchers?.values() ?? [])];
    this.#watchers = undefined;
    READY.then(() => {
      for (const onContended of watchers) onContended();
    });
  }

  #grant(request: LockRequest, nowMs: number): number {
    const fence = this.#fences.next();
    this.#lastFence = fence;
    const deadlineMs = nowMs + request.leaseMs;
    this.#used += request.permits;
    this.#holders.add({ request, fence, grantedMs: nowMs, deadlineMs });
    if (deadlineMs < this.#firstEndMs) this.#setFirstEnd(deadlineMs, nowMs);
    return fence;
  }

  /** Never shortens the lease. */
  #extend(holder: MemoryHolder, leaseMs: number, nowMs: number): void {
    this.#setDeadline(holder, Math.max(holder.deadlineMs, nowMs + leaseMs), nowMs);
  }

  #setDeadline(holder: MemoryHolder, deadlineMs: number, nowMs: number): void {
    holder.deadlineMs = deadlineMs;
    if (deadlineMs < this.#firstEndMs) this.#setFirstEnd(deadlineMs, nowMs);
  }

  #setFirstEnd(deadlineMs: number, nowMs: number): void {
    this.#firstEndMs = deadlineMs;
    if (this.#timer !== undefined) this.#setTimer(nowMs);
  }

  #drop(holder: MemoryHolder | undefined): boolean {
    if (holder === undefined) return false;
    this.#holders.remove(holder);
    this.#used -= holder.request.permits;
    return true;
  }

  /** Hands the lock over to the first waiters of the queue, until one does not fit. */
  #serve(nowMs: number): void {
    for (let next = this.#queue.first; next && this.#fits(next); next = this.#queue.first) {
      this.#handOver(next, this.#queue.remove(next.owner)!, nowMs);
    }
    if (this.#timer === undefined || !this.#hasWaiters) this.#setTimer(nowMs);
  }

  /** Notifies the waiter in a microtask: the release that freed the lock returns first. */
  #handOver(request: LockRequest, waiter: Waiter, nowMs: number): void {
    const fence = this.#grant(request, nowMs);
    const sentWallMs = this.#clock.wallMs();
    READY.then(() =>
      waiter.notify({ type: 'granted', fence, sentMs: nowMs, sentWallMs, isReserved: false }),
    );
  }

  /** Ends expired leases. Checks the holders only if one of them may have expired. */
  #expire(nowMs: number): void {
    if (nowMs < this.#firstEndMs) return;
    this.#firstEndMs = Number.POSITIVE_INFINITY;
    let ended = false;
    for (const holder of this.#holders.toArray()) {
      if (holder.deadlineMs <= nowMs) ended = this.#drop(holder);
      else this.#firstEndMs = Math.min(this.#firstEndMs, holder.deadlineMs);
    }
    if (ended) this.#serve(nowMs);
  }

  /** While there are waiters, a timer ends the next lease that expires, since there may be no request that does. */
  #setTimer(nowMs: number): void {
    this.#cancelTimer();
    if (!this.#hasWaiters || this.#holders.size === 0) return;
    this.#timer = this.#clock.setTimer(this.#firstEndMs - nowMs, () => {
      this.#timer = undefined;
      const laterMs = this.#clock.monotonicMs();
      this.#expire(laterMs);
      this.#setTimer(laterMs);
    });
  }

  #cancelTimer(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
