import { ErrorReply, SimpleReply } from '../resp/index.ts';
import { PARKED } from './blocking.ts';
import type { Database } from './database.ts';
import type { Engine } from './engine.ts';
import { execute } from './execute.ts';
import { type Footprint, stringBytes } from './footprint.ts';
import { Session } from './session.ts';

/** A command to run when somebody's session has ended, and the database to run it in. */
export interface Will {
  readonly argv: readonly string[];
  readonly database: Database;
  /** The text of a script, which many wills share; empty if it has none. */
  readonly script: string;
  /** What it costs to keep, without the script. */
  readonly bytes: number;
}

/** The most wills of one session, and the bytes of their words. */
export const MOST_WILLS = 100_000;
export const MOST_WILL_BYTES = 32 * 1024 * 1024;

/** How often a command that replies AGAIN is run. */
const MAX_REPEATS = 1000;
/** How long one go at wills may take before everybody else has a turn. */
const SLICE_MS = 2;
/** Turns of the event loop between two slices: a client's request is read in one and answered in the next. */
const REST_TURNS = 3;
/** redis.LOG_NOTICE. */
const LOG_NOTICE = 2;

/**
 * HOLDFAST.SESSION gives a connection a name, and with it a session that lives as long as it does.
 * HOLDFAST.WILL leaves commands with such a session, which the engine runs when it ends: each once, in
 * the order in which they were left, as an ordinary client would, so that CLIENT PAUSE holds them up and
 * MONITOR shows them.
 *
 * A session can end in the middle of a unit of work (EXEC that kills a client), so its wills run a turn
 * later, and in slices if they are many. Its name is taken until the last of them has run: whoever could
 * open it again knows that all has been done.
 */
