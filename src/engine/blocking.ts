import type { Timer } from '../clock/index.ts';
import { ErrorReply, type Reply } from '../resp/index.ts';
import type { Command } from './command.ts';
import type { Database } from './database.ts';
import type { Engine } from './engine.ts';
import { argumentBytes } from './footprint.ts';
import { assertName } from './name-map.ts';
import type { Session } from './session.ts';

/** The result of a blocked command: the session's listener receives the reply later. */
export const BLOCKED = Symbol('blocked');
export type Blocked = typeof BLOCKED;

/** What a command waits for, and how it continues. */
export interface BlockRequest {
  readonly keys: readonly string[];
  /** Infinity: no timeout. */
  readonly timeoutMs: number;
  /** The reply after the timeout, or at once where a command may not block (MULTI, scripts). */
  readonly timeoutReply: Reply;
  /** Tries again after `key` was created. Returns undefined to stay blocked. May throw ErrorReply. */
  serve(key: string): Reply | undefined;
}

/**
 * The blocked commands of each key, in order of arrival. As in Redis, a blocked command is served after the unit
 * of work that created its key has ended.
 *
 * A Set per key keeps the order of arrival and removes any entry in O(1).
 */
export class Blocking {
  readonly #engine: Engine;
  readonly #byDatabase = new Map<Database, Map<string, Set<BlockedCommand>>>();
  #ready: { database: Database; key: string }[] = [];
  #count = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** The number of sessions that are blocked on keys. */
  get count(): number {
    return this.#count;
  }

  block(session: Session, request: BlockRequest): Reply | Blocked {
    if (!session.mayBlock) return request.timeoutReply;
    for (const key of request.keys) assertName(key);
    const bytes = BLOCKED_BYTES * request.keys.length + argumentBytes(request.keys);
    session.memory.reserve(bytes);
    session.memory.add('blocked', bytes);
    const command = new BlockedCommand(session, request.timeoutReply, () =>
      this.#remove(command, request),
    );
    command.serve = request.serve;
    const byKey = this.#byKey(command.database);
    for (const key of request.keys) {
      const commands = byKey.get(key);
      if (commands) commands.add(command);
      else byKey.set(key, new Set([command]));
    }
    this.#count++;
    command.startTimer(this.#engine, request.timeoutMs);
    return BLOCKED;
  }

  /** `key` was created: its blocked commands are served when the current unit ends. */
  signal(database: Database, key: string): void {
    if (this.#count > 0 && this.#byDatabase.get(database)?.has(key)) {
      this.#ready.push({ database, key });
    }
  }

  /** Any key of the database may have been created. */
  signalAll(database: Database): void {
    for (const key of this.#byDatabase.get(database)?.keys() ?? [])
      this.#ready.push({ database, key });
  }

  /** The number of signals, for `forgetSince`. */
  mark(): number {
    return this.#ready.length;
  }

  /** Drops the signals since `mark`: the script that caused them is rolled back. */
  forgetSince(mark: number): void {
    this.#ready.length = mark;
  }

  /** Serves blocked commands until no signal is left. Serving one (BLMOVE) may signal another key. */
  serveReady(): void {
    while (this.#ready.length > 0) {
      const ready = this.#ready;
      this.#ready = [];
      for (const { database, key } of ready) this.#serveKey(database, key);
    }
  }

  #serveKey(database: Database, key: string): void {
    const commands = this.#byDatabase.get(database)?.get(key);
    if (commands === undefined) return;
    // Serving removes the command from the Set that is iterated, and may add others, which a Set allows.
    for (const command of commands) {
      if (!database.has(key)) return;
      command.tryServe(key);
    }
  }

  #remove(command: BlockedCommand, request: BlockRequest): void {
    const byKey = this.#byKey(command.database);
    for (const key of request.keys) {
      const commands = byKey.get(key);
      commands?.delete(command);
      if (commands?.size === 0) byKey.delete(key);
    }
    this.#count--;
  }

  #byKey(database: Database): Map<string, Set<BlockedCommand>> {
    let byKey = this.#byDatabase.get(database);
    if (byKey === undefined) {
      byKey = new Map();
      this.#byDatabase.set(database, byKey);
    }
    return byKey;
  }
}

/** A blocked command. It finishes exactly once: served, by its timer or by CLIENT UNBLOCK. */
export class BlockedCommand {
  readonly session: Session;
  readonly database: Database;
  readonly #timeoutReply: Reply;
  readonly #onCancel: () => void;
  #timer: Timer | undefined;
  /** The request, whose rights are checked again when they change. */
  request: { readonly command: Command; readonly argv: readonly string[] } | undefined;
  serve: (key: string) => Reply | undefined = () => undefined;

  constructor(session: Session, timeoutReply: Reply, onCancel: () => void) {
    this.session = session;
    this.database = session.database;
    this.#timeoutReply = timeoutReply;
    this.#onCancel = onCancel;
    session.blockedCommand = this;
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

  /** Ends the block without a reply. */
  cancel(): void {
    if (this.session.blockedCommand !== this) return;
    this.session.blockedCommand = null;
    this.session.memory.set('blocked', 0);
    this.#timer?.cancel();
    this.#onCancel();
  }

  finish(reply: Reply): void {
    if (this.session.blockedCommand !== this) return;
    this.cancel();
    this.session.listener.resume(reply);
  }

  #attempt(key: string): Reply | undefined {
    try {
      return this.serve(key);
    } catch (error) {
      // The caller is the command of another client, which must not fail.
      return error instanceof ErrorReply ? error : this.session.engine.internalError(error);
    }
  }
}

/** The memory of an entry in the table of blocked commands, with a Set of its own. */
const BLOCKED_BYTES = 300;
