import type { Doing, Tools } from '../recipe.ts';

/** How the documents acquire a lock whose value is the Unix time at which it ends. */
export interface TimestampRule {
  /** The duration of the lease in seconds. */
  readonly timeout: number;
  /** Seconds that are added to the timeout. */
  readonly extra: number;
  /** `<`: the lock has ended if its time is before now; `<=`: if its time is now or before. */
  readonly ended: '<' | '<=';
  /** What GETSET must return for the lock to be acquired: the same value as GET, or any time that has ended. */
  readonly taken: 'equal' | 'still-ended';
}

/** The rule of most of the documents. */
export const TIMESTAMP_RULE: TimestampRule = {
  timeout: 1,
  extra: 1,
  ended: '<',
  taken: 'equal',
};

/** SETNX / GET / GETSET. Returns the Unix time at which the lock ends, if it was acquired. */
export function* takeByTimestamp(
  { command, unixTime }: Tools,
  rule = TIMESTAMP_RULE,
): Doing<number | undefined> {
  const { timeout, extra } = rule;
  const expiry = (yield* unixTime()) + timeout + extra;
  if ((yield* command`SETNX lock.foo ${expiry}`) === 1) return expiry;

  const found = yield* command`GET lock.foo`;
  const now = yield* unixTime();
  if (found === null || !hasEnded(found, now, rule)) return undefined;

  const newExpiry = now + timeout + extra;
  const previous = yield* command`GETSET lock.foo ${newExpiry}`;
  const isTaken = rule.taken === 'equal' ? previous === found : hasEnded(previous, now, rule);
  return isTaken ? newExpiry : undefined;
}

/** False for a deleted key: GETSET then returns nil, which is not a time. */
function hasEnded(value: unknown, now: number, { ended }: TimestampRule): boolean {
  if (value === null) return false;
  return ended === '<' ? Number(value) < now : Number(value) <= now;
}
