import { START_MS } from '../store.ts';
import type { Option } from './option.ts';
import type { Stage } from './stage.ts';
import type { Found } from './watcher.ts';

/** Decides which option a step takes. `usual` is the default. */
export type Director = (stage: Stage, usual: Option, step: number) => Option;

export interface Run {
  readonly steps: number;
  readonly virtualMs: number;
  readonly found: Found | undefined;
}

const READY = Promise.resolve();
/** Step limit of a run. Runs in which all clients are served need fewer. */
const MAX_STEPS = 5000;

/**
 * Makes a run until all clients have closed or a check fails.
 *
 * The library is asynchronous. After each delivery to a client, all its promise callbacks must have run before
 * the next step. `process.nextTick` inside a promise callback achieves that: Node runs it when no
 * promise callback is left. It is much cheaper than a turn of the event loop.
 */
export function perform(stage: Stage, director: Director, later = whenSettled): Promise<Run> {
  return new Promise((resolve, reject) => {
    let step = 0;
    const turn = (): void => {
      try {
        if (play()) later(turn);
        else resolve({ steps: step, virtualMs: stage.nowMs - START_MS, found: stage.found });
      } catch (error) {
        reject(error);
      }
    };
    /** Takes steps until one reaches a client, whose callbacks must then run. Returns false when the run is over. */
    const play = (): boolean => {
      stage.watcher.check();
      while (stage.found === undefined && step < MAX_STEPS) {
        const usual = stage.usual();
        if (usual === undefined) return endAct(stage);
        const taken = stage.isClosing ? usual : director(stage, usual, step);
        step++;
        if (stage.take(taken, taken === usual)) return true;
      }
      if (step >= MAX_STEPS) stage.watcher.stuck();
      return false;
    };
    stage.start();
    later(turn);
  });
}

/** No usual step is left: closes the clients, or ends the run. */
function endAct(stage: Stage): boolean {
  if (stage.isBusy) stage.watcher.stuck();
  else if (stage.isClosing) stage.watcher.over();
  else {
    stage.close();
    return true;
  }
  return false;
}

/** Calls `turn` when no promise callback is left to run. */
function whenSettled(turn: () => void): void {
  READY.then(() => process.nextTick(turn));
}
