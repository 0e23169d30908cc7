import type { Clock } from '../clock/index.ts';
import {
  type Answer,
  type Claim,
  DueList,
  type Hold,
  type Inspection,
  type LockStore,
  nameCountOf,
  ownerAgain,
  type Requester,
  type Target,
} from '../lock/index.ts';
import { type BatchEnds, LockBatch, NONE, type Settler } from './lock-batch.ts';
import { channelOf, prefixOf } from './lock-call.ts';
import {
  isListOfServed,
  isOne,
  type LockCall,
  ownerOf,
  parseInspection,
  readCall,
  toAnswer,
} from './lock-reply.ts';
import { LOCK_SCRIPT, RESERVED_MS } from './lock-script.ts';
import { keyOf, wordsOf } from './lock-words.ts';
import { isFaultOfOne, told, wasGivenBack } from './script-fault.ts';
import { type ScriptRunner, scriptOf, tell } from './script-runner.ts';

export interface ScriptStoreOptions {
  readonly clock: Clock;
  /** Unlike that of every other client. */
  readonly clientId: string;
  /** How long one call may take. */
  readonly requestTimeoutMs: number;
}

/** The most requests of one call, so that no call keeps the server for long. */
const MOST_AT_ONCE = 100;
const CLOSED = 'the store was closed';
const READY = Promise.resolve();
/** The same for every store: a digest takes longer than a request. */
const SCRIPT = scriptOf(LOCK_SCRIPT);

/**
 * Locks in Redis, or in whatever runs its scripts. Requests that are made in the same turn travel in one
 * call; one subscription, to a channel of this client's own, serves all locks.
 */
export class ScriptStore implements LockStore {
  /** Also for what lives beside the locks. */
  readonly runner: ScriptRunner;
  readonly ownerPrefix: string;
  readonly #clock: Clock;
  readonly #channel: string;
  /** Calls under way. */
  readonly #calls: DueList<LockBatch>;
  /** What stands in line, or may soon, by owner. */
  readonly #waiting = new Map<string, Claim>();
  /** What this turn sends. */
  #batches: LockBatch[] = NONE;
  /** In a cluster: the last of them for each slot. */
  #bySlot = new Map<number, LockBatch>();
  #listening: Promise<void> | undefined;
  #isListening = false;
  #isClosed = false;
  /** How often all locks were lost, and with them what was handed over before. */
  #lossCount = 0;
  /** How often there was a reason for other names, and how often when all locks were lost: those before are old. */
  #nameCount = 0;
  #lostNameCount = 0;
  /** What the runner has released since then, though its session lives. */
  readonly #givenBack = new Set<string>();

