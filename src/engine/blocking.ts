import type { Timer } from '../clock/index.ts';
import { ErrorReply, type Reply } from '../resp/index.ts';
import type { Database } from './database.ts';
import type { Engine } from './engine.ts';
import { argumentBytes } from './footprint.ts';
import { assertName } from './name-map.ts';
import type { Session } from './session.ts';

/** Stands for a reply that comes later, by the session's listener. */
export const PARKED = Symbol('parked');
export type Parked = typeof PARKED;

/** How a blocked command goes on. */
export interface WaitRequest {
  readonly keys: readonly string[];
  /** Infinity: for ever. */
  readonly timeoutMs: number;
  /** What to answer when the time is up, or at once where nothing may wait (MULTI, scripts). */
  readonly timeoutReply: Reply;
  /** Tries again after `key` got a value; undefined: still nothing to take. May throw ErrorReply. */
  serve(key: string): Reply | undefined;
}

/**
 * Who waits for which key, in order of arrival. A waiter is served after the command, transaction or
 * script that made its key is over, as Redis does, so that no script is entered in the middle.
 *
 * Each key has its waiters in a Set, which keeps the order of arrival and forgets any one in O(1).
 */
export class Blocking {
  readonly #engine: Engine;
  readonly #waiters = new Map<Database, Map<string, Set<Waiter>>>();
  #ready: { database: Database; key: string }[] = [];
  #count = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** How many sessions wait for keys. */
  get count(): number {
    return this.#count;
  }

  park(session: Session, request: WaitRequest): Reply | Parked {
    if (!session.mayPark) return request.timeoutReply;
    for (const key of request.keys) assertName(key);
    const bytes = WAITER_BYTES * request.keys.length + argumentBytes(request.keys);
    session.memory.reserve(bytes);
    session.memory.add('blocked', bytes);
    const waiter = new Waiter(session, request.timeoutReply, () => this.#remove(waiter, request));
    waiter.serve = request.serve;
    const byKey = this.#byKey(waiter.database);
    for (const key of request.keys) {
      const waiters = byKey.get(key);
      if (waiters) waiters.add(waiter);
      else byKey.set(key, new Set([waiter]));
    }
    this.#count++;
    waiter.startTimer(this.#engine, request.timeoutMs);
    return PARKED;
  }

  /** A collection was put under `key`: whoever waits for it is served when the current unit ends. */
  signal(database: Database, key: string): void {
    if (this.#count > 0 && this.#waiters.get(database)?.has(key)) {
      this.#ready.push({ database, key });
    }
  }

  /** Any key of the database may have come. */
  signalAll(database: Database): void {
    for (const key of this.#waiters.get(database)?.keys() ?? [])
      this.#ready.push({ database, key });
  }

  /** Where the signals stand, so that later ones can be forgotten with what caused them. */
  mark(): number {
    return this.#ready.length;
  }

  forgetSince(mark: number): void {
    this.#ready.length = mark;
  }

  /** Serves waiters until no signal is left; serving one (BLMOVE) may signal the next. */
  serveReady(): void {
    while (this.#ready.length > 0) {
      const ready = this.#ready;
      this.#ready = [];
      for (const { database, key } of ready) this.#serveKey(database, key);
    }
  }

  #serveKey(database: Database, key: string): void {
    const waiters = this.#waiters.get(database)?.get(key);
    if (waiters === undefined) return;
    // A Set may lose the waiter that is being served, and gain others, while it is walked.
    for (const waiter of waiters) {
      if (!database.has(key)) return;
      waiter.tryServe(key);
    }
  }

  #remove(waiter: Waiter, request: WaitRequest): void {
    const byKey = this.#byKey(waiter.database);
    for (const key of request.keys) {
      const waiters = byKey.get(key);
      waiters?.delete(waiter);
      if (waiters?.size === 0) byKey.delete(key);
    }
    this.#count--;
  }

  #byKey(database: Database): Map<string, Set<Waiter>> {
    let byKey = this.#waiters.get(database);
    if (byKey === undefined) {
      byKey = new Map();
      this.#waiters.set(database, byKey);
    }
    return byKey;
  }
}

/** A parked session: it goes on exactly once, by being served, by its timer or by CLIENT UNBLOCK. */
export class Waiter {
  readonly session: Session;
  readonly database: Database;
  readonly #timeoutReply: Reply;
  readonly #onLeave: () => void;
  #timer: Timer | undefined;
  serve: (key: string) => Reply | undefined = () => undefined;

  constructor(session: Session, timeoutReply: Reply, onLeave: () => void) {
    this.session = session;
    this.database = session.database;
    this.#timeoutReply = timeoutReply;
    this.#onLeave = onLeave;
    session.waiter = this;
  }

  startTimer(engine: Engine, timeoutMs: number): void {
    if (timeoutMs === Number.POSITIVE_INFINITY) return;
    this.#timer = engine.clock.setTimer(timeoutMs, () => this.timeOut());
  }

  tryServe(key: string): void {
    const reply = this.#attempt(key);
    if (reply !== undefined) this.finish(reply);
  }

  timeOut(): void {
    this.finish(this.#timeoutReply);
  }

  /** Leaves without an answer: the session is closing. */
  leave(): void {
    if (this.session.waiter !== this) return;
    this.session.waiter = null;
    this.session.memory.set('blocked', 0);
    this.#timer?.cancel();
    this.#onLeave();
  }

  finish(reply: Reply): void {
    if (this.session.waiter !== this) return;
    this.leave();
    this.session.listener.resume(reply);
  }

  #attempt(key: string): Reply | undefined {
    try {
      return this.serve(key);
    } catch (error) {
      // This runs at the end of somebody else's command, who must not pay for it.
      return error instanceof ErrorReply ? error : this.session.engine.internalError(error);
    }
  }
}

/** An entry in the table of keys that clients wait for, with a set of its own. */
const WAITER_BYTES = 300;
