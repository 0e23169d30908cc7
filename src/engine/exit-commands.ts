import { ErrorReply, SimpleReply } from '../resp/index.ts';
import type { User } from './acl/user.ts';
import { BLOCKED } from './blocking.ts';
import type { Database } from './database.ts';
import type { Engine } from './engine.ts';
import { execute } from './execute.ts';
import { type Footprint, stringBytes } from './footprint.ts';
import { Session } from './session.ts';

/** A command that the engine runs when a named session has ended. On the wire it is called a will. */
export interface ExitCommand {
  readonly argv: readonly string[];
  /** The database that the command runs in. */
  readonly database: Database;
  /** The user that added the command. Its rights are checked when the command runs. */
  readonly user: User;
  /** The text of the script that the command runs. Exit commands share it. Empty if there is none. */
  readonly script: string;
  /** The memory that the command takes, without the script. */
  readonly bytes: number;
}

/** Limits of one session: the number of exit commands, and the bytes of their arguments. */
export const MAX_COMMANDS = 100_000;
export const MAX_BYTES = 32 * 1024 * 1024;

/** How often a command that replies AGAIN is run. */
const MAX_REPEATS = 1000;
/** How long exit commands run before clients are served. */
const SLICE_MS = 2;
/** Turns of the event loop between two slices: a client's request is read in one and answered in the next. */
const REST_TURNS = 3;
/** redis.LOG_NOTICE. */
const LOG_NOTICE = 2;

/**
 * HOLDFAST.SESSION names a connection's session. HOLDFAST.WILL adds exit commands to a named session. When
 * the connection ends, the engine runs each of them once, in the order in which they were added. They run
 * like the commands of a client: CLIENT PAUSE delays them, and MONITOR shows them.
 *
 * A session can end inside of a unit of work (EXEC with CLIENT KILL), so its exit commands run one turn
 * later, in time slices. The name stays in use until the last of them has run: a client that can open a
 * session of this name knows that all of them have run.
 */
