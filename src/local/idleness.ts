import { type Engine, execute, type Session } from '../engine/index.ts';
import { HELPER_KEY, LOCK_SCRIPT, SHARED_KEY } from '../stores/index.ts';

/** Whether the engine has a key beside the helper keys of free locks. A server without one may end. */
export function holdsAnything(engine: Engine): boolean {
  const session = engine.session();
  try {
    return engine.usedDatabases().some((database) => {
      session.database = database;
      return keysOf(session).some((key) => !HELPER_KEY.test(key) && exists(session, key));
    });
  } finally {
    session.close();
  }
}

function keysOf(session: Session): string[] {
  return execute(session, ['KEYS', '*']) as string[];
}

function exists(session: Session, key: string): boolean {
  if (SHARED_KEY.test(key)) {
    execute(session, ['EVAL', LOCK_SCRIPT, '1', key, 'inspect 1 1', '', '0']);
  }
  return execute(session, ['EXISTS', key]) === 1;
}
