import type { LockCore } from './core.ts';
import { isFinal } from './errors.ts';
import type { ReleaseOutcome } from './lease.ts';
import type { Hold } from './store.ts';

/** Between two tries, and how long the caller waits for one that succeeds. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
const AWAITED_MS = 500;

/**
 * Releases a hold, and tells what became of it, as `onTold` puts it. A store that cannot be reached is tried
 * again until the lease has ended by itself, so that a short outage does not cost the others a whole lease;
 * `unknown` is told before that. The end is counted from now: a renewal that is still under way may move it.
 */
export function letGo(
  core: LockCore,
  hold: Hold,
  fence: number | undefined,
  endsInMs: number,
  onTold: (outcome: ReleaseOutcome) => ReleaseOutcome = asItIs,
): ReleaseOutcome | Promise<ReleaseOutcome> {
  const wasOurs = core.store.release(hold, fence);
  if (typeof wasOurs === 'boolean') return onTold(outcomeOf(wasOurs));
  const nowMs = core.clock.monotonicMs();
  return wasOurs.then(
    (ours) => onTold(outcomeOf(ours)),
    (error: unknown) => {
      if (isFinal(error)) return onTold('unknown');
      const untilMs = nowMs + endsInMs;
      return new Promise<ReleaseOutcome>((tell) => {
        void persist(core, hold, fence, untilMs, nowMs + AWAITED_MS, tell);
      }).then(onTold);
    },
  );
}

function asItIs(outcome: ReleaseOutcome): ReleaseOutcome {
  return outcome;
}

/** Tells what became of it, and goes on after having told that it does not know. */
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
