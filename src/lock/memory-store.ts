import type { Clock, Timer } from '../clock/index.ts';
import { LinkedList } from './linked-list.ts';
import type {
  Answer,
  Claim,
  Grant,
  Hold,
  Inspection,
  LockKind,
  LockStore,
  Target,
} from './store.ts';

const READY = Promise.resolve();

/** Locks of one process: nothing to install, nothing to reach. They end with the process. */
export function memoryStore(clock: Clock): LockStore {
  return new MemoryStore(clock);
}

/** Below this many, locks that nobody uses are kept for the next user. */
const FEW_LOCKS = 1000;

class MemoryStore implements LockStore {
  readonly #clock: Clock;
  /** The kinds are apart, as their keys are in Redis. */
  readonly #locks = {
    mutex: new Map(),
    semaphore: new Map(),
    rw: new Map(),
  } as const satisfies Record<LockKind, Map<string, MemoryLock>>;
  readonly #fences: Fences;
  #count = 0;
  #sweepAtCount = FEW_LOCKS;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#fences = new Fences(clock);
  }

  ask(claim: Claim, queues: boolean): Answer {
    return this.#opened(claim).ask(claim, queues);
  }

  async askAll(claims: readonly Claim[], leastFence: number): Promise<Answer> {
    if (this.#count > this.#sweepAtCount) this.#sweep();
    // None of them may be swept away, as one that nobody uses, while the others are opened.
    const locks = claims.map((claim) => this.#find(claim) ?? this.#open(claim));
    const free = locks.every((lock, index) => lock.admits(claims[index]!));
    if (!free) return { held: false, retryInMs: 0 };
    const fences = locks.map((lock, index) => lock.take(claims[index]!));
    const fence = Math.max(leastFence, ...fences);
    for (const [index, lock] of locks.entries()) lock.raise(claims[index]!, fence);
    this.#fences.skip(fence);
    return { held: true, fence };
  }

  async adopt(claim: Claim, from: Hold): Promise<Answer> {
    return this.#opened(claim).adopt(claim, from.owner);
  }

  extend(hold: Hold, leaseMs: number): boolean {
    return this.#find(hold)?.extend(hold, leaseMs) ?? false;
  }

  release(hold: Hold | Claim, fence?: number): boolean {
    const lock = this.#find(hold);
    return lock === undefined ? false : lock.release(hold, fence);
  }

  async forceRelease(target: Target): Promise<number> {
    return this.#find(target)?.releaseAll() ?? 0;
  }

  async inspect(target: Target): Promise<Inspection> {
    return this.#find(target)?.inspect() ?? { holders: [], waiters: [] };
  }

  async close(): Promise<void> {
    for (const locks of Object.values(this.#locks)) {
      for (const lock of locks.values()) lock.close();
      locks.clear();
    }
  }

  #find({ kind, name }: Target): MemoryLock | undefined {
    return this.#locks[kind].get(name);
  }

  #opened(target: Target): MemoryLock {
    let lock = this.#find(target);
    if (lock === undefined) {
      if (this.#count >= this.#sweepAtCount) this.#sweep();
      lock = this.#open(target);
    }
    lock.slots = target.slots;
    return lock;
  }

  #open({ kind, name }: Target): MemoryLock {
    const lock = new MemoryLock(this.#clock, this.#fences);
    this.#locks[kind].set(name, lock);
    this.#count++;
    return lock;
  }

  /** Looks at all locks, but only when there are twice as many as were in use the last time. */
  #sweep(): void {
    this.#count = 0;
    for (const locks of Object.values(this.#locks)) {
      for (const [name, lock] of locks as Map<string, MemoryLock>) {
        if (lock.isIdle) locks.delete(name);
        else this.#count++;
      }
    }
    this.#sweepAtCount = Math.max(FEW_LOCKS, 2 * this.#count);
  }
}

/** From microseconds of the wall clock upwards: larger than any of an earlier run of the program. */
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
  readonly claim: Claim;
  fence: number;
  readonly grantedMs: number;
  deadlineMs: number;
}

