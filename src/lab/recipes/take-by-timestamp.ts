import type { Doing, Tools } from '../recipe.ts';

/** Seconds, as in the seeds: `<current Unix time + lock timeout + 1>`. */
const TIMEOUT = 1;

/** SETNX / GET / GETSET: the lease's end if the lock was taken. */
export function* takeByTimestamp({ command, unixTime }: Tools): Doing<number | undefined> {
  const expiry = (yield* unixTime()) + TIMEOUT + 1;
  if ((yield* command`SETNX lock.foo ${expiry}`) === 1) return expiry;

  const found = yield* command`GET lock.foo`;
  const now = yield* unixTime();
  if (found === null || Number(found) >= now) return undefined;

  const newExpiry = now + TIMEOUT + 1;
  const previous = yield* command`GETSET lock.foo ${newExpiry}`;
  return previous === found ? newExpiry : undefined;
}
