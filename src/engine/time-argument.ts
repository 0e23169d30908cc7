import { ErrorReply } from '../resp/index.ts';
import { INT64_MAX, INT64_MIN, invalidExpire, NOT_AN_INTEGER } from './errors.ts';
import { ceilMilliseconds, parseLongDouble } from './long-double.ts';
import { parseInteger } from './number.ts';
import type { Session } from './session.ts';

/** The four forms of a deadline: milliseconds per unit, and whether it is relative or absolute. */
export const TIME_UNITS = {
  EX: { unitMs: 1000, absolute: false },
  PX: { unitMs: 1, absolute: false },
  EXAT: { unitMs: 1000, absolute: true },
  PXAT: { unitMs: 1, absolute: true },
} as const;

export type TimeUnit = keyof typeof TIME_UNITS;

/** Parses the deadline of SET, GETEX and similar commands, which accept positive times only. */
export function relativeDeadline(
  session: Session,
  unit: TimeUnit,
  text: string,
  commandName: string,
): number {
  const amount = parseInteger(text);
  if (amount === undefined) throw NOT_AN_INTEGER;
  if (amount <= 0) throw invalidExpire(commandName);
  return deadlineOf(session, unit, amount, commandName);
}

/** The monotonic deadline for an amount of a unit, counted from now. It may have passed. */
export function deadlineOf(
  session: Session,
  unit: TimeUnit,
  amount: number | bigint,
  commandName: string,
): number {
  const { unitMs, absolute } = TIME_UNITS[unit];
  const { engine } = session;
  const amountMs = Number(amount) * unitMs;
  if (Math.abs(amountMs) > Number.MAX_SAFE_INTEGER) {
    const exactMs = BigInt(amount) * BigInt(unitMs);
    const beginMs = absolute ? 0n : BigInt(Math.round(engine.wallMs()));
    if (exactMs < INT64_MIN || exactMs + beginMs > INT64_MAX) throw invalidExpire(commandName);
  }
  return absolute ? engine.deadlineFromWall(amountMs) : engine.nowMs + amountMs;
}

/**
 * Parses the timeout of a blocking command, seconds with fractions, to milliseconds; zero means Infinity. In Redis a
 * timeout that is too long wraps to a negative one, so that the error is the same here.
 */
export function timeoutArgument(text: string): number {
  const seconds = parseLongDouble(text);
  if (seconds === undefined) throw NOT_A_TIMEOUT;
  const timeoutMs = ceilMilliseconds(seconds);
  if (timeoutMs < 0 || timeoutMs >= MAX_MS) throw NEGATIVE_TIMEOUT;
  return timeoutMs === 0 ? Number.POSITIVE_INFINITY : timeoutMs;
}

const NOT_A_TIMEOUT = new ErrorReply('ERR timeout is not a float or out of range');
const NEGATIVE_TIMEOUT = new ErrorReply('ERR timeout is negative');
const MAX_MS = Number(INT64_MAX);
