import type { Clock, Timer } from '../clock/index.ts';
import type {
  Answer,
  Claim,
  Hold,
  HolderInfo,
  Inspection,
  LockStore,
  Target,
} from '../lock/index.ts';

/** Locks of one process: nothing to install, nothing to reach. They end with the process. */
export function memoryStore(clock: Clock): LockStore {
  return new MemoryStore(clock);
}

class MemoryStore implements LockStore {
  readonly #clock: Clock;
  readonly #locks = new Map<string, MemoryLock>();
  #call: (owner: string) => void = () => {};
  #lastFence = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async ask(claim: Claim, queues: boolean): Promise<Answer> {
    const key = keyOf(claim);
    let lock = this.#locks.get(key);
    if (lock === undefined) {
      lock = new MemoryLock(this.#clock, () => this.#nextFence(), this.#called, claim.slots);
      this.#locks.set(key, lock);
    }
    return lock.ask(claim, queues);
  }

  async extend(hold: Hold, leaseMs: number): Promise<boolean> {
    return this.#locks.get(keyOf(hold))?.extend(hold.owner, leaseMs) ?? false;
  }

  async release(hold: Hold): Promise<boolean> {
    const lock = this.#locks.get(keyOf(hold));
    if (lock === undefined) return false;
    const wasOurs = lock.release(hold.owner);
    this.#forgetIfIdle(hold, lock);
    return wasOurs;
  }

  async forceRelease(target: Target): Promise<number> {
    const lock = this.#locks.get(keyOf(target));
    if (lock === undefined) return 0;
    const count = lock.releaseAll();
    this.#forgetIfIdle(target, lock);
    return count;
  }

  async inspect(target: Target): Promise<Inspection> {
    return this.#locks.get(keyOf(target))?.inspect() ?? { holders: [], waiters: [] };
  }

  onCall(listener: (owner: string) => void): void {
    this.#call = listener;
  }

  async close(): Promise<void> {
    for (const lock of this.#locks.values()) lock.close();
    this.#locks.clear();
  }

  readonly #called = (owner: string): void => this.#call(owner);

  /** Microseconds of the wall clock, or one more: larger than any of an earlier run of the program. */
  #nextFence(): number {
    this.#lastFence = Math.max(this.#lastFence + 1, Math.floor(this.#clock.wallMs() * 1000));
    return this.#lastFence;
  }

  #forgetIfIdle(target: Target, lock: MemoryLock): void {
    if (lock.isIdle) this.#locks.delete(keyOf(target));
  }
}

interface MemoryHolder {
  readonly take: number;
  readonly fence: number;
  readonly info: HolderInfo;
  readonly grantedMs: number;
  deadlineMs: number;
}

/**
 * One lock. Holders and waiters are Maps, which keep the order of arrival and forget any one in O(1).
 * Waiters need no time of their own here: they live and die with the process.
 */
class MemoryLock {
  readonly #clock: Clock;
  readonly #nextFence: () => number;
  readonly #call: (owner: string) => void;
  readonly #slots: number;
  readonly #holders = new Map<string, MemoryHolder>();
  readonly #waiters = new Map<string, Claim>();
  #used = 0;
  /** No lease ends before this; a later end of the first is found out when it comes. */
  #firstEndMs = Number.POSITIVE_INFINITY;
  #timer: Timer | undefined;

  constructor(clock: Clock, nextFence: () => number, call: (owner: string) => void, slots: number) {
    this.#clock = clock;
    this.#nextFence = nextFence;
    this.#call = call;
    this.#slots = slots;
  }

  get isIdle(): boolean {
    return this.#holders.size === 0 && this.#waiters.size === 0;
  }

