import type { Timer } from '../clock/index.ts';
import type { LockCore } from './core.ts';
import { Due } from './due-list.ts';
import {
  DeadlockError,
  isFinal,
  LockAbortedError,
  type LockError,
  LockTimeoutError,
  LockUnavailableError,
} from './errors.ts';
import {
  announceAcquire,
  announceFail,
  announceGrant,
  announceWait,
  isObserved,
} from './events.ts';
import type { ResolvedOptions } from './options.ts';
import { findDeadlock, type Scope } from './scope.ts';
import type { Answer, Call, Claim, Requester, Reservation, Waiter } from './store.ts';
import { StoreLease, safeMs } from './store-lease.ts';

/** Between two tries of a store that cannot be reached. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;

/**
 * The one way to acquire, for all kinds and stores: ask; if busy, wait for a call, for the time that the
 * store named, for the caller's patience or for its signal; ask again. The store keeps our place in line,
 * and every request is safe to repeat.
 *
 * A store that answers at once, with a grant, costs no more than the lease. Null: it was busy, and the
 * caller did not want to wait.
 */
export function acquire(
  core: LockCore,
  claim: Claim,
  options: ResolvedOptions,
  scope: Scope | undefined,
): StoreLease | Promise<StoreLease | null> {
  throwIfOver(core, claim.name, options);
  if (isObserved('acquire')) announceAndLook(core, claim, options);
  const sentMs = core.clock.monotonicMs();
  const sentWallMs = core.clock.wallMs();
  const isTold = canTell(core);
  const answer = isTold ? undefined : core.store.ask(claim, options.waitMs > 0);
  if (answer !== undefined && !(answer instanceof Promise) && answer.held) {
    const lease = new StoreLease(core, claim, options);
    lease.begin(answer.fence, sentMs, sentWallMs);
    announceGrant(claim, answer.fence, 0);
    return lease;
  }
  return new Attempt(core, claim, options, scope, sentMs).start(answer, sentMs, sentWallMs);
}

/** Who hears of events hears of them in the context of who asks, which a promise keeps. */
function canTell({ store }: LockCore): boolean {
  const isHeard = isObserved('wait') || isObserved('grant') || isObserved('fail');
  return store.askAndTell !== undefined && !isHeard;
}

/** Who hears of it may abort the signal, or close the library. */
function announceAndLook(core: LockCore, claim: Claim, options: ResolvedOptions): void {
  announceAcquire(claim);
  try {
    throwIfOver(core, claim.name, options);
  } catch (error) {
    announceFail(claim, 'aborted', 0);
    throw error;
  }
}

/**
 * States: asking ⇄ waiting, until it is over: held, or given up. Several things can end it, and what
 * arrives after that must not be lost: a grant that nobody wants any more is given back.
 */
export class Attempt extends Due<Attempt> implements Waiter, Requester<Answer> {
  readonly core: LockCore;
  readonly claim: Claim;
  readonly beganMs: number;
  readonly #options: ResolvedOptions;
  readonly #scope: Scope | undefined;
  /** To reject, it is given a promise that is: of so many waiters, each would keep one more function. */
  #resolve!: (lease: StoreLease | null | Promise<never>) => void;
  #state: 'asking' | 'waiting' | 'held' | 'over' = 'asking';
  /** What is accepted, or will be: made while there is time, or before it is old. */
  #lease: StoreLease | undefined = undefined;
  /** Whether it had to wait. */
  #hasStood = false;
  /** Of a store that does not answer at once. */
  #asking: Asking | undefined = undefined;

  constructor(
    core: LockCore,
    claim: Claim,
    options: ResolvedOptions,
    scope: Scope | undefined,
    beganMs: number,
  ) {
    super();
    this.core = core;
    this.claim = claim;
    this.beganMs = beganMs;
    this.#options = options;
    this.#scope = scope;
  }

  get waitMs(): number {
    return this.#options.waitMs;
  }

