import type { LockCore } from './core.ts';
import { isFinal } from './errors.ts';
import { isObserved } from './events.ts';
import type { ReleaseOutcome } from './lease.ts';
import type { Hold, Requester } from './store.ts';

/** Between two tries, and how long the caller waits for one that succeeds. */
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1000;
const AWAITED_MS = 500;

/**
 * Releases a hold, and tells what became of it, as its holder puts it. A store that cannot be reached is tried
 * again until the lease has ended by itself, so that a short outage does not cost the others a whole lease;
 * `unknown` is told before that. The end is counted from now: a renewal that is still under way may move it.
 */
export function letGo(
  core: LockCore,
  hold: Hold,
  fence: number | undefined,
  nowMs: number,
  endsInMs: number,
  holder: Leaver = NOBODY,
): ReleaseOutcome | Promise<ReleaseOutcome> {
  const { store } = core;
  // Who hears of events hears of them in the context of who releases.
  const isTold = store.releaseAndTell !== undefined && !isObserved('release');
  const wasOurs = isTold ? undefined : store.release(hold, fence);
  if (wasOurs !== undefined) holder.left();
  if (typeof wasOurs === 'boolean') return holder.told(outcomeOf(wasOurs));
  return new Promise((resolve) => {
    const parting = new Parting(core, hold, fence, nowMs, endsInMs, holder, resolve);
    if (wasOurs === undefined) store.releaseAndTell!(hold, fence, parting);
    else
      wasOurs.then(
        (ours) => parting.answered(ours),
        (error: unknown) => parting.failed(error),
      );
  });
}

/** Who releases. */
export interface Leaver {
  /** The request is on its way. */
  left(): void;
  /** What the outcome is to its caller. */
  told(outcome: ReleaseOutcome): ReleaseOutcome;
}

const NOBODY: Leaver = { left() {}, told: (outcome) => outcome };

/** A release that is under way. */
class Parting implements Requester<boolean> {
  readonly #core: LockCore;
  readonly #hold: Hold;
  readonly #fence: number | undefined;
  readonly #beganMs: number;
  readonly #endsInMs: number;
  readonly #holder: Leaver;
  readonly #resolve: (outcome: ReleaseOutcome) => void;

  constructor(
    core: LockCore,
    hold: Hold,
    fence: number | undefined,
    beganMs: number,
    endsInMs: number,
    holder: Leaver,
    resolve: (outcome: ReleaseOutcome) => void,
  ) {
    this.#core = core;
    this.#hold = hold;
    this.#fence = fence;
    this.#beganMs = beganMs;
    this.#endsInMs = endsInMs;
    this.#holder = holder;
    this.#resolve = resolve;
  }

  sent(): void {
    this.#holder.left();
  }

  answered(wasOurs: boolean): void {
    this.#tell(outcomeOf(wasOurs));
  }

  failed(error: unknown): void {
    if (isFinal(error)) this.#tell('unknown');
    else void this.#outcomeInTime().then((outcome) => this.#tell(outcome));
  }

  /** It goes on after having told that it does not know. */
  #outcomeInTime(): Promise<ReleaseOutcome> {
    return new Promise((tell) => void this.#persist(tell));
  }

  #tell(outcome: ReleaseOutcome): void {
    this.#resolve(this.#holder.told(outcome));
  }

  async #persist(tell: (outcome: ReleaseOutcome) => void): Promise<void> {
    const core = this.#core;
    const awaitedUntilMs = this.#beganMs + AWAITED_MS;
    const deadlineMs = this.#beganMs + this.#endsInMs;
    let pauseMs = FIRST_PAUSE_MS;
    while (!core.closed) {
      const nowMs = core.clock.monotonicMs();
      if (nowMs >= awaitedUntilMs) tell('unknown');
      if (nowMs + pauseMs >= deadlineMs) break;
      await core.pause(pauseMs);
      try {
        tell(outcomeOf(await core.store.release(this.#hold, this.#fence)));
        return;
      } catch (error) {
        if (isFinal(error)) break;
        pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      }
    }
    tell('unknown');
  }
}

function outcomeOf(wasOurs: boolean): ReleaseOutcome {
  return wasOurs ? 'released' : 'notHeld';
}
