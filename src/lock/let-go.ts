import type { LockCore } from './core.ts';
import { isFinal } from './errors.ts';
import type { ReleaseOutcome } from './lease.ts';
import type { Hold } from './store.ts';

/** Between two tries, and how long the caller waits for one that succeeds. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
const AWAITED_MS = 500;

/**
 * Releases a hold, and tells what became of it. A store that cannot be reached is tried again until the
 * lease has ended by itself, so that a short outage does not cost the others a whole lease; `unknown` is
 * told before that. The end is counted from now: a renewal that is still under way may move it.
 */
export function letGo(
  core: LockCore,
  hold: Hold,
  fence: number | undefined,
  endsInMs: number,
  tell: (outcome: ReleaseOutcome) => void,
): void {
  const wasOurs = core.store.release(hold, fence);
  if (typeof wasOurs === 'boolean') tell(outcomeOf(wasOurs));
  else {
    const nowMs = core.clock.monotonicMs();
    wasOurs.then(
      (ours) => tell(outcomeOf(ours)),
      (error: unknown) =>
        isFinal(error)
          ? tell('unknown')
          : persist(core, hold, fence, nowMs + endsInMs, nowMs + AWAITED_MS, tell),
    );
  }
}

/** Tells what became of it, once, and goes on after having told that it does not know. */
async function persist(
  core: LockCore,
  hold: Hold,
  fence: number | undefined,
  deadlineMs: number,
  awaitedUntilMs: number,
  tell: (outcome: ReleaseOutcome) => void,
): Promise<void> {
  let pauseMs = FIRST_PAUSE_MS;
  while (!core.closed) {
    const nowMs = core.clock.monotonicMs();
    if (nowMs >= awaitedUntilMs) tell('unknown');
    if (nowMs + pauseMs >= deadlineMs) break;
    await core.pause(pauseMs);
    try {
      tell(outcomeOf(await core.store.release(hold, fence)));
      return;
    } catch (error) {
      if (isFinal(error)) break;
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }
  tell('unknown');
}

function outcomeOf(wasOurs: boolean): ReleaseOutcome {
  return wasOurs ? 'released' : 'notHeld';
}
