import type { Command } from './command.ts';
import type { Session } from './session.ts';

/** The commands that took long, newest first. */
export class SlowLog {
  /** Commands that took at least so long are kept; Infinity keeps none. */
  thresholdMs = 10;

  add(_session: Session, _command: Command, _argv: readonly string[], _durationMs: number): void {}
}