  ask(claim: Claim, queues: boolean): Answer {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    const mine = this.#holders.get(claim.owner);
    if (mine !== undefined) {
      this.#prolong(mine, nowMs + claim.leaseMs);
      return { held: true, fence: mine.fence };
    }
    if (this.#waiters.size === 0 && this.#fits(claim)) {
      return { held: true, fence: this.#grant(claim, nowMs) };
    }
    if (queues && !this.#waiters.has(claim.owner)) {
      this.#waiters.set(claim.owner, claim);
      this.#watchHolders(nowMs);
    }
    return { held: false, retryInMs: this.#firstEndMs - nowMs };
  }

  extend(owner: string, leaseMs: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    const holder = this.#holders.get(owner);
    if (holder === undefined) return false;
    this.#prolong(holder, nowMs + leaseMs);
    return true;
  }

  release(owner: string): boolean {
    this.#expire(this.#clock.monotonicMs());
    this.#waiters.delete(owner);
    const wasOurs = this.#drop(owner);
    this.#serve();
    return wasOurs;
  }

  releaseAll(): number {
    this.#expire(this.#clock.monotonicMs());
    const count = this.#holders.size;
    for (const owner of [...this.#holders.keys()]) this.#drop(owner);
    this.#serve();
    return count;
  }

  inspect(): Inspection {
    const nowMs = this.#clock.monotonicMs();
    this.#expire(nowMs);
    const holders = [...this.#holders.values()].map((holder) => ({
      ...holder.info,
      take: holder.take,
      fence: holder.fence,
      ageMs: nowMs - holder.grantedMs,
      leftMs: holder.deadlineMs - nowMs,
    }));
    const waiters = [...this.#waiters.values()].map(({ info, take }) => ({ ...info, take }));
    return { holders, waiters };
  }

  close(): void {
    this.#timer?.cancel();
  }

  #fits({ take }: Claim): boolean {
    return this.#used + take <= this.#slots;
  }

  #grant(claim: Claim, nowMs: number): number {
    const { owner, take, info, leaseMs } = claim;
    const fence = this.#nextFence();
    this.#used += take;
    this.#firstEndMs = Math.min(this.#firstEndMs, nowMs + leaseMs);
    this.#holders.set(owner, { take, fence, info, grantedMs: nowMs, deadlineMs: nowMs + leaseMs });
    return fence;
  }

  #prolong(holder: MemoryHolder, deadlineMs: number): void {
    holder.deadlineMs = deadlineMs;
    this.#firstEndMs = Math.min(this.#firstEndMs, deadlineMs);
  }

  #drop(owner: string): boolean {
    const holder = this.#holders.get(owner);
    if (holder === undefined) return false;
    this.#holders.delete(owner);
    this.#used -= holder.take;
    return true;
  }

  /** Hands over to the first in line, and to those behind it for as long as they fit. */
  #serve(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [owner, claim] of this.#waiters) {
      if (!this.#fits(claim)) break;
      this.#waiters.delete(owner);
      this.#grant(claim, nowMs);
      this.#call(owner);
    }
    this.#watchHolders(nowMs);
  }

  /** Looks at every holder only when the end of one may have come. */
  #expire(nowMs: number): void {
    if (nowMs < this.#firstEndMs) return;
    this.#firstEndMs = Number.POSITIVE_INFINITY;
    let ended = false;
    for (const [owner, { deadlineMs }] of this.#holders) {
      if (deadlineMs <= nowMs) ended = this.#drop(owner);
      else this.#firstEndMs = Math.min(this.#firstEndMs, deadlineMs);
    }
    if (ended) this.#serve();
  }

  /** While somebody waits, a holder's end must be noticed without being asked. */
  #watchHolders(nowMs: number): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    if (this.#waiters.size === 0 || this.#holders.size === 0) return;
    this.#timer = this.#clock.setTimer(this.#firstEndMs - nowMs, () => {
      const laterMs = this.#clock.monotonicMs();
      this.#expire(laterMs);
      this.#watchHolders(laterMs);
    });
  }
}

/** The kinds are apart, as their keys are in Redis. */
function keyOf({ kind, name }: Target): string {
  return `${kind}:${name}`;
}
