import { LockArgumentError } from './errors.ts';

const UNITS_MS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

type Unit = keyof typeof UNITS_MS;

/** Milliseconds, or a number with its unit: `'250ms'`, `'30s'`, `'1.5h'`. */
export type Duration = number | `${number}${Unit}` | `${number} ${Unit}`;

/** Largest duration that stores accept: a hundred years, below 2^53 and Redis's limit. */
const MAX_MS = 100 * 365 * UNITS_MS.d;

export interface DurationBounds {
  readonly leastMs: number;
  /** Whether Infinity is accepted. Default false. */
  readonly endless?: boolean;
}

/**
 * Converts a duration to milliseconds.
 *
 * @throws LockArgumentError that names the option, if it is no duration or out of bounds.
 */
export function durationMs(
  value: Duration,
  option: string,
  lock: string,
  { leastMs, endless = false }: DurationBounds,
): number {
  const parsedMs = typeof value === 'number' ? value : parseDuration(value);
  if (endless && parsedMs === Number.POSITIVE_INFINITY) return parsedMs;
  if (parsedMs >= leastMs && parsedMs <= MAX_MS) return parsedMs;
  const range = `from ${leastMs} ms to 36500 days${endless ? ', or Infinity' : ''}`;
  throw new LockArgumentError(
    lock,
    `${option} must be a duration ${range}, such as 500 or '30s'; got ${String(value)}`,
  );
}

/** NaN if the text is no duration. */
function parseDuration(text: unknown): number {
  const match = /^(\d+(?:\.\d+)?) ?(ms|s|m|h|d)$/.exec(String(text));
  return match ? Number(match[1]) * UNITS_MS[match[2] as Unit] : Number.NaN;
}
