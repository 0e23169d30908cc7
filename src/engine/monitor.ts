import type { Command } from './command.ts';
import type { Session } from './session.ts';

/** Shows a command to every session that asked for MONITOR. */
export function showToMonitors(
  _session: Session,
  _command: Command,
  _argv: readonly string[],
): void {}
