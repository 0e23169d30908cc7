import { PARKED, type Parked } from './blocking.ts';
import type { Command } from './command.ts';
import type { Session } from './session.ts';

/** CLIENT PAUSE: commands that arrive meanwhile wait and run when it ends, in order. */
export class Pause {
  holds(_session: Session, _command: Command): boolean {
    return false;
  }

  hold(_session: Session, _argv: readonly string[]): Parked {
    return PARKED;
  }
}
