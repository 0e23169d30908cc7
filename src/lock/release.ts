import type { LockCore } from './core.ts';
import { Due } from './due-list.ts';
import { isFinal } from './errors.ts';
import type { ReleaseOutcome } from './lease.ts';
import { MIN_PAUSE_MS, retry } from './retry.ts';
import type { LockRequest } from './store.ts';

/**
 * Releases a lease, or leaves the queue. A store that fails is tried again until the lease has ended by itself,
 * `endsInMs` from now, so that a short outage does not cost the other clients a whole lease. The caller gets `unknown`
 * after a while, and the tries go on.
 */
export function release(
  core: LockCore,
  request: LockRequest,
  fence: number | undefined,
  endsInMs: number,
): ReleaseOutcome | Promise<ReleaseOutcome> {
  const result = core.store.release(request, fence);
  if (typeof result === 'boolean') return outcomeOf(result);
  return new Promise((resolve) => {
    const pending = new PendingRelease(resolve);
    core.releasing(pending);
    result.then(
      (wasHeld) => pending.resolve(outcomeOf(wasHeld)),
      async (error: unknown) => {
        const isOver = isFinal(error) || core.closed !== undefined;
        pending.resolve(isOver ? 'unknown' : await releaseAgain(core, request, fence, endsInMs));
      },
    );
  });
}

/** The first try may have released it: a later one that finds nothing does not know. */
async function releaseAgain(
  core: LockCore,
  request: LockRequest,
  fence: number | undefined,
  endsInMs: number,
): Promise<ReleaseOutcome> {
  await core.pause(MIN_PAUSE_MS);
  try {
    const wasHeld = await retry(core, endsInMs, () => core.store.release(request, fence));
    return wasHeld ? 'released' : 'unknown';
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
