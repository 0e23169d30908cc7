import { closeSync, constants, openSync } from 'node:fs';

/**
 * Whether this process has a controlling terminal, whatever its streams are: Ctrl-C would reach it, and
 * a command could ask for a password there.
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
 * For the end of a process whose terminal was closed: Node wants to put back how that was, and aborts when
 * it cannot. It leaves alone what is not open.
 */
export function closeStreams(): void {
  for (const stream of [0, 1, 2]) closeSync(stream);
}
