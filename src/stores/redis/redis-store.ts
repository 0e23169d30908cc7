import { Batcher, isWrongType, type Script, type ScriptRunner } from '../../client/index.ts';
import type { Clock } from '../../clock/index.ts';
import {
  type AcquireResult,
  type Contention,
  type HeldLock,
  type Inspection,
  type LockRequest,
  type LockStore,
  type LockTarget,
  type LockWaits,
  TimerQueue,
  type Waiter,
} from '../../lock/index.ts';
import type { LockSession } from '../sessions/lock-session.ts';
import {
  acquireResult,
  argsOf,
  heldText,
  isOne,
  type LockCall,
  lockCall,
  parseContention,
  parseInspection,
  parseMessage,
  parseReplies,
  parseWaits,
  targetCall,
  toResult,
} from './lock-call.ts';
import {
  channelOf,
  type KeyOf,
  type KeyOptions,
  keyNames,
  ownerPrefixOf,
  tokenOf,
} from './lock-keys.ts';
import { SCRIPT } from './lock-script.ts';
import { type LockWaiter, LockWaiters, type SentTimes } from './lock-waiters.ts';
import {
  failAll,
  groupsOf,
  type Parse,
  type PendingCall,
  pendingCall,
  SentBatch,
  settle,
} from './pending-call.ts';
import { withAdvice } from './script-fault.ts';
import { WAIT_SCRIPT } from './wait-script.ts';

export interface RedisStoreSettings {
  readonly clock: Clock;
  /** Unique among all clients. */
  readonly clientId: string;
  /** The timeout of one call. */
  readonly requestTimeoutMs: number;
  /** The locks end with this session. Undefined: only with their leases. */
  readonly session?: LockSession | undefined;
  /** Names the keys of locks. */
  readonly keys?: KeyOptions | undefined;
}

/** Maximum number of requests in one call, so that no call blocks the server for long. */
const MAX_BATCH = 100;

/**
 * Locks in Redis, or in any server that runs its scripts. Requests of one turn are sent in one call of the lock script.
 * One subscription, to a channel of this client, receives the messages of all locks.
 */
export class RedisStore implements LockStore {
  /** Runs the lock script. Also used by the cache on the same server. */
  readonly scripts: ScriptRunner;
  readonly session: LockSession | undefined;
  /** Prefix of all keys. Also used by the cache. */
  readonly prefix: string;
  /** Removes a lease from the session. Undefined: the store has no session. */
  readonly detach?: (request: LockRequest) => Promise<void>;
  readonly openSession?: () => Promise<unknown>;
  readonly ownerPrefix: string;
  readonly ownsConnections: boolean;
  /** Resolves when the first request has a reply or has failed. */
  readonly connected: Promise<void>;
  #markConnected = (): void => {};
  readonly #clock: Clock;
  readonly #channel: string;
  readonly #batcher: Batcher<PendingCall>;
  /** Calls of the wait script: of nested waits only. */
  readonly #waitBatcher: Batcher<PendingCall>;
  readonly #keyOf: KeyOf;
  readonly #waiters: LockWaiters;
  /** Callbacks of holders that use `lease.contended`, by owner. */
  readonly #watchers = new Map<string, { request: LockRequest; onContended: () => void }>();
  #onLost: (reason: Error, owner?: string) => void = IGNORE;
  /** Calls under way, by their timeout. */
  readonly #calls: TimerQueue<SentBatch>;
  #subscribing: Promise<void> | undefined;
  /** How often all locks were lost, by the end of a session. A grant in a reply to an earlier call is lost, too. */
  #lossCount = 0;
  #isClosed = false;

