import type { LockCore } from './core.ts';
import { Due } from './due-list.ts';
import { isFinal } from './errors.ts';
import type { ReleaseOutcome } from './lease.ts';
import { MIN_PAUSE_MS, retry } from './retry.ts';

/**
 * Ends a lease, or leaves the queue, by a request that is safe to repeat and that returns whether the lease was held. A
 * store that fails is tried again until the lease has ended by itself, `endsInMs` from now, so that a short outage does
 * not cost the other clients a whole lease. The caller gets `unknown` after a while, and the tries go on.
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
        pending.resolve(isOver ? 'unknown' : await releaseAgain(core, request, endsInMs));
      },
    );
  });
}

/** The first try may have released it: a later one that finds nothing does not know. */
async function releaseAgain(
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
export class PendingRelease extends Due<PendingRelease> {
  readonly #resolve: (outcome: ReleaseOutcome) => void;

  constructor(resolve: (outcome: ReleaseOutcome) => void) {
    super();
    this.#resolve = resolve;
  }

  resolve(outcome: ReleaseOutcome): void {
    this.drop();
    this.#resolve(outcome);
  }
}

function outcomeOf(wasHeld: boolean): ReleaseOutcome {
  return wasHeld ? 'released' : 'not-held';
}
