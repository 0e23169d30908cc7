import type { RunScript } from './lock-list.ts';

/** The keys of a page that the server refuses to read, as for a user without rights. */
export interface Unreadable {
  readonly unreadableCount: number;
  /** The first error for such a key. Empty if there is none. */
  readonly failureBytes: string;
}

export const NONE_UNREADABLE: Unreadable = { unreadableCount: 0, failureBytes: '' };

/** Adds the counts of two parts of a list. */
export function addUnreadable(one: Unreadable, other: Unreadable): Unreadable {
  return {
    unreadableCount: one.unreadableCount + other.unreadableCount,
    failureBytes: one.failureBytes || other.failureBytes,
  };
}

/** Enough for 500 million keys, in steps of 500. */
const MAX_STEPS = 1_000_000;

/**
 * Calls a script that makes one step of a SCAN until the scan is complete, and yields its replies. The first argument of
 * the script is the cursor, and its reply begins with the next cursor.
 *
 * @throws Error if the scan has not ended after MAX_STEPS.
 */
export async function* scanPages(
  run: RunScript,
  script: string,
  args: readonly string[],
): AsyncGenerator<readonly unknown[]> {
  let cursor = '0';
  for (let step = 0; step < MAX_STEPS; step++) {
    const reply = (await run(script, [], [cursor, ...args])) as readonly unknown[];
    cursor = String(reply[0]);
    yield reply;
    if (cursor === '0') return;
  }
  throw new Error(`SCAN has not come to an end after ${MAX_STEPS} steps`);
}

export function parseUnreadable(count: unknown, failure: unknown): Unreadable {
  return { unreadableCount: numberIn(count), failureBytes: String(failure) };
}

/** Parses a number that a script returned as a string. */
export function numberIn(text: unknown): number {
  if (typeof text === 'string' && /^-?\d{1,15}$/.test(text)) return Number(text);
  throw new Error('a reply has no number where one was expected');
}
