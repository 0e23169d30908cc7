import { type Clock, type Random, systemClock, systemRandom, type Timer } from '../clock/index.ts';
import { ErrorReply } from '../resp/index.ts';
import { Acl } from './acl/acl.ts';
import type { LockRoleOptions } from './acl/lock-role.ts';
import { Blocking } from './blocking.ts';
import { Database } from './database.ts';
import { NEVER } from './deadline-heap.ts';
import { ExitCommands } from './exit-commands.ts';
import { Journal } from './journal.ts';
import { LatencyMonitor } from './latency.ts';
import { LockHistory } from './lock-history.ts';
import { Memory } from './memory.ts';
import { EVENT_BITS } from './notifications.ts';
import { Pause } from './pause.ts';
import type { Persistence } from './persistence.ts';
import { PubSub } from './pub-sub.ts';
import { Scripts } from './script.ts';
import { Session, type SessionListener } from './session.ts';
import { Settings, type SettingValues } from './settings.ts';
import { SignIns } from './sign-in.ts';
import { SlowLog } from './slow-log.ts';
import { Statistics } from './statistics.ts';

/** When the disk gets the log: before each reply, every second, or when the operating system likes. */
export type SyncMode = 'always' | 'everysec' | 'no';

export interface EngineOptions {
  readonly clock?: Clock;
  readonly random?: Random;
  /** First values of settings, by their CONFIG names. */
  readonly settings?: SettingValues;
  /** The scripts, keys and channels of the ACL category `lock`. Default: none. */
  readonly lockRole?: LockRoleOptions;
}

/**
 * Creates a database with Redis semantics inside the process. Its clock and random numbers are those of the
 * system unless given.
 *
 * @example execute(createEngine().session(), ['SETNX', 'key', 'value'])
 */
export function createEngine(options: EngineOptions = {}): Engine {
  return new Engine(options);
}

const NOOP_LISTENER: SessionListener = { push() {}, resume() {}, close() {} };

/** How long expired keys are removed before clients are served. */
const EXPIRY_SLICE_MS = 2;
/** redis.LOG_WARNING, the highest level. */
const LOG_WARNING = 3;
/** Clock drift at which the difference between wall clock and monotonic clock is measured again. */
const WALL_DRIFT_MS = 20;

/**
 * The state that all sessions share. A unit of work is a command of a client, a transaction or a script.
 * `nowMs` is read once, when the unit begins, and does not change inside of it.
 */
export class Engine {
  readonly clock: Clock;
  readonly random: Random;
  readonly hashSeed: number;
  readonly acl: Acl;
  readonly settings: Settings;
  readonly scripts: Scripts;
  readonly statistics = new Statistics();
  readonly stats = this.statistics.counters;
  readonly memory = new Memory();
  readonly journal = new Journal(this.memory.undo);
  readonly changes = this.journal.changes;
  readonly blocking = new Blocking(this);
  readonly pubSub = new PubSub();
  readonly pause = new Pause(this);
  readonly exitCommands = new ExitCommands(this);
  readonly signIns = new SignIns(this);
  readonly slowLog = new SlowLog();
  readonly lockHistory: LockHistory;
  readonly latency = new LatencyMonitor();
  readonly sessions = new Map<number, Session>();
  readonly monitors = new Set<Session>();
  readonly startedMs: number;

  /** Monotonic time of the current unit of work. */
  nowMs: number;
  /** Writes before this time are rejected. */
  writesFromMs = 0;
  /** Writes are refused with this error: the log cannot be written. */
  writeRefusal: ErrorReply | undefined;
  syncMode: SyncMode = 'everysec';
  /** While a log is loaded: the wall time minus the deadline of the engine. */
  loadOffsetMs: number | undefined;
  /** The name of the last command, for crash reports. */
  lastCommand = 'NULL';
  /** Commands since the clock was last read. */
  unmeasured = 0;
  /** The classes of keyspace events that are published. */
  eventBits = 0;
  /** Whether key lookups of the running command count as hits and misses. */
  countsReads = true;
  /** False while a command of a session with CLIENT NO-TOUCH runs. */
  marksUse = true;
  /** Whether a new connection must sign in: `default` has a password, or is disabled. */
  needsPassword = false;
  /** A script that exceeds its budget is stopped and rolled back. */
  scriptBudgetSteps = Number.POSITIVE_INFINITY;
  scriptBudgetMs = Number.POSITIVE_INFINITY;
  /** Set by the server. Receives the lines of redis.log, and exceptions that no caller can receive. */
  log: (level: number, message: string) => void = () => {};
  /** The log, if there is one. */
  persistence: Persistence | undefined;
  /** Set by the server. Called by SHUTDOWN. */
  requestShutdown: (() => void) | undefined;
  /** Set by the server if it has a configuration file. Called by CONFIG REWRITE; throws if the file cannot be written. */
  rewriteConfig: (() => void) | undefined;

  readonly #databases: (Database | undefined)[] = [];
  #wallOffsetMs: number;
  #nextSessionId = 1;
  #expiryTimer: Timer | undefined;
  #expiryTimerMs = NEVER;
  #closed = false;

