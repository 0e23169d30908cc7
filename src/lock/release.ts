import type { LockCore } from './core.ts';
import { Due } from './due-list.ts';
import { isFinal } from './errors.ts';
import type { ReleaseOutcome } from './lease.ts';
import type { LockRequest } from './store.ts';

/** Between two tries. */
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1000;

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
      (error: unknown) => void retry(core, request, fence, endsInMs, error, pending),
    );
  });
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

async function retry(
  core: LockCore,
  request: LockRequest,
  fence: number | undefined,
  endsInMs: number,
  firstError: unknown,
  pending: PendingRelease,
): Promise<void> {
  const deadlineMs = core.clock.monotonicMs() + endsInMs;
  let error = firstError;
  for (let pauseMs = MIN_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    const isInTime = core.clock.monotonicMs() + pauseMs < deadlineMs;
    if (isFinal(error) || core.closed || !isInTime) break;
    await core.pause(pauseMs);
    try {
      pending.resolve(outcomeOf(await core.store.release(request, fence)));
      return;
    } catch (failure) {
      error = failure;
    }
  }
  pending.resolve('unknown');
}

function outcomeOf(wasHeld: boolean): ReleaseOutcome {
  return wasHeld ? 'released' : 'notHeld';
}
