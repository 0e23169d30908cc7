import { START_MS } from '../store.ts';
import type { Option } from './option.ts';
import type { Stage } from './stage.ts';
import type { Found } from './watcher.ts';

/** Decides what happens in a step, given what would happen by itself. */
export type Director = (stage: Stage, usual: Option, step: number) => Option;

export interface Run {
  readonly steps: number;
  readonly virtualMs: number;
  readonly found: Found | undefined;
}

const READY = Promise.resolve();
/** No run that serves everybody takes so many. */
const MOST_STEPS = 5000;

/**
 * Plays a run to its end, to where all clients have closed or to the first thing that must not happen.
 *
 * The library runs in promises. After each thing that reaches a client they must all have run before the
 * next: Node calls what `nextTick` was given by a promise's callback when no such callback is left, which
 * costs a fraction of a turn of the event loop and is as exact.
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
    /** Up to where a client has something to do; false when the run is over. */
    const play = (): boolean => {
      stage.watcher.look();
      while (stage.found === undefined && step < MOST_STEPS) {
        const usual = stage.usual();
        if (usual === undefined) return endAct(stage);
        const taken = stage.isClosing ? usual : director(stage, usual, step);
        step++;
        if (stage.take(taken, taken === usual)) return true;
      }
      if (step >= MOST_STEPS) stage.watcher.stuck();
      return false;
    };
    stage.start();
    later(turn);
  });
}

/** Nothing can happen by itself any more: the clients close, or all is over. */
function endAct(stage: Stage): boolean {
  if (stage.isBusy) stage.watcher.stuck();
  else if (stage.isClosing) stage.watcher.over();
  else {
    stage.close();
    return true;
  }
  return false;
}

/** When no callback of a promise is left to run. */
function whenSettled(turn: () => void): void {
  READY.then(() => process.nextTick(turn));
}
