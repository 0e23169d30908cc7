import { describe, expect, it } from 'vitest';
import { explore } from '../explore.ts';
import { replay } from '../replay.ts';
import { parseRecipe } from '../text/parse-recipe.ts';

/** A lock without expiry is held for ever only if no new client can acquire it. */
describe('held-for-ever with a lock without expiry', () => {
  it('holds if a losing client sets the expiry a second later', () => {
    const recipe = parseRecipe(
      `until SETNX lock 1 gives 1
    if TTL lock gives -1
        sleep 1 s
        if TTL lock gives -1
            EXPIRE lock 2
    sleep 1 s
EXPIRE lock 2
hold lock for 2 s
    work
DEL lock`,
      'repairs-later',
    );
    const { verdicts, isComplete } = explore(recipe, { pauses: 0, checks: ['held-for-ever'] });
    expect([isComplete, verdicts[0]!.holds]).toEqual([true, true]);
  });

  it('holds if the lock is a counter that each client increments', () => {
    const recipe = parseRecipe(
      `SETNX serving 1
ticket = INCR next
until GET serving gives ticket
    sleep 1 s
hold serving
    work
INCR serving`,
      'tickets',
    );
    const world = { clients: 2, crashes: 0, pauses: 0, checks: ['held-for-ever'] as const };
    const { verdicts, isComplete } = explore(recipe, world);
    expect([isComplete, verdicts[0]!.holds]).toEqual([true, true]);
  });

  it('holds while a client that wrote the same value is inside', () => {
    const recipe = parseRecipe(
      `until EXISTS lock gives 0
    sleep 1 s
SET lock 1
hold lock
    work
DEL lock`,
      'looks-first',
    );
    expect(replay(recipe, 'ababxa').violations.map(({ check }) => check)).not.toContain(
      'held-for-ever',
    );
    expect(replay(recipe, 'aaxa').violations.map(({ check }) => check)).toContain('held-for-ever');
  });
});