export class ExitCommands {
  readonly #engine: Engine;
  readonly #scripts: ScriptTexts;
  readonly #slices: SliceQueue;
  readonly #queues = new Map<string, ExitQueue>();
  readonly #bySession = new Map<Session, ExitQueue>();

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#scripts = new ScriptTexts(engine.memory.exitCommands);
    this.#slices = new SliceQueue(engine);
  }

  get sessionCount(): number {
    return this.#bySession.size;
  }

  /** The exit commands that have not run, of open and of ended sessions. */
  get count(): number {
    return [...this.#queues.values()].reduce((sum, { commands }) => sum + commands.size, 0);
  }

  /** Whether exit commands of an ended session have not run yet. */
  get areDue(): boolean {
    return this.#queues.size > this.#bySession.size;
  }

  has(session: Session): boolean {
    return this.#bySession.has(session);
  }

  open(session: Session, id: string): void {
    if (this.#bySession.has(session)) throw HAS_ONE;
    if (this.#queues.has(id)) throw IN_USE;
    const queue = new ExitQueue(this.#engine, this.#scripts, this.#slices, () =>
      this.#queues.delete(id),
    );
    this.#queues.set(id, queue);
    this.#bySession.set(session, queue);
  }

  /** Adds an exit command. One with the same id is replaced and keeps its place in the order. */
  set(id: string, commandId: string, command: ExitCommand): void {
    const queue = this.#queue(id);
    if (!queue.isOpen) throw NO_SESSION;
    queue.put(commandId, command);
  }

  /** Removes an exit command, also of an ended session. Returns false if there is none, or if it has run. */
  drop(id: string, commandId: string): boolean {
    return this.#queue(id).drop(commandId);
  }

  /** Runs the exit commands of the session, if it has a name: its connection has ended, or sent RESET. */
  end(session: Session): void {
    const queue = this.#bySession.get(session);
    if (queue === undefined) return;
    this.#bySession.delete(session);
    queue.end(session.address);
  }

  #queue(id: string): ExitQueue {
    const queue = this.#queues.get(id);
    if (queue === undefined) throw NO_SESSION;
    return queue;
  }
}

/** The script texts that exit commands keep alive. The memory of each text is counted once. */
class ScriptTexts {
  readonly #footprint: Footprint;
  readonly #uses = new Map<string, number>();

  constructor(footprint: Footprint) {
    this.#footprint = footprint;
  }

  hold(text: string): void {
    const uses = this.#uses.get(text) ?? 0;
    if (uses === 0) this.#footprint.grow(stringBytes(text));
    this.#uses.set(text, uses + 1);
  }

  release(text: string): void {
    const uses = this.#uses.get(text)! - 1;
    if (uses > 0) this.#uses.set(text, uses);
    else {
      this.#uses.delete(text);
      this.#footprint.grow(-stringBytes(text));
    }
  }
}

/**
 * Runs the slices of all ended sessions in order. Slices that together take less than SLICE_MS share a turn of
 * the event loop. After a longer turn, clients are served for REST_TURNS turns.
 */
class SliceQueue {
  readonly #engine: Engine;
  #slices: (() => void)[] = [];
  #isScheduled = false;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  add(slice: () => void): void {
    this.#slices.push(slice);
    if (!this.#isScheduled) this.#schedule(1);
  }

  #schedule(turns: number): void {
    this.#isScheduled = true;
    this.#engine.clock.defer(() => (turns > 1 ? this.#schedule(turns - 1) : this.#run()));
  }

  #run(): void {
    const endMs = this.#engine.clock.monotonicMs() + SLICE_MS;
    const slices = this.#slices;
    this.#slices = [];
    let at = 0;
    do slices[at++]!();
    while (at < slices.length && this.#engine.clock.monotonicMs() <= endMs);
    this.#slices = [...slices.slice(at), ...this.#slices];
    const isLong = this.#engine.clock.monotonicMs() > endMs;
    this.#isScheduled = false;
    if (this.#slices.length > 0) this.#schedule(isLong ? REST_TURNS : 1);
  }
}

/** The exit commands of one named session, and the internal session that runs them. */
class ExitQueue {
  readonly commands = new Map<string, ExitCommand>();
  isOpen = true;
  readonly #engine: Engine;
  readonly #scripts: ScriptTexts;
  readonly #slices: SliceQueue;
  readonly #onDone: () => void;
  readonly #executor: Session;
  #bytes = 0;
  /** How often the current command has replied AGAIN. */
  #repeats = 0;
  /** The command that runs, or that CLIENT PAUSE blocks. */
  #current: string | undefined;

  constructor(engine: Engine, scripts: ScriptTexts, slices: SliceQueue, onDone: () => void) {
    this.#engine = engine;
    this.#scripts = scripts;
    this.#slices = slices;
    this.#onDone = onDone;
    this.#executor = new Session(engine, 0, {
      push() {},
      resume: (reply) => this.#resume(reply),
      close() {},
    });
  }

  put(commandId: string, command: ExitCommand): void {
    const before = this.commands.get(commandId);
    const bytes = this.#bytes + command.bytes - (before?.bytes ?? 0);
    if (before === undefined && this.commands.size >= MAX_COMMANDS) throw TOO_MANY;
    if (bytes > MAX_BYTES) throw TOO_LARGE;
    this.#scripts.hold(command.script);
    if (before !== undefined) this.#scripts.release(before.script);
    this.commands.set(commandId, command);
    this.#count(bytes);
  }

  drop(commandId: string): boolean {
    if (!this.commands.has(commandId)) return false;
    this.#forget(commandId);
    if (this.#current === commandId) {
      this.#executor.blockedCommand?.cancel();
      this.#runLater();
    }
    return true;
  }

  end(address: string): void {
    this.isOpen = false;
    this.#executor.authenticated = true;
    this.#executor.address = address;
    this.#runLater();
  }

  #runLater(): void {
    this.#slices.add(() => this.#run());
  }

  #run(): void {
    const { clock } = this.#engine;
    const sliceEndMs = clock.monotonicMs() + SLICE_MS;
    for (const [commandId, command] of this.commands) {
      this.#current = commandId;
      const outcome = this.#execute(command);
      if (outcome === 'blocked') return;
      if (outcome === 'again' && ++this.#repeats < MAX_REPEATS) {
        this.#runLater();
        return;
      }
      this.#repeats = 0;
      this.#forget(commandId);
      if (clock.monotonicMs() > sliceEndMs) {
        this.#runLater();
        return;
      }
    }
    this.#onDone();
  }

  #count(bytes: number): void {
    this.#engine.memory.exitCommands.grow(bytes - this.#bytes);
    this.#bytes = bytes;
  }

  #forget(commandId: string): void {
    const command = this.commands.get(commandId);
    if (command === undefined) return;
    this.commands.delete(commandId);
    this.#scripts.release(command.script);
    this.#count(this.#bytes - command.bytes);
  }

  #resume(reply: unknown): void {
    if (isAgain(reply) && ++this.#repeats < MAX_REPEATS) {
      this.#runLater();
      return;
    }
    this.#repeats = 0;
    if (this.#current !== undefined) this.#forget(this.#current);
    this.#run();
  }

  /** Logs an error, since no client reads the reply. A script that replies AGAIN has done a part of its work. */
  #execute({ argv, database, user }: ExitCommand): 'done' | 'blocked' | 'again' {
    this.#executor.database = database;
    this.#executor.user = user;
    try {
      const outcome = execute(this.#executor, argv);
      if (outcome instanceof ErrorReply) this.#report(argv, outcome);
      if (outcome === BLOCKED) return 'blocked';
      return isAgain(outcome) ? 'again' : 'done';
    } catch (error) {
      this.#report(argv, this.#engine.internalError(error));
      return 'done';
    }
  }

  #report([name]: readonly string[], { message }: ErrorReply): void {
    const { address } = this.#executor;
    this.#engine.log(LOG_NOTICE, `exit command ${name} of session ${address} failed: ${message}`);
  }
}

function isAgain(reply: unknown): boolean {
  return reply instanceof SimpleReply && reply.text === 'AGAIN';
}

const HAS_ONE = new ErrorReply('ERR This connection has a session already');
const IN_USE = new ErrorReply('INUSE There is a session of this name, or its wills are being run');
const NO_SESSION = new ErrorReply('NOSESSION There is no session of this name');
const TOO_MANY = new ErrorReply(`ERR A session cannot have more than ${MAX_COMMANDS} wills`);
const TOO_LARGE = new ErrorReply(
  `ERR The wills of a session cannot have more than ${MAX_BYTES} bytes`,
);
