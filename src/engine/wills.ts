import { ErrorReply } from '../resp/index.ts';
import { PARKED } from './blocking.ts';
import type { Database } from './database.ts';
import type { Engine } from './engine.ts';
import { execute } from './execute.ts';
import { Session } from './session.ts';

/** A command to run when somebody's session has ended, and the database to run it in. */
export interface Will {
  readonly argv: readonly string[];
  readonly database: Database;
  /** What it costs to keep. */
  readonly bytes: number;
}

/** The most wills of one session, and the bytes of their words. */
export const MOST_WILLS = 100_000;
export const MOST_WILL_BYTES = 32 * 1024 * 1024;

/** How long one go at wills may take before everybody else has a turn. */
const SLICE_MS = 2;
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
  readonly #legacies = new Map<string, Legacy>();
  readonly #bySession = new Map<Session, Legacy>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get sessionCount(): number {
    return this.#bySession.size;
  }

  /** Of all sessions, also of those that end. */
  get count(): number {
    return [...this.#legacies.values()].reduce((sum, { wills }) => sum + wills.size, 0);
  }

  has(session: Session): boolean {
    return this.#bySession.has(session);
  }

  open(session: Session, id: string): void {
    if (this.#bySession.has(session)) throw HAS_ONE;
    if (this.#legacies.has(id)) throw IN_USE;
    const legacy = new Legacy();
    this.#legacies.set(id, legacy);
    this.#bySession.set(session, legacy);
    legacy.execute = () => {
      const executor = new Executor(this.#engine, session.address, legacy);
      executor.onDone = () => this.#legacies.delete(id);
      executor.run();
    };
  }

  /** One that is left again under the same name takes the place of the first. */
  set(id: string, willId: string, will: Will): void {
    this.#live(id).put(willId, will);
  }

  /** False: there was none. */
  drop(id: string, willId: string): boolean {
    return this.#live(id).drop(willId);
  }

  /** The session's connection has ended, or it does not want to be one any longer (RESET). */
  end(session: Session): void {
    const legacy = this.#bySession.get(session);
    if (legacy === undefined) return;
    this.#bySession.delete(session);
    legacy.isOpen = false;
    this.#engine.clock.defer(legacy.execute);
  }

  #live(id: string): Legacy {
    const legacy = this.#legacies.get(id);
    if (legacy === undefined || !legacy.isOpen) throw NO_SESSION;
    return legacy;
  }
}

/** What one session leaves. */
class Legacy {
  readonly wills = new Map<string, Will>();
  isOpen = true;
  execute = (): void => {};
  #bytes = 0;

  put(willId: string, will: Will): void {
    const before = this.wills.get(willId);
    const bytes = this.#bytes + will.bytes - (before?.bytes ?? 0);
    if (before === undefined && this.wills.size >= MOST_WILLS) throw TOO_MANY;
    if (bytes > MOST_WILL_BYTES) throw TOO_LARGE;
    this.wills.set(willId, will);
    this.#bytes = bytes;
  }

  drop(willId: string): boolean {
    const will = this.wills.get(willId);
    if (will === undefined) return false;
    this.#bytes -= will.bytes;
    return this.wills.delete(willId);
  }
}

/** The client that runs the wills of one session, one after the other. */
class Executor {
  onDone = (): void => {};
  readonly #engine: Engine;
  readonly #session: Session;
  readonly #wills: Map<string, Will>;

  constructor(engine: Engine, address: string, { wills }: Legacy) {
    this.#engine = engine;
    this.#wills = wills;
    this.#session = new Session(engine, 0, {
      push() {},
      // CLIENT PAUSE held a will up, which has run now.
      resume: () => this.run(),
      close() {},
    });
    this.#session.authenticated = true;
    this.#session.address = address;
  }

  readonly run = (): void => {
    const { clock } = this.#engine;
    const sliceEndMs = clock.monotonicMs() + SLICE_MS;
    for (const [willId, will] of this.#wills) {
      this.#wills.delete(willId);
      if (!this.#execute(will)) return;
      if (clock.monotonicMs() > sliceEndMs) {
        clock.defer(this.run);
        return;
      }
    }
    this.onDone();
  };

  /** False: it waits, and run() is called again afterwards. Nobody hears an answer but the log. */
  #execute({ argv, database }: Will): boolean {
    this.#session.database = database;
    try {
      const outcome = execute(this.#session, argv);
      if (outcome instanceof ErrorReply) this.#report(argv, outcome);
      return outcome !== PARKED;
    } catch (error) {
      this.#report(argv, this.#engine.internalError(error));
      return true;
    }
  }

  #report([name]: readonly string[], { message }: ErrorReply): void {
    this.#engine.log(LOG_NOTICE, `a will (${name}) of ${this.#session.address} failed: ${message}`);
  }
}

const HAS_ONE = new ErrorReply('ERR This connection has a session already');
const IN_USE = new ErrorReply('INUSE There is a session of this name, or its wills are being run');
const NO_SESSION = new ErrorReply('NOSESSION There is no session of this name');
const TOO_MANY = new ErrorReply(`ERR A session cannot have more than ${MOST_WILLS} wills`);
const TOO_LARGE = new ErrorReply(
  `ERR The wills of a session cannot have more than ${MOST_WILL_BYTES} bytes`,
);