/** The holders of a lock, by owner. Most have one or none, and need no Map for that. */
class Holders {
  #one: MemoryHolder | undefined;
  #others: Map<string, MemoryHolder> | undefined;

  get size(): number {
    return (this.#one === undefined ? 0 : 1) + (this.#others?.size ?? 0);
  }

  /** A claim is told from another by what it is: to compare their owners costs more than all the rest. */
  get(hold: Hold): MemoryHolder | undefined {
    return this.#one?.claim === hold ? this.#one : this.#others?.get(hold.owner);
  }

  find(owner: string): MemoryHolder | undefined {
    return this.#one?.claim.owner === owner ? this.#one : this.#others?.get(owner);
  }

  add(holder: MemoryHolder): void {
    if (this.#one === undefined) {
      this.#one = holder;
      return;
    }
    this.#others ??= new Map();
    this.#others.set(holder.claim.owner, holder);
  }

  remove({ claim }: MemoryHolder): void {
    if (this.#one?.claim === claim) this.#one = undefined;
    else this.#others?.delete(claim.owner);
  }

  toArray(): MemoryHolder[] {
    const others = [...(this.#others?.values() ?? [])];
    return this.#one === undefined ? others : [this.#one, ...others];
  }
}

/** One lock. Waiters need no time of their own here: they live and die with the process. */
class MemoryLock {
  slots = 1;
  readonly #clock: Clock;
  readonly #fences: Fences;
  readonly #holders = new Holders();
  /** Those who stand in line, in order. */
  readonly #line = new LinkedList<Claim>();
  #used = 0;
  #lastFence = 0;
  /** No lease ends before this; a later end of the first is found out when it comes. */
  #firstEndMs = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(clock: Clock, fences: Fences) {
    this.#clock = clock;
    this.#fences = fences;
  }

  /** Nobody uses it: it may be forgotten. */
  get isIdle(): boolean {
    this.#expire(this.#clock.monotonicMs());
    return this.#holders.size === 0 && !this.#isAwaited;
  }

  get #isAwaited(): boolean {
    return this.#line.first !== undefined;
  }

  ask(claim: Claim, queues: boolean): Answer {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    if (this.#isAwaited) this.#serve(nowMs);
    const mine = this.#holders.get(claim);
    if (mine !== undefined) {
      this.#prolong(mine, claim.leaseMs, nowMs);
      return { held: true, fence: mine.fence };
    }
    if (!this.#isAwaited && this.#fits(claim)) {
      return { held: true, fence: this.#grant(claim, nowMs) };
    }
    if (!queues) return { held: false, retryInMs: this.#firstEndMs - nowMs };
    this.#stand(claim, nowMs);
    // No call is lost here, and no end of a lease is missed: nobody needs to ask again.
    return { held: false, retryInMs: Number.POSITIVE_INFINITY };
  }

  /** Whether the owner has the lock, or would get it if it asked. */
  admits(claim: Claim): boolean {
    this.#expire(this.#clock.monotonicMs());
    return this.#holders.get(claim) !== undefined || (!this.#isAwaited && this.#fits(claim));
  }

  /** What the owner may have without waiting; `admits` has said so. */
  take(claim: Claim): number {
    const answer = this.ask(claim, false);
    return answer.held ? answer.fence : 0;
  }

  raise(claim: Claim, fence: number): void {
    const holder = this.#holders.get(claim);
    if (holder !== undefined) holder.fence = fence;
    this.#lastFence = fence;
  }

  adopt(claim: Claim, from: string): Answer {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    if (this.#drop(this.#holders.find(from)))
      return { held: true, fence: this.#grant(claim, nowMs) };
    if (this.#holders.get(claim) !== undefined) return this.ask(claim, false);
    return { held: false, retryInMs: 0 };
  }

  extend(hold: Hold, leaseMs: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    const holder = this.#holders.get(hold);
    if (holder === undefined) return false;
    this.#prolong(holder, leaseMs, nowMs);
    return true;
  }

  release(hold: Hold | Claim, fence: number | undefined): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    if ('leaseMs' in hold && hold.isInLine) this.#leave(hold);
    const wasOurs =
      this.#drop(this.#holders.get(hold)) ||
      (this.#holders.size === 0 && fence === this.#lastFence);
    if (this.#isAwaited) this.#serve(nowMs);
    else this.#unwatch();
    return wasOurs;
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
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    const holders = this.#holders.toArray().map(({ claim, fence, grantedMs, deadlineMs }) => ({
      foreign: false as const,
      ...claim.info,
      take: claim.take,
      fence,
      ageMs: nowMs - grantedMs,
      leftMs: deadlineMs - nowMs,
    }));
    const claims = this.#line.toArray();
    return { holders, waiters: claims.map(({ info, take }) => ({ ...info, take })) };
  }

  close(): void {
    this.#unwatch();
  }

  /** The number of permits may change: who asked for more than there are now is not kept for ever. */
  #fits({ take, slots }: Claim): boolean {
    return this.#used + take <= Math.max(slots, this.slots);
  }

  #stand(claim: Claim, nowMs: number): void {
    if (!claim.isInLine) this.#line.push(claim);
    claim.isInLine = true;
    if (this.#timer === undefined) this.#watchHolders(nowMs);
  }

  #leave(claim: Claim): void {
    claim.isInLine = false;
    this.#line.remove(claim);
  }

  #grant(claim: Claim, nowMs: number): number {
    const fence = this.#fences.next();
    this.#lastFence = fence;
    const deadlineMs = nowMs + claim.leaseMs;
    this.#used += claim.take;
    this.#holders.add({ claim, fence, grantedMs: nowMs, deadlineMs });
    if (deadlineMs < this.#firstEndMs) this.#endsFirst(deadlineMs, nowMs);
    return fence;
  }

  #prolong(holder: MemoryHolder, leaseMs: number, nowMs: number): void {
    holder.deadlineMs = nowMs + leaseMs;
    if (holder.deadlineMs < this.#firstEndMs) this.#endsFirst(holder.deadlineMs, nowMs);
  }

  #endsFirst(deadlineMs: number, nowMs: number): void {
    this.#firstEndMs = deadlineMs;
    if (this.#timer !== undefined) this.#watchHolders(nowMs);
  }

  #drop(holder: MemoryHolder | undefined): boolean {
    if (holder === undefined) return false;
    this.#holders.remove(holder);
    this.#used -= holder.claim.take;
    return true;
  }

  /** Hands over to the first in line, and to those behind it for as long as they fit. */
  #serve(nowMs: number): void {
    const line = this.#line;
    for (let claim = line.first; claim && this.#fits(claim); claim = line.first) {
      this.#leave(claim);
      this.#handOver(claim, nowMs);
    }
    if (this.#timer === undefined || !this.#isAwaited) this.#watchHolders(nowMs);
  }

  /** Told later in this turn: whoever was asked is to have its own answer first. */
  #handOver(claim: Claim, nowMs: number): void {
    const fence = this.#grant(claim, nowMs);
    const grant: Grant = { fence, sentMs: nowMs, sentWallMs: this.#clock.wallMs() };
    READY.then(() => claim.waiter?.called(grant));
  }

  /** Looks at every holder only when the end of one may have come. */
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

  /** While somebody waits, a holder's end must be noticed without being asked. */
  #watchHolders(nowMs: number): void {
    this.#unwatch();
    if (!this.#isAwaited || this.#holders.size === 0) return;
    this.#timer = this.#clock.setTimer(this.#firstEndMs - nowMs, () => {
      this.#timer = undefined;
      const laterMs = this.#clock.monotonicMs();
      this.#expire(laterMs);
      this.#watchHolders(laterMs);
    });
    // Also for those whose patience has no end.
    this.#timer.keepAlive(true);
  }

  #unwatch(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}
