import type { Doing, Tools } from '../recipe.ts';

/** How the documents take a lock whose value is the Unix time at which it ends. */
export interface TimestampRule {
  /** Seconds that the lock is taken for. */
  readonly timeout: number;
  /** Seconds that are added to it. */
  readonly extra: number;
  /** `<`: the lock has ended when its time is before now; `<=`: at now, too. */
  readonly ended: '<' | '<=';
  /** What GETSET must give for the lock to be taken: the very value that GET gave, or any that has ended. */
  readonly taken: 'equal' | 'still-ended';
}

/** The rule of most of the documents. */
export const TIMESTAMP_RULE: TimestampRule = {
  timeout: 1,
  extra: 1,
  ended: '<',
  taken: 'equal',
};

/** SETNX / GET / GETSET: the Unix time at which the lock ends, if it was taken. */
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

/** A key that is gone has not ended: GETSET then gives nil, which is no time. */
function hasEnded(value: unknown, now: number, { ended }: TimestampRule): boolean {
  if (value === null) return false;
  return ended === '<' ? Number(value) < now : Number(value) <= now;
}
