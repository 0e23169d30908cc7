import type { LockCore } from './core.ts';
import { isFinal } from './errors.ts';
import type { ReleaseOutcome } from './lease.ts';
import { MIN_PAUSE_MS, retry } from './retry.ts';
import { Scheduled } from './timer-queue.ts';

/**
 * Sends a release: an idempotent request that returns whether the lease was held. If the store fails, retries until the
 * lease has expired, `endsInMs` from now, so that the waiters of a lock need not wait for a whole lease after a short
 * outage. Returns `unknown` to the caller after RELEASE_MS, and keeps retrying in the background.
 */
export function release(
  core: LockCore,
  request: () => boolean | Promise<boolean>,
  endsInMs: number,
): ReleaseOutcome | Promise<ReleaseOutcome> {
  const result = request();
  if (typeof result === 'boolean') return outcomeOf(result);
  return new Promise((resolve) => {
    const pending = new PendingRelease(resolve);
    core.releasing(pending);
    result.then(
      (wasHeld) => pending.resolve(outcomeOf(wasHeld)),
      async (error: unknown) => {
        const isOver = isFinal(error) || core.closed !== undefined;
        pending.resolve(isOver ? 'unknown' : await retryRelease(core, request, endsInMs));
      },
    );
  });
}

/** Returns `unknown` if the lease is not held: the first request may have released it. */
async function retryRelease(
  core: LockCore,
  request: () => boolean | Promise<boolean>,
  endsInMs: number,
): Promise<ReleaseOutcome> {
  await core.pause(MIN_PAUSE_MS);
  try {
    return (await retry(core, endsInMs, request)) ? 'released' : 'unknown';
  } catch {
    return 'unknown';
  }
}

/** A release whose caller waits for the outcome. */
export class PendingRelease extends Scheduled<PendingRelease> {
  readonly #resolve: (outcome: ReleaseOutcome) => void;

  constructor(resolve: (outcome: ReleaseOutcome) => void) {
    super();
    this.#resolve = resolve;
  }

  resolve(outcome: ReleaseOutcome): void {
    this.unschedule();
    this.#resolve(outcome);
  }
}

function outcomeOf(wasHeld: boolean): ReleaseOutcome {
  return wasHeld ? 'released' : 'not-held';
}
