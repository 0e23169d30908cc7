import type { LockCore } from './core.ts';
import { Due } from './due-list.ts';
import type { ReleaseOutcome } from './lease.ts';
import { retry } from './retry.ts';
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
    let tries = 0;
    let next: boolean | Promise<boolean> | undefined = result;
    retry(core, endsInMs, () => {
      tries++;
      const tried = next ?? core.store.release(request, fence);
      next = undefined;
      return tried;
    }).then(
      (wasHeld) => pending.resolve(wasHeld || tries === 1 ? outcomeOf(wasHeld) : 'unknown'),
      () => pending.resolve('unknown'),
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

function outcomeOf(wasHeld: boolean): ReleaseOutcome {
  return wasHeld ? 'released' : 'notHeld';
}
