import { type Engine, execute, type Session } from '../engine/index.ts';
import { LOCK_SCRIPT } from '../stores/index.ts';

/** What locks leave behind when nobody holds or wants them; notes of forced releases end with the server. */
const BOOKKEEPING = /^(?:lock|semaphore|rw):\{.*\}:(?:fence|state|clock|forced|queue(?::.*)?)$/s;
/** A set of holders outlives their leases: who looks at the lock ends them. */
const SEVERAL = /^(?:semaphore|rw):\{.*\}$/s;

/** Whether the engine holds anything that somebody could miss. */
export function holdsAnything(engine: Engine): boolean {
  const session = engine.session();
  try {
    return engine.usedDatabases().some((database) => {
      session.database = database;
      return keysOf(session).some((key) => !BOOKKEEPING.test(key) && isThere(session, key));
    });
  } finally {
    session.close();
  }
}

function keysOf(session: Session): string[] {
  return execute(session, ['KEYS', '*']) as string[];
}

function isThere(session: Session, key: string): boolean {
  if (SEVERAL.test(key)) {
    execute(session, ['EVAL', LOCK_SCRIPT, '1', key, '', 'show 1 1', '', '0']);
  }
  return execute(session, ['EXISTS', key]) === 1;
}
