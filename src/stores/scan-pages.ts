import type { RunScript } from './lock-list.ts';

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
