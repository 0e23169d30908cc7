import { ErrorReply } from '../resp/index.ts';
import { findCommand } from './commands/index.ts';
import type { Engine } from './engine.ts';
import { wrongArity } from './errors.ts';
import { call } from './execute.ts';
import type { Session } from './session.ts';

/** How the wall times in a log become deadlines. */
export type LoadTime =
  /** By the wall clock of now. */
  | { readonly kind: 'wall' }
  /** A wall time minus this is a deadline of the engine. A key whose deadline has passed expires after loading. */
  | { readonly kind: 'offset'; readonly offsetMs: number };

/** Applies the commands of a log to an engine, before clients are served. Memory limits do not apply. */
export class Loader {
  readonly #engine: Engine;
  readonly #session: Session;
  readonly #limitBytes: number;

  constructor(engine: Engine) {
    this.#engine = engine;
    this.#session = engine.session();
    this.#session.authenticated = true;
    this.#session.mayBlock = false;
    this.#limitBytes = engine.memory.limitBytes;
    engine.memory.limitBytes = Number.POSITIVE_INFINITY;
  }

  /** The memory that the data needs and the limit does not allow; 0 if it fits. */
  get excessBytes(): number {
    return Math.max(0, this.#engine.memory.used.bytes - this.#limitBytes);
  }

  setTime(time: LoadTime): void {
    this.#engine.loadOffsetMs = time.kind === 'wall' ? undefined : time.offsetMs;
    if (time.kind === 'wall') this.#engine.freeze();
    else this.#engine.nowMs = LONG_AGO_MS;
  }

  /**
   * Applies a command. Returns the error if it failed. Only commands that change data, and SELECT: a file must not shut
   * the server down or change its settings.
   */
  apply(argv: readonly string[]): ErrorReply | undefined {
    const command = findCommand(argv);
    if (command instanceof ErrorReply) return command;
    if (!command.takes(argv.length)) return wrongArity(command.name);
    if (!command.has('write') && command.name !== 'select') return NO_CHANGE;
    const outcome = call(this.#session, command, argv);
    return outcome instanceof ErrorReply ? outcome : undefined;
  }

  /** Ends loading. The engine's time goes on, and keys whose deadlines have passed expire. */
  end(): void {
    const engine = this.#engine;
    this.#session.close();
    engine.loadOffsetMs = undefined;
    engine.memory.limitBytes = this.#limitBytes;
    engine.freeze();
    engine.endUnit();
    engine.statistics.reset();
  }
}

const NO_CHANGE = new ErrorReply('ERR this command does not change data');
/** Before every deadline, so that no key expires while it is loaded. */
const LONG_AGO_MS = -(2 ** 50);