  /** What becomes of a batch. */
  readonly #ends: BatchEnds = {
    answered: (batch, replies) => this.#answered(batch, replies),
    failed: (batch, error) => this.#failed(batch, error),
  };

  constructor(runner: ScriptRunner, { clock, clientId, requestTimeoutMs }: ScriptStoreOptions) {
    this.runner = runner;
    if (/[.\s]/.test(clientId)) throw new Error('a clientId has no dots and no spaces');
    this.ownerPrefix = prefixOf(clientId);
    this.#clock = clock;
    this.#channel = channelOf(clientId);
    this.#calls = new DueList(clock, requestTimeoutMs, (batch) =>
      this.#failed(batch, new Error(`no answer within ${requestTimeoutMs} ms`)),
    );
  }

  ask(claim: Claim, queues: boolean): Promise<Answer> {
    return new Promise((answered, failed) => this.askAndTell(claim, queues, { answered, failed }));
  }

  askAndTell(claim: Claim, queues: boolean, requester: Requester<Answer>): void {
    this.#nameAgain(claim);
    // Who stands in line must hear the call; a lock that is free does not wait for that.
    const stands = queues && this.#isListening;
    if (stands) this.#waiting.set(claim.owner, claim);
    const whenBusy = queues ? claim : undefined;
    const settler = { requester, parse: toAnswer, whenBusy, stands, released: undefined };
    this.#add(stands ? 'line' : 'ask', claim, claim.leaseMs, settler);
  }

  askAll(claims: readonly Claim[], leastFence: number): Promise<Answer | undefined> {
    const { slotOf } = this.runner;
    const slots = new Set(slotOf && claims.map((claim) => slotOf(keyOf(claim))));
    if (slots.size > 1) return Promise.resolve(undefined);
    return new Promise((answered, failed) => {
      for (const claim of claims) this.#nameAgain(claim);
      const [first, ...others] = claims;
      const verb = `all ${claims.length} ${leastFence}`;
      const batch = this.#batchFor(first!, claims.length);
      const settler = { requester: { answered, failed }, parse: toAnswer };
      batch.add(wordsOf(first!), verb, first!.leaseMs, settler);
      for (const claim of others) {
        batch.add(wordsOf(claim), 'also', claim.leaseMs, UNHEARD);
      }
    });
  }

  adopt(claim: Claim, from: Hold): Promise<Answer> {
    this.#nameAgain(claim);
    const word = claim.kind === 'mutex' ? 'adopt' : `adopt ${claim.slots} ${claim.take}`;
    return this.#send(`${word} :${wordsOf(from).token}`, claim, claim.leaseMs, (reply) =>
      Number(reply) === 0 ? { held: false, retryInMs: 0 } : toAnswer(reply),
    );
  }

  extend(hold: Hold, leaseMs: number): Promise<boolean> {
    return this.#send('extend', hold, leaseMs, isOne);
  }

  release(hold: Hold, fence?: number): Promise<boolean> {
    return new Promise((answered, failed) =>
      this.releaseAndTell(hold, fence, { answered, failed }),
    );
  }

  releaseAndTell(hold: Hold, fence: number | undefined, requester: Requester<boolean>): void {
    if (this.#waiting.size > 0) this.#waiting.delete(hold.owner);
    if (this.#givenBack.size > 0) this.#givenBack.delete(nameOf(keyOf(hold), hold.owner));
    const released = fence === undefined ? undefined : hold;
    const settler = {
      requester,
      parse: isOne,
      whenBusy: undefined,
      stands: false,
      released,
      fence,
    };
    // To write down a fence takes a hundredth of a cycle: it is told only to who says that nothing was held.
    this.#add('release', hold, 0, settler);
  }

  /**
   * The client may have sent it twice, and the first have released the lock, whose reply was lost: if so, the
   * fence is still the last one, unless the lock was handed on, maybe to a waiter of our own.
   */
  #releaseAgain<Result>(hold: Hold, { requester, parse, fence = 0 }: Settler<Result>): void {
    this.#callWaiters(keyOf(hold));
    this.#add('release', hold, fence, { requester, parse });
  }

  forceRelease(target: Target): Promise<number> {
    return this.#send('force', { ...target, ...NOBODY }, 0, Number);
  }

  inspect(target: Target): Promise<Inspection> {
    return this.#send('show', { ...target, ...NOBODY }, 0, parseInspection);
  }

  onLost(listener: (reason: Error) => void): void {
    this.runner.onLost?.((reason) => {
      this.#lossCount++;
      this.#lostNameCount = ++this.#nameCount;
      this.#givenBack.clear();
      listener(reason);
      // Their places in line are lost as well.
      this.#callEverybody();
    });
  }

  disown(hold: Hold): Promise<void> | undefined {
    return this.runner.disown?.(keyOf(hold), hold.owner);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const batch of this.#calls.close()) this.#failed(batch, new Error(CLOSED));
    await this.runner.close();
  }

  #send<Result>(
    verb: string,
    hold: Hold,
    number: number,
    parse: (reply: unknown) => Result,
  ): Promise<Result> {
    return new Promise((answered, failed) => {
      this.#add(verb, hold, number, { requester: { answered, failed }, parse });
    });
  }

  #add<Result>(verb: string, hold: Hold, number: number, settler: Settler<Result>): void {
    // A mutex needs no more than the word, and what adopts has its numbers already.
    const isPlain = hold.kind === 'mutex' || verb.includes(' ');
    const verbs = isPlain ? verb : `${verb} ${hold.slots} ${hold.take}`;
    this.#batchFor(hold, 1).add(wordsOf(hold), verbs, number, settler);
  }

  /** The batch that the next requests belong to, with room for so many. */
  #batchFor(target: Target, count: number): LockBatch {
    const { slotOf } = this.runner;
    const slot = slotOf === undefined ? 0 : slotOf(keyOf(target));
    const open = slotOf === undefined ? this.#batches.at(-1) : this.#bySlot.get(slot);
    if (open !== undefined && open.keys.length + count <= MOST_AT_ONCE) return open;
    // The server works on what is full while the rest of this turn is gathered.
    if (open !== undefined) this.#call(open);
    const batch = this.#openBatch();
    if (slotOf !== undefined) this.#bySlot.set(slot, batch);
    return batch;
  }

  #openBatch(): LockBatch {
    const batch = new LockBatch(this.ownerPrefix, this.#ends);
    if (this.#batches.length > 0) this.#batches.push(batch);
    else {
      this.#batches = [batch];
      // A promise that is there costs a fifth of queueMicrotask, which makes an asynchronous resource.
      READY.then(this.#flush);
    }
    return batch;
  }

  readonly #flush = (): void => {
    const batches = this.#batches;
    this.#batches = NONE;
    if (this.#bySlot.size > 0) this.#bySlot = new Map();
    for (const batch of batches) if (!batch.isSent) this.#call(batch);
  };

  #call(batch: LockBatch): void {
    batch.isSent = true;
    batch.lossCount = this.#lossCount;
    // Of those who wait already one may be served; later ones ask later.
    if (this.#waiting.size > 0) batch.readClocks(this.#clock);
    if (!this.#isClosed) this.#run(batch);
    for (const { requester } of batch.settlers) requester.sent?.();
    if (this.#isClosed) this.#failed(batch, new Error(CLOSED));
  }

  /** A client that throws has failed, no more: whoever asked is told so, later as always. */
  #run(batch: LockBatch): void {
    const { runner } = this;
    const { keys, args } = batch;
    try {
      if (runner.runAndTell !== undefined) runner.runAndTell(SCRIPT, keys, args, batch);
      else tell(batch, runner.run(SCRIPT, keys, args));
    } catch (error) {
      tell(batch, Promise.reject(error));
    }
    // While the server works on it.
    this.#calls.add(batch, this.#clock.monotonicMs());
  }

  /** Who was served goes on before who made room for it. */
  #answered(batch: LockBatch, reply: unknown): void {
    const { settlers } = batch;
    if (settlers.length > 1 || isListOfServed(reply)) {
      this.#answeredEach(batch, reply as unknown[]);
      return;
    }
    const call = readCall(reply);
    if (call !== undefined) this.#serve(batch, call);
    this.#settle(batch, settlers[0]!, call === undefined ? reply : 1);
  }

  #answeredEach(batch: LockBatch, replies: unknown[]): void {
    const { settlers } = batch;
    const { [settlers.length]: served = [] } = replies as unknown[][];
    for (let index = 0; index < served.length; index += 2) {
      this.#serve(batch, { owner: ownerOf(served[index]), fence: Number(served[index + 1]) });
    }
    for (const [index, settler] of settlers.entries()) {
      this.#settle(batch, settler, replies[index]);
    }
  }

  /** A reply that cannot be understood is a failure of its own request alone. */
  #settle<Result>(batch: LockBatch, settler: Settler<Result>, reply: unknown): void {
    // Who was told that no answer came has asked again, or given up.
    if (batch.hasFailed) return;
    const { parse, requester, whenBusy, released } = settler;
    let result: Result;
    try {
      result = parse(reply);
    } catch (error) {
      requester.failed(error);
      return;
    }
    if (released !== undefined && result === false) this.#releaseAgain(released, settler);
    else if (whenBusy !== undefined && !(Number(reply) > 0)) this.#stand(whenBusy, settler, result);
    else {
      if (whenBusy && this.#waiting.size > 0) this.#waiting.delete(whenBusy.owner);
      requester.answered(result);
    }
  }

  /** It is busy, and the claim wants to wait: it does already, or must be able to hear the call first. */
  #stand<Result>(claim: Claim, settler: Settler<Result>, result: Result): void {
    if (settler.stands) {
      settler.requester.answered(result);
      return;
    }
    const inLine = { ...settler, stands: true };
    this.#listen().then(
      () => {
        this.#waiting.set(claim.owner, claim);
        this.#add('line', claim, claim.leaseMs, inLine);
      },
      (error: unknown) => settler.requester.failed(told(error)),
    );
  }

  #serve({ sentMs, sentWallMs, lossCount }: LockBatch, { owner, fence }: LockCall): void {
    if (fence === 0) this.#watch(owner);
    else {
      const grant = lossCount === this.#lossCount ? { fence, sentMs, sentWallMs } : undefined;
      this.#noLongerWaiting(owner)?.waiter?.called(grant);
    }
  }

  /** Who stands before it was called, and may be dead. */
  #watch(owner: string): void {
    this.#waiting.get(owner)?.waiter?.called({ retryInMs: RESERVED_MS });
  }

  #failed(batch: LockBatch, error: unknown): void {
    if (batch.hasFailed) return;
    batch.hasFailed = true;
    if (wasGivenBack(error)) this.#gaveBack(batch);
    // One key that is no lock must not be the end of all who travelled with it: each is asked for alone.
    const parts = isFaultOfOne(error) ? batch.split() : [];
    if (parts.length > 1) for (const part of parts) this.#call(part);
    else for (const { requester } of batch.settlers) requester.failed(told(error));
    // The call may have been run, and have handed a lock to one of our own waiters.
    if (batch.mayServe) this.#callEverybody();
  }

  #listen(): Promise<void> {
    this.#listening ??= this.runner
      .listen(
        this.#channel,
        (message) => this.#called(message),
        () => this.#callEverybody(),
      )
      .then(
        () => {
          this.#isListening = true;
        },
        (error: unknown) => {
          this.#listening = undefined;
          throw error;
        },
      );
    return this.#listening;
  }

  #called(message: string): void {
    const { owner, fence } = readCall(message) ?? NO_CALL;
    if (fence === 0) this.#watch(owner);
    else this.#noLongerWaiting(owner)?.waiter?.called({ fence, reservedMs: RESERVED_MS });
  }

  /** What is handed over to them from now on is released as well. */
  #gaveBack({ settlers, keys, owners }: LockBatch): void {
    this.#nameCount++;
    for (const [index, owner] of owners.entries()) {
      this.#givenBack.add(nameOf(keys[index]!, owner));
    }
    for (const { whenBusy } of settlers) if (whenBusy) this.#waiting.delete(whenBusy.owner);
  }

  /**
   * Only who was released: anybody else may stand in line, or hold the lock, under the name that it has, and
   * would wait for itself under another.
   */
  #nameAgain(claim: Claim): void {
    if (this.#nameCount === 0) return;
    const isOld = nameCountOf(claim.owner) < this.#lostNameCount;
    if (!this.#givenBack.delete(nameOf(keyOf(claim), claim.owner)) && !isOld) return;
    this.#waiting.delete(claim.owner);
    claim.owner = ownerAgain(claim.owner, this.#nameCount);
    claim.words = undefined;
  }

  #noLongerWaiting(owner: string): Claim | undefined {
    const claim = this.#waiting.get(owner);
    this.#waiting.delete(owner);
    return claim;
  }

  #callEverybody(): void {
    for (const { waiter } of [...this.#waiting.values()]) waiter?.called();
  }

  #callWaiters(key: string): void {
    for (const claim of [...this.#waiting.values()]) {
      if (keyOf(claim) === key) claim.waiter?.called();
    }
  }
}

/** Who adopts several locks has one name for all. */
function nameOf(key: string, owner: string): string {
  return `${owner} ${key}`;
}

const UNHEARD: Settler<unknown> = {
  requester: { answered: () => {}, failed: () => {} },
  parse: Number,
};

/** What a stranger may have published. */
const NO_CALL: LockCall = { owner: '', fence: 0 };

const NOBODY = { owner: '', take: 1, info: { host: '', pid: 0, label: '' } } as const;
