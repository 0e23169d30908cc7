import { isWrongType } from '../../client/index.ts';

/** A server that knows this client, or does not, and will not serve it. */
function isRefusal(error: unknown): error is Error {
  const refusals = /^(NOAUTH|WRONGPASS|NOPERM)\b|\bACL failure in script\b/;
  return error instanceof Error && refusals.test(error.message);
}

/** Asking again is in vain where there is no lock, and none will be, or where others have to act first. */
export function told(error: unknown): unknown {
  if (isWrongType(error)) return finalError(error as Error, WRONG_TYPE);
  if (!isRefusal(error)) return error;
  return finalError(error, "Check the client's user, its password and its rights.");
}

const WRONG_TYPE =
  'Another program uses the key of this lock for another type of value: perhaps Redisson, whose locks are hashes. ' +
  'Use another name, or delete the key if no program needs it.';

function finalError(cause: Error, advice: string): Error {
  return Object.assign(new Error(`${cause.message} ${advice}`, { cause }), { isFinal: true });
}
