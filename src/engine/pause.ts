import type { Timer } from '../clock/index.ts';
import { PARKED, type Parked, Waiter } from './blocking.ts';
import { type Command, FLAGS, type Outcome, type Run } from './command.ts';
import type { Engine } from './engine.ts';
import { argumentBytes } from './footprint.ts';
import type { Session } from './session.ts';

/** What waits: everything, or only what may change keys or send messages. */
export type PauseMode = 'write' | 'all';

interface Held {
  readonly waiter: Waiter;
  readonly argv: readonly string[];
  readonly run: Run;
}

const CHANGES = FLAGS.write | FLAGS.may_replicate;

/**
 * CLIENT PAUSE: commands that arrive meanwhile wait and run when it ends, in order. In mode `all`
 * that includes CLIENT UNPAUSE, as in Redis. Keys end during a pause when their time comes: a lease
 * is not prolonged by it.
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

  /** Asked before every command: one test of a boolean while there is no pause. */
  holds(session: Session, command: Command): boolean {
    return this.#active && this.#concerns(session, command);
  }

  /** Keeps a command back; `run` takes it through the same door later. */
  hold(session: Session, argv: readonly string[], run: Run): Parked {
    const waiter = new Waiter(session, null, () => this.#held.delete(session));
    session.memory.add('blocked', argumentBytes(argv));
    this.#held.set(session, { waiter, argv, run });
    return PARKED;
  }

  /** Whether the session waits for the end of the pause, and for nothing else. */
  isHolding(session: Session): boolean {
    return this.#held.has(session);
  }

  /** A second pause can only make the first longer and stricter. */
  begin(durationMs: number, mode: PauseMode): void {
    const endMs = this.#engine.nowMs + durationMs;
    this.#mode = this.#active && this.#mode === 'all' ? 'all' : mode;
    this.#endMs = this.#active ? Math.max(this.#endMs, endMs) : endMs;
    this.#active = true;
    this.#endAfter(this.#endMs - this.#engine.nowMs);
  }

  /** Ends the pause. What was held runs after the command that ended it. */
  end(): void {
    if (!this.#active) return;
    this.#active = false;
    this.#endAfter(0);
  }

  /** Forgets the pause and runs nothing: the engine closes. */
  close(): void {
    this.#active = false;
    this.#timer?.cancel();
  }

  #endAfter(delayMs: number): void {
    this.#timer?.cancel();
    this.#timer = this.#engine.clock.setTimer(delayMs, () => this.#release());
  }

  /** One of the held commands may begin the next pause, which then holds those behind it. */
  #release(): void {
    this.#active = false;
    for (const [session, { waiter, argv, run }] of [...this.#held]) {
      if (session.closed) continue;
      waiter.leave();
      resume(session, this.#attempt(session, argv, run));
    }
  }

  /** No caller is left to whom an exception could go; the others that were held go on. */
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
  if (outcome !== PARKED) session.listener.resume(outcome);
}
