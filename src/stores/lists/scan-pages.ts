import type { RunScript } from './lock-list.ts';

/** How many keys of a page are missing because the server refuses to tell of them, as to a user without rights. */
export interface Unreadable {
  readonly unreadableCount: number;
  /** The first error that the server gave for such a key; empty if there is none. */
  readonly failureBytes: string;
}

/** Steps of 500 keys: a table of 500 million. */
const MAX_STEPS = 1_000_000;

/**
 * The replies of a script that makes one step of a walk by SCAN, until the walk is over. Its first argument is the
 * cursor, and its reply begins with the next one. Throws if a server does not come to an end.
 */
export async function* scanPages(
  run: RunScript,
  script: string,
  words: readonly string[],
): AsyncGenerator<readonly unknown[]> {
  let cursor = '0';
  for (let step = 0; step < MAX_STEPS; step++) {
    const reply = (await run(script, [], [cursor, ...words])) as readonly unknown[];
    cursor = String(reply[0]);
    yield reply;
    if (cursor === '0') return;
  }
  throw new Error(`SCAN has not come to an end after ${MAX_STEPS} steps`);
}

export function parseUnreadable(count: unknown, failure: unknown): Unreadable {
  return { unreadableCount: numberIn(count), failureBytes: String(failure) };
}

/** A number that a script has sent as a string. */
export function numberIn(text: unknown): number {
  if (typeof text === 'string' && /^-?\d{1,15}$/.test(text)) return Number(text);
  throw new Error('a reply has no number where one was expected');
}
