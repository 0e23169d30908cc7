import type { ScriptRunner } from '../../client/index.ts';
import { type Clock, seededRandom, type Timer } from '../../clock/index.ts';
import { type Lease, Locks, type ReleaseOutcome } from '../../lock/index.ts';
import { type LiveSession, LockSession, RedisStore } from '../../stores/index.ts';
import { clientName } from '../choice.ts';
import { START_MS } from '../store.ts';

/** What a client calls: its time, its network, and the reports to the watcher. */
export interface ClientHost {
  readonly nowMs: number;
  send(event: Delivery): void;
  withdraw(event: Delivery): void;
  entered(held: Held): void;
  /** The client starts to release a lease that it believes to hold. */
  releasing(held: Held): void;
  /** The release has returned this outcome. */
  released(held: Held, outcome: ReleaseOutcome): void;
  /** The `contended` signal of a lease has aborted, which may be after its release. */
  contended(held: Held): void;
}

/**
 * Something in transit to the store or to a client: a request, a reply, a message, or a timer that is due.
 * Each kind of each client is a lane of its own, which keeps its order.
 */
export interface Delivery {
  readonly kind: 'request' | 'reply' | 'message' | 'timer' | 'stray' | 'exit';
  readonly client: Client;
  /** Delivers it to the client; undefined if the store is the target. */
  readonly arrive: (() => void) | undefined;
  readonly request: Request | undefined;
  /** The content of a reply or a message. */
  readonly value: unknown;
}

export interface Request {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** The channel to subscribe to, if the request is a subscription. */
  readonly channel: string | undefined;
  readonly answer: (reply: unknown) => void;
  readonly fail: (error: Error) => void;
}

/** How long the library waits for a reply. */
const REQUEST_TIMEOUT_MS = 1000;

/**
 * A simulated process that runs the real library. The stage controls its time, timers, connections and
 * randomness, so nothing happens in it unless the stage takes a step.
 */
export class Client {
  readonly index: number;
  readonly name: string;
  readonly locks: Locks;
  readonly clock: Clock;
  /** The leases that it believes to hold. */
  readonly holds = new Set<Held>();
  timers: LabTimer[] = [];
  isPaused = false;
  isCut = false;
  isCrashed = false;
  /** The time at which its pause or network cut began. */
  sinceMs = 0;
  /** A lease of it may stay in the store until it expires: a request or reply was lost, or the lease was transferred. */
  mayLeaveLeases = false;
  channel: string | undefined;
  /** The session that its locks end with, while it is open. */
  sessionId: string | undefined;
  onMessage: ((text: string) => void) | undefined;
  onGap: (() => void) | undefined;
  /** The number of tasks that have not ended. */
  unfinished = 0;
  hasClosed = false;
  /** The number of requests after its connections were closed, and of renewals after all its tasks had ended. */
  sentNeedlessly = 0;
  /** Data that one client's task passes to another client's. */
  readonly shared: Map<string, string>;
  readonly #world: ClientHost;
  #closing: Promise<void> | undefined;
  #isDisconnected = false;
  readonly #pending = new Set<Request>();
  #endSession = (): void => {};
  #sessions = 0;
  #order = 0;

  constructor(index: number, world: ClientHost, shared: Map<string, string>, hasSession = false) {
    this.index = index;
    this.shared = shared;
    this.name = clientName(index);
    this.#world = world;
    this.clock = {
      monotonicMs: () => world.nowMs - START_MS,
      wallMs: () => world.nowMs,
      setTimer: (delayMs, callback) => this.#setTimer(delayMs, callback),
      defer: (callback) => void this.#setTimer(0, callback),
    };
    const scripts = this.#runner();
    const store = new RedisStore(scripts, {
      clock: this.clock,
      clientId: this.name,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      session: hasSession ? this.#session(scripts) : undefined,
    });
    this.locks = new Locks({ store, clock: this.clock, random: seededRandom(index) });
  }

  sleep(durationMs: number): Promise<void> {
    return new Promise((resolve) => {
      this.#setTimer(durationMs, resolve);
    });
  }

  /** The client acts as a holder from here until `leave`. */
  enter(lease: Lease, permits: number, keepFor?: Held['keepFor']): Held {
    const held: Held = {
      client: this,
      lease,
      permits,
      enteredMs: this.clock.wallMs(),
      keepFor,
      isSignalled: undefined,
      isContended: undefined,
    };
    this.holds.add(held);
    this.#world.entered(held);
    return held;
  }

  /** Aborts when a client waits for the lock of this lease. */
  watch(held: Held): AbortSignal {
    const { contended } = held.lease;
    held.isContended = contended.aborted;
    const onContended = (): void => {
      held.isContended = true;
      this.#world.contended(held);
    };
    if (contended.aborted) onContended();
    else contended.addEventListener('abort', onContended);
    return contended;
  }

  leave(held: Held): void {
    this.holds.delete(held);
  }

  async release(held: Held): Promise<ReleaseOutcome> {
    this.leave(held);
    const { isHeld } = held.lease;
    if (isHeld) this.#world.releasing(held);
    const outcome = await held.lease.release();
    if (isHeld) this.#world.released(held, outcome);
    return outcome;
  }