  constructor(
    scripts: ScriptRunner,
    { clock, clientId, requestTimeoutMs, session, keys = {} }: RedisStoreSettings,
  ) {
    if (/[.\s]/.test(clientId)) throw new Error('a clientId has no dots and no spaces');
    this.scripts = scripts;
    this.ownsConnections = scripts.ownsConnections === true;
    this.session = session;
    if (session !== undefined) {
      this.detach = (request) => this.#detach(request);
      this.openSession = () => session.open();
    }
    this.ownerPrefix = ownerPrefixOf(clientId);
    this.#clock = clock;
    this.#keyOf = keyNames(keys);
    this.prefix = keys.prefix ?? '';
    this.#channel = channelOf(clientId);
    this.#batcher = new Batcher(MAX_BATCH, (calls) => this.#sendBatch(calls));
    this.#waitBatcher = new Batcher(MAX_BATCH, (calls) => this.#run(calls, undefined, WAIT_SCRIPT));
    this.#waiters = new LockWaiters(clock, this.#keyOf, (waiter) => this.#refresh(waiter));
    this.connected = new Promise((resolve) => {
      this.#markConnected = resolve;
    });
    this.#calls = new TimerQueue(clock, requestTimeoutMs, (batch) => {
      this.#markConnected();
      batch.fail(new Error(`no answer within ${requestTimeoutMs} ms`));
      this.#checkWaiters(batch);
    });
  }

  acquire(request: LockRequest, waiter?: Waiter): Promise<AcquireResult> {
    const call = this.#acquireCall(request, waiter);
    const queued = waiter && this.#waiters.add(request, waiter);
    const parse: Parse<AcquireResult> = (reply, sent) => {
      const result = acquireResult(reply, request);
      return queued ? this.#acquired(queued, result, sent) : result;
    };
    return new Promise((resolve, reject) => {
      const onLate = (fence: number, sent: SentTimes): void => {
        // A caller that does not wait has already failed: release the lock. A waiter decides for itself.
        if (waiter) waiter.notify({ type: 'granted', fence, ...sent, isReserved: false });
        else this.release(request).catch(IGNORE);
      };
      this.#add(pendingCall(call, parse, resolve, reject, true, onLate));
    });
  }

  acquireAll(
    requests: readonly LockRequest[],
    minFence: number,
  ): Promise<AcquireResult | undefined> {
    const { slotOf } = this.scripts;
    const slots = new Set(slotOf && requests.map((request) => slotOf(this.#keyOf(request))));
    if (slots.size > 1) return Promise.resolve(undefined);
    const [first, ...others] = requests;
    const operation = `all ${requests.length} ${minFence}`;
    return new Promise((resolve, reject) => {
      const call = { ...this.#call('all', first!, first!.leaseMs), operation };
      const calls = [pendingCall(call, toResult, resolve, reject, true)];
      for (const request of others) {
        const also = this.#call('also', request, request.leaseMs);
        calls.push(pendingCall(also, Number, IGNORE, IGNORE, true));
      }
      this.#batcher.add(this.#slotOf(call.key), calls);
    });
  }

  adopt(request: LockRequest, from: LockRequest): Promise<AcquireResult> {
    const call = this.#call(
      'adopt',
      request,
      request.leaseMs,
      `:${tokenOf(from.owner, from.info)}`,
    );
    return this.#send(call, toResult, true);
  }

  extend(request: LockRequest): Promise<boolean> {
    this.#waiters.removeOwner(request.owner);
    return this.#send(this.#call('extend', request, request.leaseMs), isOne);
  }

  keep(request: LockRequest): Promise<boolean> {
    return this.#send(this.#call('keep', request, request.leaseMs), isOne);
  }

  release(request: LockRequest, fence?: number): Promise<boolean> {
    this.#waiters.removeOwner(request.owner);
    const call = this.#call('release', request, request.leaseMs);
    if (fence === undefined) return this.#send(call, isOne);
    return new Promise((resolve, reject) => {
      const released = (wasHeld: boolean): void => {
        // Not held: an earlier release may have succeeded while its reply was lost. The fence shows it.
        if (wasHeld) resolve(true);
        else this.#send(this.#call('released', request, fence), isOne).then(resolve, reject);
      };
      this.#add(pendingCall(call, isOne, released, reject, false));
    });
  }

  forceRelease(target: LockTarget): Promise<number> {
    return this.#send(this.#targetCall('force', target), Number);
  }

  watch(request: LockRequest, onContended: () => void): void {
    this.#watchers.set(request.owner, { request, onContended });
    this.#subscribe();
    this.#subscribing?.then(() => this.#sendWatch(request), IGNORE);
  }

  unwatch({ owner }: LockRequest): void {
    this.#watchers.delete(owner);
  }

  inspect(target: LockTarget): Promise<Inspection> {
    return this.#send(this.#targetCall('inspect', target), parseInspection);
  }

  contention(request: LockRequest): Promise<Contention> {
    const call = this.#call('contention', request, request.leaseMs);
    return this.#send(call, parseContention);
  }

  reportWait(request: LockRequest, holds: readonly HeldLock[]): Promise<boolean> {
    const call = this.#call('holds', request, request.leaseMs, `:${heldText(holds)}`);
    return this.#sendWait(call, isOne);
  }

  readWaits(targets: readonly LockTarget[]): Promise<LockWaits[]> {
    return Promise.all(
      targets.map((target) => {
        const call = this.#foreignCall('nested', target);
        return call ? this.#sendWait(call, parseWaits) : NO_WAITS;
      }),
    );
  }

  async checkWait(request: LockRequest, owner: string): Promise<void> {
    await this.#sendWait(this.#call('check', request, request.leaseMs, `:${owner}`), isOne);
  }

  onLost(listener: (reason: Error, owner?: string) => void): void {
    this.#onLost = listener;
    this.session?.onEnded((reason) => {
      this.#lossCount++;
      listener(reason);
      // The end of the session also removes waiters from the queues.
      this.#waiters.retryAll();
    });
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#waiters.close();
    for (const batch of this.#calls.close()) batch.fail(new Error(CLOSED));
    await this.session?.close();
    await this.scripts.close();
  }

  async #detach(request: LockRequest): Promise<void> {
    if (this.session?.id === undefined) return;
    await this.#send(this.#call('detach', request, 0), isOne);
  }

  #acquired(waiter: LockWaiter, result: AcquireResult, sent: SentTimes): AcquireResult {
    if (result.type === 'granted') {
      this.#waiters.remove(waiter);
      return result;
    }
    this.#waiters.queued(waiter, result.retryInMs, sent);
    this.#subscribe();
    // No retry time: this store refreshes its waiters and notifies them.
    return QUEUED;
  }

  /** If it fails, all waiters of the lock send their requests again: see #checkWaiters. */
  #refresh(waiter: LockWaiter): void {
    const { request } = waiter;
    this.#send(this.#call('refresh', request, request.leaseMs), (reply, sent) =>
      this.#waiters.refreshed(waiter, Number(reply), sent),
    ).catch(IGNORE);
  }

  /** In the background, after the request has entered the queue. The uncontended path does not wait for it. */
  #subscribe(): void {
    if (this.#subscribing !== undefined || this.#isClosed) return;
    const onMessage = (text: string): void => this.#received(text);
    const refreshAll = (): void => {
      this.#waiters.refreshAll();
      for (const { request } of this.#watchers.values()) this.#sendWatch(request);
    };
    this.#subscribing = this.scripts.listen(this.#channel, onMessage, refreshAll);
    // Messages before the subscription were lost: a refresh makes up for them.
    this.#subscribing.then(refreshAll, (error: unknown) => {
      this.#subscribing = undefined;
      this.#waiters.failAll(withAdvice(error));
    });
  }

  #received(text: string): void {
    const message = parseMessage(text);
    if (message?.type === 'granted') this.#waiters.reserved(message.served);
    else if (message?.type === 'contended') this.#contended(message.owner);
    else if (message?.type === 'refresh') this.#waiters.refreshOwner(message.owner);
    else if (message?.type === 'check') this.#waiters.checkOwner(message.owner);
    else if (message !== undefined) this.#onLost(message.reason, message.owner);
  }

  #contended(owner: string): void {
    const watcher = this.#watchers.get(owner);
    this.#watchers.delete(owner);
    watcher?.onContended();
  }

  /** Sent when the subscription is open, and again after each gap: messages before that are lost. */
  #sendWatch(request: LockRequest): void {
    if (!this.#watchers.has(request.owner) || this.#isClosed) return;
    this.#send(this.#call('watch', request, request.leaseMs), isOne).then((isContended) => {
      if (isContended) this.#contended(request.owner);
    }, IGNORE);
  }

  #acquireCall(request: LockRequest, waiter: Waiter | undefined): LockCall {
    const { leaseMs, stealReason } = request;
    if (stealReason !== undefined) return this.#call('steal', request, leaseMs, `:${stealReason}`);
    return this.#call(waiter ? 'queue' : 'acquire', request, leaseMs);
  }

  #call(verb: string, request: LockRequest, number: number, rest?: string): LockCall {
    return lockCall(this.#keyOf(request), verb, request, number, rest);
  }

  #targetCall(verb: string, target: LockTarget): LockCall {
    return targetCall(this.#keyOf(target), verb, target, this.ownerPrefix);
  }

  /** The name is that of another program. Undefined: the key function of this one rejects it. */
  #foreignCall(verb: string, target: LockTarget): LockCall | undefined {
    try {
      return this.#targetCall(verb, target);
    } catch {
      return undefined;
    }
  }

  #send<Result>(call: LockCall, parse: Parse<Result>, acquires = false): Promise<Result> {
    return new Promise((resolve, reject) =>
      this.#add(pendingCall(call, parse, resolve, reject, acquires)),
    );
  }

  #sendWait<Result>(call: LockCall, parse: Parse<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const pending = pendingCall(call, parse, resolve, reject, false);
      this.#waitBatcher.add(this.#slotOf(call.key), [pending]);
    });
  }

  #add(call: PendingCall): void {
    this.#batcher.add(this.#slotOf(call.key), [call]);
  }

  #slotOf(key: string): number {
    return this.scripts.slotOf?.(key) ?? 0;
  }

  #sendBatch(calls: readonly PendingCall[]): void {
    const { session } = this;
    if (session === undefined || session.id !== undefined) {
      this.#run(calls, session?.id);
      return;
    }
    const acquiring = calls.filter(({ acquires }) => acquires);
    // Only requests that acquire need a session: send the others now.
    if (acquiring.length < calls.length) {
      this.#run(
        calls.filter(({ acquires }) => !acquires),
        undefined,
      );
    }
    if (acquiring.length === 0) return;
    session.open().then(
      (id) => this.#run(acquiring, id),
      (error: unknown) => {
        this.#markConnected();
        failAll(acquiring, error);
      },
    );
  }

  #run(calls: readonly PendingCall[], sessionId: string | undefined, script = SCRIPT): void {
    if (this.#isClosed) {
      failAll(calls, new Error(CLOSED));
      return;
    }
    if (sessionId !== undefined && sessionId !== this.session?.id) {
      failAll(calls, this.session!.ended);
      return;
    }
    const batch = new SentBatch(calls, this.#times(), this.#lossCount, sessionId, script);
    this.#calls.add(batch, batch.times.sentMs);
    const keys = calls.map(({ key }) => key);
    this.#runScript(script, keys, argsOf(calls, sessionId)).then(
      (reply) => this.#answered(batch, reply),
      (error: unknown) => this.#failed(batch, error),
    );
  }

  /** Rejects if the client throws synchronously. */
  #runScript(script: Script, keys: string[], args: string[]): Promise<unknown> {
    try {
      return this.scripts.run(script, keys, args);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  #answered(batch: SentBatch, reply: unknown): void {
    this.#markConnected();
    if (reply === 'NOSESSION') {
      // Deferred: a grant that arrived in the same chunk must become a lease first, which is then lost with the others.
      this.#clock.defer(() => this.session?.lost(batch.sessionId));
      batch.fail(this.session?.ended);
      return;
    }
    batch.unschedule();
    const { replies, served } = parseReplies(reply, batch.calls.length);
    // Waiters that were served are notified before the caller whose release served them.
    for (const each of served) {
      if (batch.lossCount === this.#lossCount) this.#waiters.served(each, batch.times);
    }
    if (batch.isOver) {
      this.#answeredLate(batch, replies);
      return;
    }
    const isLost = batch.lossCount !== this.#lossCount;
    for (const [index, call] of batch.calls.entries()) {
      if (isLost && call.acquires) call.reject(this.session!.ended);
      else settle(call, replies[index], batch.times);
    }
  }

  /** The calls have timed out. Locks that the late reply grants must be released or used. */
  #answeredLate({ calls, times, lossCount }: SentBatch, replies: readonly unknown[]): void {
    if (lossCount !== this.#lossCount) return;
    for (const [index, { onLate }] of calls.entries()) {
      const fence = Number(replies[index]);
      if (fence > 0) onLate?.(fence, times);
    }
  }

  #failed(batch: SentBatch, error: unknown): void {
    this.#markConnected();
    // A key of another type fails the whole call: send each request alone, so that only its own request fails.
    const parts = isWrongType(error) && !batch.isOver ? groupsOf(batch.calls) : [];
    if (parts.length > 1) {
      batch.unschedule();
      for (const calls of parts) this.#run(calls, batch.sessionId, batch.script);
    } else batch.fail(withAdvice(error));
    this.#checkWaiters(batch);
  }

  /** The wait script hands no lock over, so that its failure concerns no waiter. */
  #checkWaiters({ calls, script }: SentBatch): void {
    if (script !== SCRIPT) return;
    for (const key of new Set(calls.map((call) => call.key))) this.#waiters.retryLock(key);
  }

  #times(): SentTimes {
    return { sentMs: this.#clock.monotonicMs(), sentWallMs: this.#clock.wallMs() };
  }
}

const CLOSED = 'the store was closed';
const QUEUED: AcquireResult = { type: 'busy', retryInMs: Number.POSITIVE_INFINITY };
const NO_WAITS: LockWaits = { slots: 0, holders: [], waiters: [] };
const IGNORE = (): void => {};