  constructor({
    clock = systemClock,
    random = systemRandom,
    settings = {},
    lockRole,
  }: EngineOptions) {
    this.clock = clock;
    this.random = random;
    this.hashSeed = Math.floor(random.next() * 2 ** 32);
    this.lockHistory = new LockHistory(this.memory, this.hashSeed);
    this.nowMs = clock.monotonicMs();
    this.startedMs = this.nowMs;
    this.#wallOffsetMs = Math.round(clock.wallMs() - this.nowMs);
    this.acl = new Acl(this, lockRole);
    this.settings = new Settings(this, settings);
    this.scripts = new Scripts(this);
  }

  /** Opens a session. Its listener receives replies that come later, and pushed messages. */
  session(listener: SessionListener = NOOP_LISTENER): Session {
    const session = new Session(this, this.#nextSessionId++, listener);
    session.memory.moveInto(this.memory.clients);
    this.sessions.set(session.id, session);
    this.stats.sessions++;
    return session;
  }

  /**
   * Opens a session for a part of the server itself, with all rights. It is no client: it is neither listed, counted nor
   * killed, and no user of the ACL is its own.
   */
  internalSession(listener: SessionListener): Session {
    const session = new Session(this, 0, listener);
    session.authenticated = true;
    session.user = this.acl.internalUser;
    return session;
  }

  /** Removes a closed session, and runs its exit commands. */
  forget(session: Session): void {
    this.sessions.delete(session.id);
    this.monitors.delete(session);
    this.pubSub.leave(session);
    if (!this.#closed) this.exitCommands.end(session);
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

  /** The databases that a session has selected at least once. */
  usedDatabases(): Database[] {
    return this.#databases.filter((database) => database !== undefined);
  }

  /** Sets `nowMs` to the clock's time. Called between units of work, never inside one. */
  freeze(): void {
    this.nowMs = this.clock.monotonicMs();
  }

  /**
   * The wall clock's time of the current unit. It advances with the monotonic clock between corrections, so
   * that PEXPIRETIME returns exactly the time that PEXPIREAT has set.
   */
  wallMs(): number {
    const offsetMs = this.clock.wallMs() - this.clock.monotonicMs();
    if (Math.abs(offsetMs - this.#wallOffsetMs) > WALL_DRIFT_MS) {
      this.#wallOffsetMs = Math.round(offsetMs);
    }
    return this.nowMs + this.#wallOffsetMs;
  }

  /** The monotonic deadline for a wall clock time. The offset is an integer, so the conversion is exact. */
  deadlineFromWall(wallMs: number): number {
    if (this.loadOffsetMs !== undefined) return wallMs - this.loadOffsetMs;
    this.wallMs();
    return wallMs - this.#wallOffsetMs;
  }

  wallFromDeadline(deadlineMs: number): number {
    this.wallMs();
    return Math.round(deadlineMs + this.#wallOffsetMs);
  }

  /** The whole number that, added to a deadline, gives its wall time. */
  get wallOffsetMs(): number {
    this.wallMs();
    return this.#wallOffsetMs;
  }

  /** Makes sure that the expiry timer fires no later than `deadlineMs`. */
  expireAt(deadlineMs: number): void {
    if (deadlineMs >= this.#expiryTimerMs || this.#closed) return;
    this.#expiryTimer?.cancel();
    this.#expiryTimerMs = deadlineMs;
    const delayMs = Math.max(0, deadlineMs - this.clock.monotonicMs());
    this.#expiryTimer = this.clock.setTimer(delayMs, () => this.#expireDue());
  }

  /** Publishes a keyspace event. */
  publishEvent(database: number, event: string, key: string): void {
    if ((this.eventBits & EVENT_BITS.keyspace) !== 0) {
      this.pubSub.publish(`__keyspace@${database}__:${key}`, event);
    }
    if ((this.eventBits & EVENT_BITS.keyevent) !== 0) {
      this.pubSub.publish(`__keyevent@${database}__:${event}`, key);
    }
  }

  /** Ends a unit of work: delivers its messages, and serves clients that are blocked on its keys. */
  endUnit(): void {
    if (this.pubSub.hasMessages) this.pubSub.deliver();
    this.blocking.serveReady();
    if (this.pubSub.hasMessages) this.pubSub.deliver();
    if (this.changes.isOn) this.changes.endUnit();
  }

  /** Rejects writes for a time. Locks that the process granted before a restart may still be held. */
  refuseWritesFor(durationMs: number): void {
    this.writesFromMs = this.nowMs + durationMs;
  }

  /** The time until every key with a deadline has expired, and until writes are accepted. */
  longestLeaseMs(): number {
    const ends = this.usedDatabases().map((database) => database.lastDeadline());
    ends.push(this.writesFromMs);
    return Math.max(0, ...ends.map((endMs) => endMs - this.clock.monotonicMs()));
  }

  /** Logs a bug of the engine, and returns the error reply for the client. */
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