  close(): Promise<void> {
    // The store may still grant a pending request. No client releases that lease before it expires.
    if (this.#pending.size > 0) this.mayLeaveLeases = true;
    this.#closing ??= this.locks.close().then(() => {
      this.hasClosed = true;
    });
    return this.#closing;
  }

  /** Its connection breaks and is replaced. All pending requests fail, whether or not the store executed them. */
  loseConnection(): void {
    const error = new Error('the connection has ended');
    for (const request of [...this.#pending]) request.fail(error);
    this.sessionId = undefined;
    this.#endSession();
    this.onGap?.();
  }

  /** Its process ends: its timers do not fire any more. */
  crash(): void {
    this.isCrashed = true;
    this.timers = [];
    this.holds.clear();
  }

  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  get nextDueMs(): number {
    let dueMs = Number.POSITIVE_INFINITY;
    for (const timer of this.timers) dueMs = Math.min(dueMs, timer.dueMs);
    return dueMs;
  }

  /** Puts timers that are due into transit. */
  sendDueTimers(): void {
    const { nowMs } = this.#world;
    const due = this.timers.filter((timer) => timer.dueMs <= nowMs);
    if (due.length === 0) return;
    this.timers = this.timers.filter((timer) => timer.dueMs > nowMs);
    due.sort((a, b) => a.dueMs - b.dueMs || a.order - b.order);
    for (const timer of due) this.#world.send(timer);
  }

  #setTimer(delayMs: number, callback: () => void): Timer {
    const dueMs = Math.ceil(this.#world.nowMs + Math.max(0, delayMs));
    const timer = new LabTimer(this, dueMs, this.#order++, callback);
    if (dueMs <= this.#world.nowMs) this.#world.send(timer);
    else this.timers.push(timer);
    return timer;
  }

  cancel(timer: LabTimer): void {
    const at = this.timers.indexOf(timer);
    if (at >= 0) this.timers.splice(at, 1);
    else this.#world.withdraw(timer);
  }

  /** Sessions open without delay: the lab tests only how they end. */
  #session(scripts: ScriptRunner): LockSession {
    const open = async (): Promise<LiveSession> => {
      const id = `${this.name}${++this.#sessions}`;
      this.sessionId = id;
      const ended = new Promise<void>((resolve) => {
        this.#endSession = resolve;
      });
      return { id, ended, close: () => {} };
    };
    return new LockSession({
      scripts,
      command: async () => {},
      keyPrefix: '',
      clock: this.clock,
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
      open,
    });
  }

  #runner(): ScriptRunner {
    return {
      run: (_, keys, args) => this.#request(keys, args, undefined),
      listen: async (channel, onMessage, onGap) => {
        if (this.#isDisconnected) throw new Error('the connection is closed');
        this.onMessage = onMessage;
        this.onGap = onGap;
        await this.#request([], [], channel);
      },
      close: async () => {
        this.#isDisconnected = true;
      },
    };
  }

  #request(keys: string[], args: string[], channel: string | undefined): Promise<unknown> {
    if (this.#isDisconnected || (this.unfinished === 0 && args.some(isRenewal))) {
      this.sentNeedlessly++;
    }
    return new Promise((resolve, reject) => {
      const settle =
        <Value>(how: (value: Value) => void) =>
        (value: Value): void => {
          this.#pending.delete(request);
          how(value);
        };
      const request = { keys, args, channel, answer: settle(resolve), fail: settle(reject) };
      this.#pending.add(request);
      this.#world.send({
        kind: 'request',
        client: this,
        arrive: undefined,
        request,
        value: undefined,
      });
    });
  }
}

/** A lease that a client believes to hold. */
export interface Held {
  readonly client: Client;
  readonly lease: Lease;
  readonly permits: number;
  readonly enteredMs: number;
  /** Whether its signal has aborted; undefined if the task does not listen to the signal. */
  isSignalled: boolean | undefined;
  /** Whether its `contended` signal has aborted; undefined if the task does not read that signal. */
  isContended: boolean | undefined;
  /** With `keepFor`: its duration, and when the task requested the lock. */
  readonly keepFor: { readonly requestedMs: number; readonly durationMs: number } | undefined;
}

class LabTimer implements Delivery, Timer {
  readonly kind = 'timer';
  readonly request = undefined;
  readonly value = undefined;
  readonly client: Client;
  readonly dueMs: number;
  readonly order: number;
  readonly arrive: () => void;

  constructor(client: Client, dueMs: number, order: number, arrive: () => void) {
    this.client = client;
    this.dueMs = dueMs;
    this.order = order;
    this.arrive = arrive;
  }

  cancel(): void {
    this.client.cancel(this);
  }

  keepAlive(): void {}
}

function isRenewal(word: string): boolean {
  return word === 'extend' || word.startsWith('extend ');
}

/** The name of the client that made this owner id. */
export function clientOfOwner(owner: string): string {
  return owner.split('.', 1)[0]!;
}
