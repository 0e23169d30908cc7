import { type Clock, type Random, systemClock, systemRandom, type Timer } from '../clock/index.ts';
import { ErrorReply } from '../resp/index.ts';
import { Blocking } from './blocking.ts';
import { Database } from './database.ts';
import { NEVER } from './deadline-heap.ts';
import { Journal } from './journal.ts';
import { LatencyMonitor } from './latency.ts';
import { Memory } from './memory.ts';
import { EVENT_BITS } from './notifications.ts';
import { Pause } from './pause.ts';
import { PubSub } from './pub-sub.ts';
import { Scripts } from './script.ts';
import { Session, type SessionListener } from './session.ts';
import { Settings, type SettingValues } from './settings.ts';
import { SignIns } from './sign-in.ts';
import { SlowLog } from './slow-log.ts';
import { Statistics } from './statistics.ts';
import { Wills } from './wills.ts';

export interface EngineOptions {
  readonly clock?: Clock;
  readonly random?: Random;
  /** First values of settings, by their CONFIG names. */
  readonly settings?: SettingValues;
}

/** Redis's semantics in this process: `execute(engine.session(), ['SETNX', 'key', 'value'])`. */
export function createEngine(options: EngineOptions = {}): Engine {
  return new Engine(options);
}

const SILENT: SessionListener = { push() {}, resume() {}, close() {} };

/** How long one go at ended keys may take before everybody else has a turn. */
const EXPIRY_SLICE_MS = 2;
/** redis.LOG_WARNING, the highest level. */
const LOG_WARNING = 3;
/** How far the wall clock may drift from the monotonic one before the difference is taken anew. */
const WALL_DRIFT_MS = 20;

/**
 * The state that all sessions share. Its time stands still while a command, a transaction or a script
 * runs: `nowMs` is read once, when it begins.
 */
export class Engine {
  readonly clock: Clock;
  readonly random: Random;
  readonly hashSeed: number;
  readonly settings: Settings;
  readonly scripts: Scripts;
  readonly statistics = new Statistics();
  readonly stats = this.statistics.counters;
  readonly memory = new Memory();
  readonly journal = new Journal(this.memory.undo);
  readonly blocking = new Blocking(this);
  readonly pubSub = new PubSub();
  readonly pause = new Pause(this);
  readonly wills = new Wills(this);
  readonly signIns = new SignIns(this);
  readonly slowLog = new SlowLog();
  readonly latency = new LatencyMonitor();
  readonly sessions = new Map<number, Session>();
  readonly monitors = new Set<Session>();
  readonly startedMs: number;

  /** Monotonic time of the current unit of work. */
  nowMs: number;
  /** Until then writes are refused. */
  writesFromMs = 0;
  /** The name of the command that ran last, for reports of faults. */
  lastCommand = 'NULL';
  /** Commands since the clock was last looked at. */
  unmeasured = 0;
  /** The classes of keyspace events that are announced. */
  eventBits = 0;
  /** Whether the running command's looks at keys count as hits and misses. */
  countsReads = true;
  /** False while a session that asked for CLIENT NO-TOUCH runs. */
  marksUse = true;
  needsPassword = false;
  /** How much a script may do before it is stopped and undone. */
  scriptBudgetSteps = Number.POSITIVE_INFINITY;
  scriptBudgetMs = Number.POSITIVE_INFINITY;
  /** Set by the server: what scripts say by redis.log, and exceptions that have no caller to go to. */
  log: (level: number, message: string) => void = () => {};
  /** Set by the server: SHUTDOWN asks it to end. */
  requestShutdown: (() => void) | undefined;

  readonly #databases: (Database | undefined)[] = [];
  #wallOffsetMs: number;
  #nextSessionId = 1;
  #expiryTimer: Timer | undefined;
  #expiryTimerMs = NEVER;
  #closed = false;

  constructor({ clock = systemClock, random = systemRandom, settings = {} }: EngineOptions) {
    this.clock = clock;
    this.random = random;
    this.hashSeed = Math.floor(random.next() * 2 ** 32);
    this.nowMs = clock.monotonicMs();
    this.startedMs = this.nowMs;
    this.#wallOffsetMs = Math.round(clock.wallMs() - this.nowMs);
    this.settings = new Settings(this, settings);
    this.scripts = new Scripts(this);
  }

