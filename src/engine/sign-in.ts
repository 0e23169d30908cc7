import { createHash, timingSafeEqual } from 'node:crypto';
import { ErrorReply } from '../resp/index.ts';
import type { Session } from './session.ts';

/** The one user that there is. */
export const DEFAULT_USER = 'default';

/** Signs the session in, or throws. A user without password takes any. */
export function signIn(session: Session, user: string, password: string): void {
  const { engine } = session;
  const matches = isSame(password, engine.settings.text('requirepass'));
  if (user !== DEFAULT_USER || (engine.needsPassword && !matches)) throw WRONG_PASSWORD;
  session.authenticated = true;
}

/** Digests have one length, so that the time of the comparison tells nothing of the password's. */
function isSame(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text, 'latin1').digest();
}

const WRONG_PASSWORD = new ErrorReply(
  'WRONGPASS invalid username-password pair or user is disabled.',
);