export class Wills {
  readonly #engine: Engine;
  readonly #scripts: ScriptTexts;
  readonly #turns: Turns;
  readonly #legacies = new Map<string, Legacy>();
  readonly #bySession = new Map<Session, Legacy>();

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#scripts = new ScriptTexts(engine.memory.wills);
    this.#turns = new Turns(engine);
  }

  get sessionCount(): number {
    return this.#bySession.size;
  }

  /** Of all sessions, also of those that end. */
  get count(): number {
    return [...this.#legacies.values()].reduce((sum, { wills }) => sum + wills.size, 0);
  }

  /** Whether some are still to be run, of sessions that have ended. */
  get areDue(): boolean {
    return this.#legacies.size > this.#bySession.size;
  }

  has(session: Session): boolean {
    return this.#bySession.has(session);
  }

  open(session: Session, id: string): void {
    if (this.#bySession.has(session)) throw HAS_ONE;
    if (this.#legacies.has(id)) throw IN_USE;
    const legacy = new Legacy(this.#engine, this.#scripts, this.#turns, () =>
      this.#legacies.delete(id),
    );
    this.#legacies.set(id, legacy);
    this.#bySession.set(session, legacy);
  }

  /** One that is left again under the same name takes the place of the first. */
  set(id: string, willId: string, will: Will): void {
    const legacy = this.#legacy(id);
    if (!legacy.isOpen) throw NO_SESSION;
    legacy.put(willId, will);
  }

  /** Also of a session that has ended: it then has run, or never will. False: there was none. */
  drop(id: string, willId: string): boolean {
    return this.#legacy(id).drop(willId);
  }

  /** The session's connection has ended, or it does not want to be one any longer (RESET). */
  end(session: Session): void {
    const legacy = this.#bySession.get(session);
    if (legacy === undefined) return;
    this.#bySession.delete(session);
    legacy.end(session.address);
  }

  #legacy(id: string): Legacy {
    const legacy = this.#legacies.get(id);
    if (legacy === undefined) throw NO_SESSION;
    return legacy;
  }
}

/** The texts of scripts that wills keep alive, each counted once. */
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
 * Runs the slices of all sessions that end, in order. Those that are short share a turn of the event loop;
 * after one that took long, clients have turns of their own first.
 */
class Turns {
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

/** What one session leaves, and the client that runs it in the end. */
class Legacy {
  readonly wills = new Map<string, Will>();
  isOpen = true;
  readonly #engine: Engine;
  readonly #scripts: ScriptTexts;
  readonly #turns: Turns;
  readonly #onDone: () => void;
  readonly #executor: Session;
  #bytes = 0;
  /** How often the first command was run again. */
  #repeats = 0;
  /** The will that CLIENT PAUSE holds up. */
  #heldUp: string | undefined;

  constructor(engine: Engine, scripts: ScriptTexts, turns: Turns, onDone: () => void) {
    this.#engine = engine;
    this.#scripts = scripts;
    this.#turns = turns;
    this.#onDone = onDone;
    this.#executor = new Session(engine, 0, {
      push() {},
      resume: (reply) => this.#goOn(reply),
      close() {},
    });
  }

  put(willId: string, will: Will): void {
    const before = this.wills.get(willId);
    const bytes = this.#bytes + will.bytes - (before?.bytes ?? 0);
    if (before === undefined && this.wills.size >= MOST_WILLS) throw TOO_MANY;
    if (bytes > MOST_WILL_BYTES) throw TOO_LARGE;
    this.#scripts.hold(will.script);
    if (before !== undefined) this.#scripts.release(before.script);
    this.wills.set(willId, will);
    this.#count(bytes);
  }

  drop(willId: string): boolean {
    if (!this.wills.has(willId)) return false;
    this.#forget(willId);
    if (this.#heldUp === willId) {
      this.#executor.waiter?.leave();
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
    this.#turns.add(() => this.#run());
  }

  #run(): void {
    const { clock } = this.#engine;
    const sliceEndMs = clock.monotonicMs() + SLICE_MS;
    for (const [willId, will] of this.wills) {
      this.#heldUp = willId;
      const outcome = this.#execute(will);
      if (outcome === 'held-up') return;
      if (outcome === 'again' && ++this.#repeats < MAX_REPEATS) {
        this.#runLater();
        return;
      }
      this.#repeats = 0;
      this.#forget(willId);
      if (clock.monotonicMs() > sliceEndMs) {
        this.#runLater();
        return;
      }
    }
    this.#onDone();
  }

  #count(bytes: number): void {
    this.#engine.memory.wills.grow(bytes - this.#bytes);
    this.#bytes = bytes;
  }

  #forget(willId: string): void {
    const will = this.wills.get(willId);
    if (will === undefined) return;
    this.wills.delete(willId);
    this.#scripts.release(will.script);
    this.#count(this.#bytes - will.bytes);
  }

  #goOn(reply: unknown): void {
    if (isAgain(reply) && ++this.#repeats < MAX_REPEATS) {
      this.#runLater();
      return;
    }
    this.#repeats = 0;
    if (this.#heldUp !== undefined) this.#forget(this.#heldUp);
    this.#run();
  }

  /** No client reads the reply: errors are logged. A script that replies AGAIN has done a part of its work. */
  #execute({ argv, database }: Will): 'done' | 'held-up' | 'again' {
    this.#executor.database = database;
    try {
      const outcome = execute(this.#executor, argv);
      if (outcome instanceof ErrorReply) this.#report(argv, outcome);
      if (outcome === PARKED) return 'held-up';
      return isAgain(outcome) ? 'again' : 'done';
    } catch (error) {
      this.#report(argv, this.#engine.internalError(error));
      return 'done';
    }
  }

  #report([name]: readonly string[], { message }: ErrorReply): void {
    const { address } = this.#executor;
    this.#engine.log(LOG_NOTICE, `a will (${name}) of ${address} failed: ${message}`);
  }
}

function isAgain(reply: unknown): boolean {
  return reply instanceof SimpleReply && reply.text === 'AGAIN';
}

const HAS_ONE = new ErrorReply('ERR This connection has a session already');
const IN_USE = new ErrorReply('INUSE There is a session of this name, or its wills are being run');
const NO_SESSION = new ErrorReply('NOSESSION There is no session of this name');
const TOO_MANY = new ErrorReply(`ERR A session cannot have more than ${MOST_WILLS} wills`);
const TOO_LARGE = new ErrorReply(
  `ERR The wills of a session cannot have more than ${MOST_WILL_BYTES} bytes`,
);