  session(listener: SessionListener = SILENT): Session {
    const session = new Session(this, this.#nextSessionId++, listener);
    session.memory.moveInto(this.memory.clients);
    this.sessions.set(session.id, session);
    this.stats.sessions++;
    return session;
  }

  /** Forgets a session that closed. */
  forget(session: Session): void {
    this.sessions.delete(session.id);
    this.monitors.delete(session);
    this.pubSub.leave(session);
    if (!this.#closed) this.wills.end(session);
  }

  database(number: number): Database {
    const existing = this.#databases[number];
    if (existing) return existing;
    const created = new Database(this, number);
    this.#databases[number] = created;
    return created;
  }

  get databaseCount(): number {
    return this.settings.number('databases');
  }

  /** The databases that were ever used. */
  usedDatabases(): Database[] {
    return this.#databases.filter((database) => database !== undefined);
  }

  /** Lets time pass up to now. Called between units of work, never inside one. */
  freeze(): void {
    this.nowMs = this.clock.monotonicMs();
  }

  /**
   * The wall clock's time of the current unit. It runs with the monotonic clock between corrections, so
   * that a time that was set (PEXPIREAT) is read back unchanged (PEXPIRETIME).
   */
  wallMs(): number {
    const offsetMs = this.clock.wallMs() - this.clock.monotonicMs();
    if (Math.abs(offsetMs - this.#wallOffsetMs) > WALL_DRIFT_MS) {
      this.#wallOffsetMs = Math.round(offsetMs);
    }
    return this.nowMs + this.#wallOffsetMs;
  }

  /** From the wall clock's time to the monotonic deadline, and back. The offset is whole, so this is exact. */
  deadlineFromWall(wallMs: number): number {
    this.wallMs();
    return wallMs - this.#wallOffsetMs;
  }

  wallFromDeadline(deadlineMs: number): number {
    this.wallMs();
    return Math.round(deadlineMs + this.#wallOffsetMs);
  }

  /** A key ends at `deadlineMs`: makes sure that somebody looks then. */
  expireAt(deadlineMs: number): void {
    if (deadlineMs >= this.#expiryTimerMs || this.#closed) return;
    this.#expiryTimer?.cancel();
    this.#expiryTimerMs = deadlineMs;
    const delayMs = Math.max(0, deadlineMs - this.clock.monotonicMs());
    this.#expiryTimer = this.clock.setTimer(delayMs, () => this.#expireDue());
  }

  /** Announces a keyspace event to those who subscribed to it. */
  announce(database: number, event: string, key: string): void {
    if ((this.eventBits & EVENT_BITS.keyspace) !== 0) {
      this.pubSub.publish(`__keyspace@${database}__:${key}`, event);
    }
    if ((this.eventBits & EVENT_BITS.keyevent) !== 0) {
      this.pubSub.publish(`__keyevent@${database}__:${event}`, key);
    }
  }

  /** The end of a unit of work: its messages leave, and whoever waited for its keys is served. */
  endUnit(): void {
    if (this.pubSub.hasMessages) this.pubSub.deliver();
    this.blocking.serveReady();
    if (this.pubSub.hasMessages) this.pubSub.deliver();
  }

  /** Refuses writes for a time: locks that an earlier run granted, and lost, may still be held. */
  refuseWritesFor(durationMs: number): void {
    this.writesFromMs = this.nowMs + durationMs;
  }

  /** How long it takes until every key with a deadline has ended, and every lock of a run before this one. */
  longestLeaseMs(): number {
    const ends = this.usedDatabases().map((database) => database.lastDeadline());
    ends.push(this.writesFromMs);
    return Math.max(0, ...ends.map((endMs) => endMs - this.clock.monotonicMs()));
  }

  /** The answer to a client whose command failed by a fault of ours, which is logged. */
  internalError(error: unknown): ErrorReply {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.log(LOG_WARNING, `internal error: ${text}`);
    return new ErrorReply('ERR internal error');
  }

  /** Ends all sessions and timers. Safe to call twice. */
  close(): void {
    this.#closed = true;
    this.#expiryTimer?.cancel();
    this.pause.close();
    for (const session of [...this.sessions.values()]) {
      session.listener.close();
      session.close();
    }
  }

  #expireDue(): void {
    this.#expiryTimerMs = NEVER;
    this.freeze();
    const sliceEndMs = this.nowMs + EXPIRY_SLICE_MS;
    for (const database of this.usedDatabases()) {
      for (let count = 1; database.expireFirst(); count++) {
        if (count % 64 === 0 && this.clock.monotonicMs() > sliceEndMs) break;
      }
    }
    this.endUnit();
    for (const database of this.usedDatabases()) this.expireAt(database.firstDeadline());
  }
}
