import { closeSync, constants, openSync } from 'node:fs';

/**
 * Whether this process has a controlling terminal, independent of its streams: Ctrl-C reaches the process, and the
 * command can ask for a password there.
 */
export function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', constants.O_RDONLY | constants.O_NOCTTY));
    return true;
  } catch {
    return false;
  }
}

/**
 * For the exit of a process whose terminal was closed: Node restores the terminal modes of open streams at exit, and
 * aborts when that fails.
 */
export function closeStreams(): void {
  for (const stream of [0, 1, 2]) closeSync(stream);
}
