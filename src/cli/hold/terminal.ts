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
