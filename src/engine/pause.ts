import type { Timer } from '../clock/index.ts';
import { BLOCKED, type Blocked, BlockedCommand } from './blocking.ts';
import { type Command, FLAGS, type Outcome, type Run } from './command.ts';
import type { Engine } from './engine.ts';
import { argumentBytes } from './footprint.ts';
import type { Session } from './session.ts';

/** `all` delays every command; `write` only commands that may change keys or publish messages. */
export type PauseMode = 'write' | 'all';

interface Held {
  readonly blocked: BlockedCommand;
  readonly argv: readonly string[];
  readonly run: Run;
}

const CHANGES = FLAGS.write | FLAGS.may_replicate;

/**
 * CLIENT PAUSE: commands that arrive during a pause run when it ends, in order. In mode `all` that includes
 * CLIENT UNPAUSE, as in Redis. Keys expire during a pause as usual: a pause does not extend a lease.
 */
export class Pause {
  readonly #engine: Engine;
  readonly #held = new Map<Session, Held>();
  #active = false;
  #mode: PauseMode = 'write';
  #endMs = 0;
  #timer: Timer | undefined;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Whether the pause delays this command. Called before every command. */
  holds(session: Session, command: Command): boolean {
    return this.#active && this.#concerns(session, command);
  }

  /** Delays a command until the pause ends. `run` then executes it with all checks. */
  hold(session: Session, argv: readonly string[], run: Run): Blocked {
    const blocked = new BlockedCommand(session, null, () => this.#held.delete(session));
    session.memory.add('blocked', argumentBytes(argv));
    this.#held.set(session, { blocked, argv, run });
    return BLOCKED;
  }

  /** Whether the session's command is delayed by the pause. */
  isHolding(session: Session): boolean {
    return this.#held.has(session);
  }

  /** Begins or extends a pause. A second pause cannot shorten the first, nor change mode `all` to `write`. */
  begin(durationMs: number, mode: PauseMode): void {
    const endMs = this.#engine.nowMs + durationMs;
    this.#mode = this.#active && this.#mode === 'all' ? 'all' : mode;
    this.#endMs = this.#active ? Math.max(this.#endMs, endMs) : endMs;
    this.#active = true;
    this.#endAfter(this.#endMs - this.#engine.nowMs);
  }

  /** Ends the pause. Delayed commands run after the command that ended it. */
  end(): void {
    if (!this.#active) return;
    this.#active = false;
    this.#endAfter(0);
  }

  /** Ends the pause and runs no delayed command: the engine closes. */
  close(): void {
    this.#active = false;
    this.#timer?.cancel();
  }

  #endAfter(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#engine.clock.setTimer(delayMs, () => this.#release());
  }

  /** Runs the delayed commands. One of them may begin a pause, which then delays the ones after it. */
  #release(): void {
    this.#active = false;
    for (const [session, { blocked, argv, run }] of [...this.#held]) {
      if (session.closed) continue;
      blocked.cancel();
      resume(session, this.#attempt(session, argv, run));
    }
  }

  /** Logs an exception, because the timer has no caller, and the other delayed commands must run. */
  #attempt(session: Session, argv: readonly string[], run: Run): Outcome {
    try {
      return run(session, argv);
    } catch (error) {
      return this.#engine.internalError(error);
    }
  }

  #concerns(session: Session, command: Command): boolean {
    if (this.#mode === 'all' || (command.bits & CHANGES) !== 0) return true;
    if (command.name !== 'exec' || session.queue === null) return false;
    return session.queue.some((queued) => (queued.command.bits & CHANGES) !== 0);
  }
}

function resume(session: Session, outcome: Outcome): void {
  if (outcome !== BLOCKED) session.listener.resume(outcome);
}