  /** With the first answer, unless it will be told. */
  start(
    answer: Answer | Promise<Answer> | undefined,
    sentMs: number,
    sentWallMs: number,
  ): Promise<StoreLease | null> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
      this.claim.waiter = this;
      if (this.#options.signal) this.core.aborts.add(this.#options.signal, this);
      if (answer === undefined) this.#askAndHear(sentMs, sentWallMs);
      else {
        this.core.began(this);
        this.#hear(answer, sentMs, sentWallMs);
      }
    });
  }

  /** Since then it may have been aborted, or the library closed, which did not know of it. */
  sent(): void {
    if (this.#isOver || this.list !== undefined) return;
    const { closed } = this.core;
    if (closed !== undefined) {
      this.closed(closed.reason);
      return;
    }
    this.core.began(this);
    this.#prepareLease();
  }

  #prepareLease(): StoreLease {
    this.#lease ??= new StoreLease(this.core, this.claim, this.#options);
    return this.#lease;
  }

  /** It may be our turn, or it is: the store has handed the lock over. */
  called(grant: Call): void {
    if (this.#isOver) return;
    if (grant !== undefined && 'retryInMs' in grant) {
      this.#retryIn(grant.retryInMs);
      return;
    }
    // It may come before the answer that there is a line.
    this.#stands();
    if (this.#isOver) return;
    if (grant !== undefined && 'sentMs' in grant) {
      this.#accept(grant.fence, grant.sentMs, grant.sentWallMs);
    } else if (grant !== undefined && this.#isFirstAsking) this.#acceptReserved(grant);
    else if (this.#asking?.isUnderWay) this.#asking.wasCalled = true;
    else this.#ask();
  }

  /**
   * Who is before us may have died: unlike those behind us, we are to look. Never later than we would have:
   * the store does not keep our place for longer, however often this is told.
   */
  #retryIn(durationMs: number): void {
    const { clock } = this.core;
    const asking = this.#asking;
    // What is under way may have been answered before: only who asks once more knows how long to wait.
    if (asking?.isUnderWay) asking.wasCalled = true;
    else if (asking && clock.monotonicMs() + durationMs < asking.againAtMs) this.#askIn(durationMs);
  }

  #askIn(durationMs: number): void {
    const { clock } = this.core;
    // A store that answers at once has answered.
    this.#asking ??= new Asking(true);
    const asking = this.#asking;
    asking.timer?.cancel();
    asking.againAtMs = clock.monotonicMs() + durationMs;
    asking.timer = clock.setTimer(durationMs, () => this.#ask());
    // Who waits for a lock wants to live until then.
    asking.timer.keepAlive(true);
  }

  outOfPatience(): void {
    const { name } = this.claim;
    const { hasAnswer, failure } = this.#asking ?? ANSWERED;
    if (hasAnswer) this.#giveUp(new LockTimeoutError(name, this.#waitedMs()));
    else this.#giveUp(new LockUnavailableError(name, failure ?? new Error('no answer yet')));
  }

  closed(reason: unknown): void {
    this.#giveUp(new LockAbortedError(this.claim.name, reason));
  }

  /** The caller's signal aborts. */
  aborted(): void {
    this.#giveUp(new LockAbortedError(this.claim.name, this.#options.signal?.reason));
  }

  /** And nothing has been heard since of places that were lost. */
  get #isFirstAsking(): boolean {
    return this.#asking?.count === 1 && !this.#asking.wasCalled;
  }

  get #isAsking(): boolean {
    return this.#asking?.isUnderWay ?? false;
  }

  get #isOver(): boolean {
    return this.#state === 'held' || this.#state === 'over';
  }

  #ask(): void {
    this.#asking?.timer?.cancel();
    this.#state = 'asking';
    const { clock, store } = this.core;
    const sentMs = clock.monotonicMs();
    const sentWallMs = clock.wallMs();
    if (canTell(this.core)) this.#askAndHear(sentMs, sentWallMs);
    else this.#hear(store.ask(this.claim, this.waitMs > 0), sentMs, sentWallMs);
  }

  #askAndHear(sentMs: number, sentWallMs: number): void {
    this.#asking ??= new Asking();
    this.#asking.begin(sentMs, sentWallMs);
    this.core.store.askAndTell!(this.claim, this.waitMs > 0, this);
  }

  #hear(answer: Answer | Promise<Answer>, sentMs: number, sentWallMs: number): void {
    if (!(answer instanceof Promise)) {
      this.#answered(answer, sentMs, sentWallMs);
      return;
    }
    this.#asking ??= new Asking();
    this.#asking.begin(sentMs, sentWallMs);
    answer.then(
      (later) => this.answered(later),
      (error: unknown) => this.failed(error),
    );
  }

  /** By a store that takes time. */
  answered(answer: Answer): void {
    const asking = this.#asking!;
    asking.answered();
    this.#answered(answer, asking.sentMs, asking.sentWallMs);
  }

  #answered(answer: Answer, sentMs: number, sentWallMs: number): void {
    if (this.#isOver) this.#answeredLate(answer);
    else if (answer.held) this.#accept(answer.fence, sentMs, sentWallMs);
    else this.#busy(answer.retryInMs);
  }

  failed(error: unknown): void {
    const pauseMs = this.#asking!.failed(error);
    if (this.#isOver) this.#answeredLate();
    else if (isFinal(error) || this.#waitedMs() + pauseMs >= this.waitMs) {
      this.#giveUp(new LockUnavailableError(this.claim.name, error));
    } else this.#wait(pauseMs);
  }

  #busy(retryInMs: number): void {
    if (this.waitMs > 0) {
      this.#line(retryInMs);
      return;
    }
    this.#end('over');
    this.#resolve(null);
    announceFail(this.claim, 'busy', this.#waitedMs());
  }

  /** Who hears of it may abort the signal. */
  #stands(): void {
    if (this.#hasStood) return;
    this.#hasStood = true;
    // What is young when an old promise is resolved with it outlives many collections.
    this.#prepareLease();
    announceWait(this.claim);
  }

  #line(retryInMs: number): void {
    this.#stands();
    if (this.#isOver) return;
    const deadlock = this.#scope && findDeadlock(this.core, this.claim, this.#scope);
    // To look for one can end leases, and so abort the signal.
    if (this.#isOver) return;
    // Who goes before may have given up, and be about to leave: who asks again comes after that.
    if (deadlock === 'behind' && this.#asking?.count === 1) this.#ask();
    else if (deadlock) this.#giveUp(new DeadlockError(this.claim.name, deadlock));
    else if (this.#asking?.wasCalled) this.#ask();
    else {
      this.core.scopes.stand(this.claim);
      this.#wait(retryInMs);
    }
  }

  /** Also for a store that failed: whether the claim stands in line there is then not known. */
  #wait(durationMs: number): void {
    this.#state = 'waiting';
    this.#scope?.startWaiting(this);
    if (Number.isFinite(durationMs)) this.#askIn(durationMs);
  }

  /** A grant that took so long that its lease may have ended is none; nor is one after the caller's patience. */
  #accept(fence: number, sentMs: number, sentWallMs: number, isReserved = false): void {
    const nowMs = this.core.clock.monotonicMs();
    const waitedMs = nowMs - this.beganMs;
    const isPatient = this.waitMs === 0 || waitedMs <= this.waitMs;
    if (isPatient && this.#isInTime(nowMs - sentMs, sentWallMs)) {
      const lease = this.#prepareLease();
      lease.begin(fence, sentMs, sentWallMs, isReserved ? nowMs : sentMs);
      // It leaves before the caller goes on, who may block.
      if (isReserved) lease.renew();
      this.#end('held');
      // Before the caller goes on, and after the release that made room was told, in the same turn.
      if (isObserved('grant')) READY.then(() => announceGrant(this.claim, fence, waitedMs));
      this.#resolve(lease);
    } else if (this.waitMs === 0 || !isPatient) {
      this.#giveUp(new LockTimeoutError(this.claim.name, waitedMs));
    } else if (this.#asking?.isUnderWay) this.#asking.wasCalled = true;
    else this.#ask();
  }

  #isInTime(passedMs: number, sentWallMs: number): boolean {
    const spentMs = Math.max(passedMs, this.core.clock.wallMs() - sentWallMs);
    return spentMs < safeMs(this.claim.leaseMs);
  }

  /**
   * The message does not say when the lock was handed over, but it was after we asked: if that was not
   * long ago, it is ours for a while yet, and what remains of the lease is confirmed while the caller
   * goes on. Who asked more than once may have been reserved for, and passed over, before.
   */
  #acceptReserved({ fence, reservedMs }: Reservation): void {
    const earlierMs = Math.max(0, this.claim.leaseMs - reservedMs);
    const { sentMs, sentWallMs } = this.#asking!;
    this.#accept(fence, sentMs - earlierMs, sentWallMs - earlierMs, true);
  }

  #giveUp(error: LockError): void {
    if (this.#isOver) return;
    this.#end('over');
    this.#resolve(Promise.reject(error));
    announceFail(this.claim, error.code, this.#waitedMs());
    // What is under way could still be granted after this: it is given back when it has been answered.
    if (!this.#isAsking) this.core.giveBack(this.claim, this.claim.leaseMs);
    else this.core.track(this.#asking!.whenAnswered());
  }

  /**
   * While the lease that was accepted is held, an answer that was overtaken says nothing new; a failure may
   * mean that it was given back, so that it is looked for. After that
   * the request may have been granted once more, or stand in line. A lease that was given away is
   * another's: it is left alone, unless the answer is of a later grant.
   */
  #answeredLate(answer?: Answer): void {
    const lease = this.#state === 'held' ? this.#lease! : undefined;
    if (lease?.isHeld) {
      if (answer === undefined) lease.renew();
      return;
    }
    const isLater = answer?.held && answer.fence !== lease?.fence;
    if (!lease?.isGivenAway || isLater) this.core.giveBack(this.claim, this.claim.leaseMs);
  }

  #end(state: 'held' | 'over'): void {
    this.#state = state;
    this.claim.waiter = undefined;
    this.#asking?.timer?.cancel();
    this.#scope?.stopWaiting(this);
    this.core.scopes.leave(this.claim);
    this.drop();
    if (this.#options.signal) this.core.aborts.remove(this.#options.signal, this);
  }

  #waitedMs(): number {
    return this.core.clock.monotonicMs() - this.beganMs;
  }
}

/** What is known of requests whose answers take time. */
class Asking {
  count = 0;
  isUnderWay = false;
  /** What asks again, and when. */
  timer: Timer | undefined = undefined;
  againAtMs = Number.POSITIVE_INFINITY;
  /** A call that came while the answer was on its way. */
  wasCalled = false;
  /** Whether the store answered when it was last asked, or what it failed with. */
  hasAnswer: boolean;
  failure: unknown = undefined;
  sentMs = 0;
  sentWallMs = 0;
  #pauseMs = FIRST_PAUSE_MS;
  #onAnswered: (() => void) | undefined = undefined;

  constructor(hasAnswer = false) {
    this.hasAnswer = hasAnswer;
  }

  begin(sentMs: number, sentWallMs: number): void {
    this.count++;
    this.isUnderWay = true;
    this.wasCalled = false;
    this.sentMs = sentMs;
    this.sentWallMs = sentWallMs;
  }

  answered(): void {
    this.isUnderWay = false;
    this.hasAnswer = true;
    this.#pauseMs = FIRST_PAUSE_MS;
    this.#onAnswered?.();
  }

  /** What is under way has come to something. */
  whenAnswered(): Promise<void> {
    return new Promise((resolve) => {
      this.#onAnswered = resolve;
    });
  }

  /** How long to wait before the next. */
  failed(error: unknown): number {
    this.isUnderWay = false;
    this.hasAnswer = false;
    this.failure = error;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    this.#onAnswered?.();
    return pauseMs;
  }
}

const READY = Promise.resolve();
/** A store that answers at once. */
const ANSWERED = { hasAnswer: true, failure: undefined } as const;

export function throwIfOver(
  { closed }: LockCore,
  name: string,
  { signal }: Pick<ResolvedOptions, 'signal'>,
): void {
  if (signal?.aborted) throw new LockAbortedError(name, signal.reason);
  if (closed !== undefined) throw new LockAbortedError(name, closed.reason);
}
