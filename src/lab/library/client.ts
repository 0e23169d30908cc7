import type { ScriptRunner } from '../../client/index.ts';
import { type Clock, seededRandom, type Timer } from '../../clock/index.ts';
import { type Lease, Locks, type ReleaseOutcome } from '../../lock/index.ts';
import { type LiveSession, LockSession, RedisStore } from '../../stores/index.ts';
import { clientName } from '../choice.ts';
import { START_MS } from '../store.ts';

/** What a client has to do with the world around it. */
export interface Surroundings {
  readonly nowMs: number;
  send(event: Coming): void;
  withdraw(event: Coming): void;
  entered(held: Held): void;
  /** It gives back what is its own, as far as it knows. */
  releasing(held: Held): void;
  /** It was told this when it had done so. */
  released(held: Held, outcome: ReleaseOutcome): void;
}

/** Something on its way to the store or to a client, in a lane where nothing overtakes. */
export interface Coming {
  readonly kind: 'request' | 'reply' | 'message' | 'timer' | 'stray' | 'exit';
  readonly client: Client;
  /** Where it arrives. */
  readonly arrive: (() => void) | undefined;
  readonly request: Request | undefined;
  /** What a reply or a message says. */
  readonly value: unknown;
}

export interface Request {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  /** The client asks to hear this channel. */
  readonly channel: string | undefined;
  readonly answer: (reply: unknown) => void;
  readonly fail: (error: Error) => void;
}

/** How long the library waits for a reply. */
const REQUEST_TIMEOUT_MS = 1000;

/**
 * A process of its own with the real library in it: its time, its timers, its connections and its chance
 * are all the stage's, so that nothing happens in it unless the stage lets it.
 */
export class Client {
  readonly index: number;
  readonly name: string;
  readonly locks: Locks;
  readonly clock: Clock;
  /** What it believes to hold. */
  readonly holds = new Set<Held>();
  timers: LabTimer[] = [];
  isPaused = false;
  isCut = false;
  isCrashed = false;
  /** Since when it is paused or cut. */
  sinceMs = 0;
  /** Something of it may stay in the store until it ends: word of it was lost, or it was given away. */
  mayLeave = false;
  channel: string | undefined;
  /** The session that its locks end with, while it is open. */
  sessionId: string | undefined;
  onMessage: ((text: string) => void) | undefined;
  onGap: (() => void) | undefined;
  /** Tasks that have not ended. */
  unfinished = 0;
  hasClosed = false;
  /** Requests after its connections were closed, and renewals when all its tasks had ended. */
  sentNeedlessly = 0;
  /** A place for what one program hands to another. */
  readonly shared: Map<string, string>;
  readonly #world: Surroundings;
  #closing: Promise<void> | undefined;
  #isDisconnected = false;
  readonly #underWay = new Set<Request>();
  #endSession = (): void => {};
  #sessions = 0;
  #order = 0;

  constructor(index: number, world: Surroundings, shared: Map<string, string>, hasSession = false) {
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

  /** From here on it acts on the lock's behalf, until `leave`. */
  enter(lease: Lease, take: number): Held {
    const held: Held = { client: this, lease, take, isTold: undefined };
    this.holds.add(held);
    this.#world.entered(held);
    return held;
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
    // What it has asked for may still be granted; nobody is left to give it back before its end.
    if (this.#underWay.size > 0) this.mayLeave = true;
    this.#closing ??= this.locks.close().then(() => {
      this.hasClosed = true;
    });
    return this.#closing;
  }

  /** Its connection ends, and another takes its place: whether a request was heard nobody knows. */
  loseConnection(): void {
    const error = new Error('the connection has ended');
    for (const request of [...this.#underWay]) request.fail(error);
    this.sessionId = undefined;
    this.#endSession();
    this.onGap?.();
  }

  /** Its process ends: nothing of what it planned will happen. */
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

  /** Timers whose time has come are on their way. */
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

  /** Sessions open at once: what matters is how they end. */
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
          this.#underWay.delete(request);
          how(value);
        };
      const request = { keys, args, channel, answer: settle(resolve), fail: settle(reject) };
      this.#underWay.add(request);
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

/** A lease in somebody's hands. */
export interface Held {
  readonly client: Client;
  readonly lease: Lease;
  readonly take: number;
  /** Whether its signal has aborted; undefined if nobody listens. */
  isTold: boolean | undefined;
}

class LabTimer implements Coming, Timer {
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

/** The client of an owner that it named. */
export function clientOfOwner(owner: string): string {
  return owner.split('.', 1)[0]!;
}
